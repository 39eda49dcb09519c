"""The lists of docs/contributing/extending.md against their examples.

Every file of a list mentions the example (rows that begin with "if" may not), and every source file that mentions the
example is in the list. The files that people change are at most the limit of the list: "At most 6 files."

usage: extending.py SOURCE_ROOT
SPDX-License-Identifier: MIT
"""
import fnmatch
import pathlib
import re
import sys

import public

PAGE = "docs/contributing/extending.md"
# Other places may mention an example; these folders are complete.
COMPLETE = ("include", "src", "bindings", "docs")
FEWEST_SECTIONS = 7


def sections(text):
    """(title, example, limit or 0, [(patterns, may be absent, is written by a program)]) of each list."""
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        example = re.search(r"^Example: `([^`]+)`", part, re.M)
        limit = re.search(r"\bAt most (\d+) files", part)
        rows = re.findall(r"^\| (`.*?) \| (.*?) \|$", part, re.M)
        yield part.split("\n", 1)[0], example and example.group(1), int(limit.group(1)) if limit else 0, [
            (re.findall(r"`([^`]+)`", files), change.startswith("if "), change.startswith("generated")) for files, change in rows]


def word_of(example):
    """The example in any of its spellings: kv-eval, kv_eval, KvEval, GGUFX_KV_EVAL."""
    return re.compile(r"(?<![a-z])" + "[-_]?".join(map(re.escape, re.split("[-_]", example))), re.I)


def files_with(root, word):
    """Files of the complete folders that mention the example in their text or name."""
    for folder in COMPLETE:
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            generated = {"node_modules", "target", "__pycache__"} & set(path.parts)
            if not path.is_file() or generated or name.startswith(("docs/contributing", "docs/migrating")):
                continue
            if word.search(path.name) or word.search(path.read_text(encoding="utf-8", errors="replace")):
                yield name


def check(root, title, example, limit, rows):
    if not example or not rows:
        return [f"{title}: no example or no list"]
    word, found, by_hand = word_of(example), set(), set()
    faults = []
    for patterns, optional, generated in rows:
        for pattern in patterns:
            matches = [path for path in root.glob(pattern) if path.is_file()] if "*" in pattern else [root / pattern]
            matches = [path for path in matches if path.is_file()]
            if not matches and pattern.partition("/")[0] != "bindings":
                faults.append(f"{title}: no file {pattern}")
            found |= {path.relative_to(root).as_posix() for path in matches}
            if not optional and not generated:
                by_hand |= set(matches)
            mentions = [path for path in matches if word.search(path.name) or
                        word.search(path.read_text(encoding="utf-8", errors="replace"))]
            if matches and not mentions and not optional:
                faults.append(f"{title}: {pattern} does not mention {example}")
    if limit and len(by_hand) > limit:
        faults.append(f"{title}: {len(by_hand)} files, {limit} at most")
    patterns = [pattern for some, *_ in rows for pattern in some]
    for name in files_with(root, word):
        if name not in found and not any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
            faults.append(f"{title}: {name} mentions {example}, but the list does not have it")
    return faults


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    lists = list(sections((root / PAGE).read_text(encoding="utf-8")))
    faults = [fault for item in lists for fault in check(root, *item)]
    if len(lists) < FEWEST_SECTIONS:
        faults.append(f"{PAGE}: {len(lists)} lists, expected {FEWEST_SECTIONS}")
    public.finish("extending", faults, len(lists))


main()
