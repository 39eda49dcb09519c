"""Lint of words in the documentation, in comments and in the tool's help: README.md, CHANGELOG.md, docs, README files of
folders, sources.

README.md and CHANGELOG.md stay short, README files of folders have at most a page, and links and anchors exist.
Sentences are short, use the field's terms and no private wording. Options on pages exist in the tool.

usage: wording.py SOURCE_ROOT [TOOL]
       wording.py --comments SOURCE_ROOT FOLDER...   only the comments below these folders
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import subprocess
import sys

import comments
import pages
import public

README_LINES, README_WORDS, README_PARAGRAPH = 150, 1500, 80
CHANGELOG_LINES = 60
PAGE_LINES, PAGE_WORDS = 80, 1000  # for a README file of a folder
PACKAGE_LINES = 100  # for one that is published with a package of a binding
SENTENCE_WORDS = 35
COMMENT_WORDS = 25

TERMS = """GGUF, quantization, dequantize, block format, importance matrix, perplexity, KL divergence, KV cache,
prefix cache, prefill, decode, token, tokenizer, chat template, tool call, structured output, JSON Schema, grammar,
sampler chain, temperature, top-k, top-p, min-p, logits, log-probabilities, speculative decoding, draft model,
prompt lookup, continuous batching, slot, mixture of experts, RoPE, sliding-window attention, attention sinks,
LoRA adapter, embeddings, reranker, tensor parallelism, pipeline parallelism, memory-mapped"""

# Banned openers of sentences: a noun is clearer.
OPENERS = ("What", "Of", "Who", "Whose", "Whoever", "Where", "Nobody", "Somebody")
# Private wording -> the field's words.
WORDS = {
    r"behind": "after", r"in front of": "before", r"but for": "except, without", r"is told": "gets",
    r"are told": "get", r"guess(?:es|ed|ing)?": "draft tokens, speculative", r"beginnings?": "prefix, prompt",
    r"side by side": "in parallel, sequences", r"anew": "again, recompute", r"endings?": "continuation, end",
    r"in work": "running", r"texts in": "requests", r"crumbs?": "2-bit codes", r"plug-ins?": "plugin",
    r"deal(?:s|t|ing)?": "partition, assign", r"nobody": "no one that has a name", r"somebody": "a client, a user",
    r"whoever": "a program that", r"strangers?": "other programs, untrusted", r"compressed keys": "compressed KV",
    r"streams side by side": "hyper-connections", r"sums of squares of what": "importance matrix",
    r"adapters that change": "LoRA adapter", r"gives? its place": "is preempted", r"the way that made": "mode",
    r"what is lost": "KL divergence, perplexity", r"words added up": "checksum", r"patience": "timeout",
    r"of paper": "estimated", r"hears? of": "notices",
}
# Exceptions: file, words around it, reason.
ALLOWED = [
    ("docs/reproducibility/attention.md", "Sums and sums of squares per channel", "a sum of squares in binary64"),
    ("docs/contributing/renames.md", "", "old names"),
    ("docs/embedding.md", "CODE CODE CODE CODE CODE CODE", "a list of system calls"),
]
# Options of other programs on the pages.
OTHERS_OPTIONS = {"--enable-recovery", "--prefix", "--mca", "--json", "--no-install-recommends", "--strip", "--cflags",
                  "--libs", "--static", "--suite", "--list", "--print-errorlogs", "--buildtype", "--keep", "--sum",
                  "--write", "--leak", "--check", "--coverage", "--bits", "--bench", "--merge", "--split", "--override-kv",
                  "--chat-template", "--renew"}


def strip_code(text):
    """Returns prose: without fenced blocks, indented code, comments; code words become CODE, links their text."""
    text = re.sub(r"^(```|~~~).*?^\1[^\n]*$", "", text, flags=re.M | re.S)
    text = re.sub(r"(?:(?<=\n\n)|\A)(?:    .*\n?)+", "", text)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"``.+?``|`[^`]+`", "CODE", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"^\([\w-]+\)=$", "", text, flags=re.M)


def paragraphs(text):
    """Yields blocks of prose: paragraphs, list items, headings; each row of a table separately."""
    block = []
    for line in [*strip_code(text).splitlines(), ""]:
        starts = re.match(r"\s*(?:[-*]|\d+\.|#+|>|: )\s", line) or line.lstrip().startswith("|")
        if (starts or not line.strip()) and block:
            yield " ".join(block)
            block = []
        if line.strip():
            block.append(re.sub(r"^\s*(?:[-*]|\d+\.|#+|:)\s+", "", line).strip())


def sentences(paragraph):
    return re.split(r"(?<=[.!?])[)\"*]*\s+(?=[A-Z0-9*\"(])", paragraph)


def words(text):
    return re.findall(r"[A-Za-z][A-Za-z'’-]+", text)


def check_sizes(root):
    readme, changelog = (root / name for name in ("README.md", "CHANGELOG.md"))
    text = readme.read_text(encoding="utf-8")
    faults = []
    if text.count("\n") > README_LINES:
        faults.append(f"README.md: {text.count(chr(10))} lines, at most {README_LINES}")
    if len(text.split()) > README_WORDS:
        faults.append(f"README.md: {len(text.split())} words, at most {README_WORDS}")
    faults += [f"README.md: a paragraph of {len(p.split())} words, at most {README_PARAGRAPH}: {p[:60]}"
               for p in paragraphs(text) if len(p.split()) > README_PARAGRAPH]
    if changelog.read_text(encoding="utf-8").count("\n") > CHANGELOG_LINES:
        faults.append(f"CHANGELOG.md: over {CHANGELOG_LINES} lines")
    for path in folder_readmes(root):
        text = path.read_text(encoding="utf-8")
        most = PACKAGE_LINES if path.parent.parent == root / "bindings" else PAGE_LINES
        if text.count("\n") > most or len(text.split()) > PAGE_WORDS:
            faults.append(f"{path.relative_to(root)}: {text.count(chr(10))} lines and {len(text.split())} words, at most "
                          f"{most} and {PAGE_WORDS}: move facts to docs")
    return faults


def folder_readmes(root):
    """Returns README files of folders in the tree, except those with a table that another test reads."""
    tables = {"src/README.md", "src/graph/arch/README.md"}
    folders = ("bindings", "include", "pkgconfig", "src", "tests", "examples")
    found = [path for folder in folders for path in sorted((root / folder).rglob("README.md"))]
    return [path for path in found if "node_modules" not in path.parts and path.relative_to(root).as_posix() not in tables]


def written_pages(root):
    """Returns pages written for users."""
    return [root / "README.md", root / "CHANGELOG.md", *sorted((root / "docs").rglob("*.md"))]


def plain_pages(root):
    """Returns pages whose sentences are checked: the pages for users, and README files of folders."""
    more = ("CONTRIBUTING.md", "SECURITY.md", "STYLE.md", "src/README.md", "src/graph/arch/README.md")
    return [*written_pages(root), *folder_readmes(root), *(root / name for name in more)]


def anchors(text):
    """Returns anchors of headings, as GitHub and MyST generate them, and explicit ones."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r"^\(([\w-]+)\)=$", text, re.M))


def check_links(root):
    faults, n_links = [], 0
    for path in plain_pages(root):
        text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"\w+:", link):
                continue
            n_links += 1
            name, _, anchor = link.partition("#")
            target = path if not name else path.parent / name
            if not target.exists():
                faults.append(f"{path.relative_to(root)}: no file {link}")
            elif anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
                faults.append(f"{path.relative_to(root)}: no heading {link}")
            if root / "docs" in path.parents and root / "docs" not in target.resolve().parents:
                faults.append(f"{path.relative_to(root)}: {link} leaves the documentation, which is installed by itself")
    return faults if n_links > 30 else ["links are not found"]


def is_allowed(name, sentence, allowed=ALLOWED):
    return any(name == file and part in sentence for file, part, _ in allowed)


def check_words(root):
    faults, n_sentences = [], 0
    for path in plain_pages(root):
        name = path.relative_to(root).as_posix()
        for paragraph in paragraphs(path.read_text(encoding="utf-8")):
            table = paragraph.startswith("|")
            for sentence in [paragraph] if table else sentences(paragraph):
                n_sentences += 1
                if is_allowed(name, sentence):
                    continue
                if not table and len(words(sentence)) > SENTENCE_WORDS:
                    faults.append(f"{name}: {len(words(sentence))} words: {sentence[:90]}")
                opener = sentence.lstrip("*\"(").split(" ", 1)[0]
                if opener in OPENERS:
                    faults.append(f"{name}: begins with \"{opener}\": {sentence[:90]}")
                faults += [f"{name}: \"{found.group()}\", say: {better}: {sentence[:90]}" for word, better in WORDS.items()
                           for found in [re.search(rf"\b(?:{word})\b", sentence, re.I)] if found]
    return faults if n_sentences > 300 else [*faults, "sentences are not found"]


def check_comments(root):
    """Returns faults of comments in the folders that are rewritten."""
    faults, n_files = [], 0
    for name, text in comments.source_files(root):
        n_files += 1
        faults += [fault for fault in comments.faults_of(name, text, OPENERS, WORDS, COMMENT_WORDS)
                   if not is_allowed(name, fault)]
    return faults if n_files > 20 else [*faults, "sources are not found"]


def check_terms(root):
    text = " ".join(" ".join(p.read_text(encoding="utf-8").split()) for p in
                    [root / "README.md", *(root / "docs").rglob("*.md")]).lower()
    return [f"README.md and docs do not have the term {term}" for term in re.split(r",\s+", TERMS.replace("\n", " "))
            if term.lower() not in text]


def check_lists(root):
    """Checks Meson's lists of pages: built pages, and pages whose commands are run."""
    build = (root / "docs/meson.build").read_text(encoding="utf-8")
    tests = (root / "tests/abi/meson.build").read_text(encoding="utf-8")
    faults = []
    for path in sorted((root / "docs").rglob("*.md")):
        name = path.relative_to(root / "docs").as_posix()
        if f"'{name}'" not in build:
            faults.append(f"docs/meson.build does not list {name}")
        kinds = {language for language, _, _ in pages.blocks(path.read_text(encoding="utf-8"))}
        if kinds & {"console", "sh", "c", "python", "py", "js"} and f"'docs/{name}'" not in tests:
            faults.append(f"tests/abi/meson.build does not run the commands of docs/{name}")
    return faults


def help_of(tool, *command):
    return subprocess.run([tool, *command, "--help"], capture_output=True, text=True, check=True).stdout


def manual_of(tool):
    """The manual page without its macros of fonts."""
    page = subprocess.run([tool, "manual"], capture_output=True, text=True, check=True).stdout
    return re.sub(r"\\f[BIR]", "", page).replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\")


def check_help(tool):
    """The help of each command and option: no private wording, no long sentence."""
    page = manual_of(tool)
    entries = re.findall(r"^\.TP\n(?:\.B )?(.*)\n((?:(?!\.[A-Z]).*\n)+)", page, re.M)
    entries += [(name, text) for name, text in re.findall(r"^\.SS (.*)\n.*\n\.PP\n(.*)$", page, re.M)]
    faults = []
    for name, text in entries:
        plain = re.sub(r"\"[^\"\n]*\"", "QUOTED", " ".join(text.split()))
        for sentence in re.split(r"(?<=[.;:])\s+", plain):
            if len(words(sentence)) > SENTENCE_WORDS:
                faults.append(f"help of {name}: {len(words(sentence))} words: {sentence[:90]}")
            if sentence.lstrip("(").split(" ", 1)[0].capitalize() in OPENERS:
                faults.append(f"help of {name}: begins like a sentence without a noun: {sentence[:90]}")
        faults += [f"help of {name}: \"{found.group()}\", say: {better}: {plain[:90]}" for word, better in WORDS.items()
                   for found in [re.search(rf"\b(?:{word})\b", plain, re.I)] if found]
    return faults if len(entries) > 300 else [*faults, f"the manual has {len(entries)} entries only"]


def check_options(root, tool):
    """Checks that options on pages exist in the tool."""
    helps = [help_of(tool)]
    commands = re.findall(r"^  ([a-z][\w-]*)  ", helps[0].split("Commands:", 1)[-1], re.M)
    for command in commands:
        helps.append(help_of(tool, command))
        if "Commands:" in helps[-1]:
            inner = re.findall(r"^  ([a-z][\w-]*)  ", helps[-1].split("Commands:", 1)[-1], re.M)
            helps += [help_of(tool, command, name) for name in inner]
    helps.append(manual_of(tool))  # has the aliases
    known = set(re.findall(r"--[a-z][a-z0-9-]*[a-z0-9]", "\n".join(helps))) | OTHERS_OPTIONS
    faults = []
    for path in written_pages(root):
        if path.name == "renames.md":  # old names
            continue
        text = path.read_text(encoding="utf-8")
        for option in sorted(set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*[a-z0-9](?![\w-])", text)) - known):
            faults.append(f"{path.relative_to(root)}: the tool has no option {option}")
    return faults if len(known) > 100 else ["options are not found in the help"]


def list_comments(root, folders):
    """Prints faults of comments below some folders, including folders that are not rewritten yet."""
    files = [(name, text) for name, text in comments.source_files(root) if name.startswith(tuple(folders))]
    faults = [fault for name, text in files
              for fault in comments.faults_of(name, text, OPENERS, WORDS, COMMENT_WORDS) if not is_allowed(name, fault)]
    public.finish("comments", faults, len(files))


def main():
    if sys.argv[1] == "--comments":
        list_comments(pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:])
    root = pathlib.Path(sys.argv[1]).resolve()
    checks = [check_sizes(root), check_links(root), check_words(root), check_comments(root),
              check_terms(root), check_lists(root)]
    if len(sys.argv) > 2:
        checks += [check_options(root, sys.argv[2]), check_help(sys.argv[2])]
    public.finish("wording", [fault for check in checks for fault in check], len(checks))


if __name__ == "__main__":
    main()
