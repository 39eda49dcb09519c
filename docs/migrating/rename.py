"""Renames identifiers of libggufx in the sources of a program, by the table names.txt beside this file.

Changes the named files in place, whole words only, and prints how many words it changed in each. Functions that take
other arguments than before, such as ggufx_tensor_wrap, still need work by hand: the compiler names them.

usage: rename.py [--check] FILE...     (--check: count only; exit 1 if there is an old name)
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys

TABLE = pathlib.Path(__file__).resolve().parent / "names.txt"
WORD = re.compile(r"\b(?:ggufx|GGUFX)_\w+")
HEADERS = {"job.h": "quantizer.h", "measure.h": "eval.h"}
INCLUDE = re.compile(r"(?<=[<\"]ggufx/)(?:job|measure)\.h(?=[>\"])")


def names():
    """Old name -> new name."""
    return dict(line.split() for line in TABLE.read_text().splitlines())


def renamed(text, new):
    """(the text with new names, number of words that changed)"""
    text, n_headers = INCLUDE.subn(lambda m: HEADERS[m[0]], text)
    changed = sum(m[0] in new for m in WORD.finditer(text))
    return WORD.sub(lambda m: new.get(m[0], m[0]), text), n_headers + changed


def main():
    check = sys.argv[1:2] == ["--check"]
    paths = [pathlib.Path(p) for p in sys.argv[1 + check:]]
    if not paths:
        sys.exit(__doc__)
    new, total = names(), 0
    for path in paths:
        before = path.read_bytes()
        after, n = renamed(before.decode("utf-8", "surrogateescape"), new)
        total += n
        if n:
            print(f"{path}: {n}")
            if not check:
                path.write_bytes(after.encode("utf-8", "surrogateescape"))
    sys.exit(1 if check and total else 0)


if __name__ == "__main__":
    main()
