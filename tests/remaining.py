"""Prints the tests of a build that another run has not passed: missing in its log, failed, skipped, or with skipped
cases.

usage: remaining.py BUILD_FOLDER TESTLOG.JSON     (one name a line)
SPDX-License-Identifier: MIT
"""
import json
import re
import subprocess
import sys

# Skipped cases of a passed suite: Python's unittest, cmocka, tests/golden.
SKIPPED_CASE = re.compile(r"skipped=[1-9]|\[  SKIPPED \]|: skipped")


def proved(log):
    names = set()
    for line in open(log, encoding="utf-8"):
        test = json.loads(line)
        output = (test.get("stdout") or "") + (test.get("stderr") or "")
        if test["result"] == "OK" and not SKIPPED_CASE.search(output):
            names.add(test["name"].split(" / ")[-1])
    return names


def main():
    build, log = sys.argv[1:3]
    listed = json.loads(subprocess.run(["meson", "introspect", "--tests", build], check=True, stdout=subprocess.PIPE).stdout)
    done = proved(log)
    for test in listed:
        if test["name"] not in done:
            print(test["name"])


main()
