"""Extracts comments of C, C++, shaders and the public headers as prose, for the lint of words (wording.py).

SPDX-License-Identifier: MIT
"""
import re

# A string, a character (not a digit separator), or a comment: the first match wins.
TOKEN = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z])\'(?:\\.|[^\'\\\n])+\''
                   r"|//[^\n]*|/\*(?:.|\n)*?\*/")
SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".def", ".inc", ".cu", ".cuh", ".comp", ".glsl"}


def source_files(root):
    """Yields the sources whose comments are checked, by path below root."""
    for folder in ("include", "src", "examples", "bindings", "tests"):
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix in SUFFIXES and "node_modules" not in path.parts:
                yield name, path.read_text(encoding="utf-8")


def comments(text):
    """Yields (line, prose) of each comment: consecutive lines of // are one, like a /* */."""
    block, first, last = [], 0, -1
    for match in TOKEN.finditer(text):
        token = match.group()
        if not token.startswith(("//", "/*")):
            continue
        line = text.count("\n", 0, match.start()) + 1
        alone = not text[text.rfind("\n", 0, match.start()) + 1:match.start()].strip()
        if block and (token.startswith("/*") or not alone or line != last + 1):
            yield first, " ".join(block)
            block = []
        prose = re.sub(r"^/\*+|\*/$", "", token) if token.startswith("/*") else token.lstrip("/<!")
        lines = [re.sub(r"^\s*\*(?!\w)", "", each).strip() for each in prose.split("\n")]
        if not block:
            first = line
        # An empty line, or the next item of a list, ends a sentence.
        block.append("\n".join(lines).replace("\n\n", ".\n").replace("\n- ", ".\n"))
        last = line if token.startswith("//") else -1
        if not alone or token.startswith("/*"):
            yield first, " ".join(block)
            block = []
    if block:
        yield first, " ".join(block)


def prose_of(comment):
    """Returns a comment's sentences, without the licence line; quoted words and code become QUOTED."""
    text = re.sub(r"SPDX-License-Identifier: \S+", "", comment)
    text = re.sub(r'"[^"\n]*"|`[^`]*`', "QUOTED", text)
    text = " ".join(text.split())
    return [each for each in re.split(r"(?<=[.!?;:])\s+", text) if each.strip(". ")]


def faults_of(name, text, openers, banned, most_words):
    """Yields sentences in a file's comments that begin with a banned opener, have a banned word, or are too long."""
    for line, comment in comments(text):
        for sentence in prose_of(comment):
            place, shown = f"{name}:{line}", sentence[:90]
            opener = sentence.lstrip("*\"( ").split(" ", 1)[0].rstrip(",").capitalize()
            if opener in openers:
                yield f"{place}: begins with \"{opener}\": {shown}"
            n_words = len(re.findall(r"[A-Za-z][A-Za-z'’-]+", sentence))
            if n_words > most_words:
                yield f"{place}: {n_words} words: {shown}"
            for word, better in banned.items():
                found = re.search(rf"\b(?:{word})\b", sentence, re.I)
                if found:
                    yield f"{place}: \"{found.group()}\", say: {better}: {shown}"
