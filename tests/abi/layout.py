"""Every C and C++ file is formatted by .clang-format. Versions of clang-format differ in details: 14 decides, others
skip.

usage: layout.py SOURCE_ROOT [CLANG-FORMAT]
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import subprocess
import sys

import public

VERSION = "14"
FOLDERS = ("include", "src", "tests", "bindings", "pkgconfig")
SUFFIXES = {".c", ".cpp", ".h", ".hpp"}
NOT_OURS = {"target", "build", "__pycache__"}  # files that tools of the bindings generate
AT_ONCE = 50  # files in a call


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file() and not NOT_OURS & set(path.relative_to(root).parts):
                yield path


def faults_of(program, paths):
    """Returns the first place in each file that would be changed."""
    result = subprocess.run([program, "--dry-run", "--style=file", *map(str, paths)],
                            stderr=subprocess.PIPE, text=True, check=True)
    first = {}
    for path, line in re.findall(r"^(.+?):(\d+):\d+: warning:", result.stderr, re.M):
        first.setdefault(path, line)
    return [f"{path}:{line}: clang-format -i would change it" for path, line in first.items()]


def main():
    root, program = pathlib.Path(sys.argv[1]), (sys.argv[2:] or [""])[0]
    if not program:
        print("skipped: no clang-format")
        sys.exit(77)
    version = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    if f"version {VERSION}." not in version:
        print(f"skipped: {version.strip()}; {VERSION} decides")
        sys.exit(77)
    paths = list(sources(root))
    faults = [f for i in range(0, len(paths), AT_ONCE) for f in faults_of(program, paths[i:i + AT_ONCE])]
    public.finish("layout", faults, len(paths))


main()
