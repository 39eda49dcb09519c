"""Every deliberate fault of series.txt still applies: its text occurs once in its file, and the replacement is
different.

usage: applies.py SOURCE_ROOT
SPDX-License-Identifier: MIT
"""
import pathlib
import sys

import faults


def main():
    root, wrong, n = pathlib.Path(sys.argv[1]), 0, 0
    for name, file, before, after, _ in faults.series():
        n += 1
        times = (root / file).read_text(encoding="utf-8").count(before)
        if before == after or times != 1:
            wrong += 1
            print(f"FAIL: {name}: its text stands {times} times in {file}, and must once")
    print(f"places of deliberate faults: {n} checked, {wrong} faults")
    return 1 if wrong or n == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
