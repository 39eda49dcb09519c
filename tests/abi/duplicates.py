"""Duplicate runs in the tests: lines followed by others so that all of them stand in an earlier place, too.

Whitespace is collapsed; blank lines, comment-only lines and docstrings are skipped. A copy of n lines is n - RUN + 1 runs.

usage: duplicates.py SOURCE_ROOT
SPDX-License-Identifier: MIT
"""
import collections
import pathlib
import re
import sys

import public

RUN = 6  # lines
MOST = 140  # today's number; a change that lowers it lowers this too
N_PRINTED = 20
C, SCRIPT = ("//", re.compile(r"^[ \t]*/\*.*?\*/[ \t]*$", re.M | re.S)), ("#", re.compile(r'^[ \t]*""".*?"""', re.M | re.S))
COMMENTS = {".c": C, ".cpp": C, ".h": C, ".hpp": C, ".py": SCRIPT, ".sh": SCRIPT}


def lines_of(path):
    """(number, text) of each line that counts."""
    comment, block = COMMENTS[path.suffix]
    text = block.sub(lambda match: "\n" * match.group().count("\n"), path.read_text(encoding="utf-8"))
    lines = ((number, " ".join(line.split())) for number, line in enumerate(text.split("\n"), 1))
    return [(number, line) for number, line in lines if line and not line.startswith(comment)]


def main():
    tests = pathlib.Path(sys.argv[1], "tests")
    paths = sorted(path for path in tests.rglob("*") if path.suffix in COMMENTS and path.is_file())
    first, copies = {}, collections.defaultdict(list)  # place of each run; places of the copies by their files
    for path in paths:
        name, lines = path.relative_to(tests).as_posix(), lines_of(path)
        for i in range(len(lines) - RUN + 1):
            run = tuple(text for _, text in lines[i:i + RUN])
            original, line = first.setdefault(run, (name, lines[i][0]))
            if (original, line) != (name, lines[i][0]):
                copies[original, name].append((line, lines[i][0]))
    for (original, name), places in sorted(copies.items(), key=lambda item: -len(item[1]))[:N_PRINTED]:
        print(f"{len(places):4} {original}:{places[0][0]} {name}:{places[0][1]}")
    n = sum(map(len, copies.values()))
    public.finish(f"duplicate runs ({n}), files", [f"{n} duplicate runs, {MOST} at most"] if n > MOST else [], len(paths))


main()
