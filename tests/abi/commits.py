"""Subjects of commits have at most 72 columns and the form `area: change`. Commits from before this rule are exempt.

usage: commits.py SOURCE_ROOT
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import shutil
import subprocess
import sys

import public

MOST_COLUMNS = 72
SUBJECT = re.compile(r"[\w./, *+-]+: \S|Revert ")


def git(root, *arguments):
    if not shutil.which("git"):
        print("skipped: git is not installed")
        sys.exit(77)
    result = subprocess.run(["git", "-C", str(root), *arguments], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        print("skipped: git log:", result.stderr.strip())
        sys.exit(77)
    return result.stdout


def main():
    root = pathlib.Path(sys.argv[1])
    if not (root / ".git").exists():
        print("skipped: not a clone")
        sys.exit(77)
    added = git(root, "log", "--diff-filter=A", "--format=%at", "--", "tests/abi/commits.py").split()
    since = int(added[-1]) if added else 0
    commits = [line.split("\t", 2) for line in git(root, "log", "--no-merges", "--format=%at%x09%h%x09%s").splitlines()]
    faults = [f'{name}: "{subject}" has {len(subject)} columns or no area'
              for time, name, subject in commits
              if int(time) >= since and (len(subject) > MOST_COLUMNS or not SUBJECT.match(subject))]
    public.finish("subjects of commits", faults, len(commits))


main()
