"""Prints the sum of Meson test logs: 'N passed, N failed', then the skipped suites by the reason that each printed.

usage: summary.py [--strict] LABEL=TESTLOG.JSON...
--strict: a suite that every log skips is a failure, and the line of counts is the last one.
SPDX-License-Identifier: MIT
"""
import json
import sys

PASSED = {"OK", "EXPECTEDFAIL"}


def reason(test):
    """Returns the last line with "skipped: REASON"."""
    lines = [line for line in (test.get("stdout") or "").splitlines() if "skipped: " in line]
    return lines[-1].partition("skipped: ")[2].strip() if lines else "no reason given"


def read(argument):
    label, _, path = argument.partition("=")
    prefix = f"{label}: " if label else ""
    try:
        with open(path, encoding="utf-8") as file:
            tests = [json.loads(line) for line in file]
    except OSError:
        tests = []
    return prefix, tests


def main():
    strict = "--strict" in sys.argv
    n_passed, failed, skipped, passed = 0, [], {}, set()
    for prefix, tests in map(read, (a for a in sys.argv[1:] if a != "--strict")):
        if not tests:
            failed.append(f"{prefix}no test ran")
        for test in tests:
            name = test["name"].split(" / ")[-1]
            if test["result"] in PASSED:
                n_passed += 1
                passed.add(name)
            elif test["result"] == "SKIP":
                skipped.setdefault(name, (prefix + name, reason(test)))
            else:
                failed.append(f"{prefix}{name} ({test['result']})")
    if strict:
        failed += [f"{label} (skipped: {why})" for name, (label, why) in skipped.items() if name not in passed]
    for name in failed:
        print("FAILED:", name)
    by_reason = {}
    for label, why in skipped.values():
        by_reason.setdefault(why, []).append(label)
    counts = f"{n_passed} passed, {len(failed)} failed"
    tail = f"skipped: {len(skipped)}" if skipped else "skipped: none"
    lines = [f"  {len(names)}: {why}: {', '.join(names)}" for why, names in sorted(by_reason.items())]
    print(*(([tail, *lines, counts]) if strict else ([counts, tail, *lines])), sep="\n")
    sys.exit(1 if failed else 0)


main()
