"""Sum of Meson test logs. Prints 'N passed, N failed' and, last, 'skipped: NAMES'.

usage: summary.py [--strict] LABEL=TESTLOG.JSON...   (--strict: a skip is a failure)
SPDX-License-Identifier: MIT
"""
import json
import sys

PASSED = {"OK", "EXPECTEDFAIL"}


def main():
    arguments = [a for a in sys.argv[1:] if a != "--strict"]
    strict = "--strict" in sys.argv
    n_passed, failed, skipped = 0, [], []
    for argument in arguments:
        label, _, path = argument.partition("=")
        prefix = f"{label}: " if label else ""
        try:
            lines = open(path, encoding="utf-8").read().splitlines()
        except OSError:
            lines = []
        if not lines:
            failed.append(f"{prefix}no test ran")
        for line in lines:
            test = json.loads(line)
            name = prefix + test["name"].split(" / ")[-1]
            if test["result"] in PASSED:
                n_passed += 1
            elif test["result"] == "SKIP":
                skipped.append(name)
            else:
                failed.append(f"{name} ({test['result']})")
    if strict:
        failed += [f"{name} (skipped)" for name in skipped]
    for name in failed:
        print("FAILED:", name)
    tail = "skipped: " + (", ".join(skipped) or "none")
    counts = f"{n_passed} passed, {len(failed)} failed"
    print(*((tail, counts) if strict else (counts, tail)), sep="\n")
    sys.exit(1 if failed else 0)


main()
