"""clang-tidy (.clang-tidy) and cppcheck over src/ without kernels: no findings. cppcheck.txt lists cppcheck's false
positives, each with its reason.

usage: analysis.py SOURCE_ROOT BUILD_FOLDER [PART_OF_A_PATH...]     (a folder built with -Db_pch=false; tests/full.sh)
SPDX-License-Identifier: MIT
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import public

# Kernels are templates over intrinsics, so findings would be those of the vendors' headers; checkasm checks them.
NOT_HERE = ("/src/kernels/", "/src/cli/bench/peak_")
CPPCHECK = ("--enable=warning,performance,portability", "--std=c++20", "--language=c++", "--quiet",
            "--inline-suppr", "--error-exitcode=0", "--template={file}:{line}: {message} [{id}]")


def has_one(text, parts):
    return any(part in str(text) for part in parts)


def sources(root, build, parts):
    """Returns the build's translation units of src/, as absolute paths."""
    entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    paths = {(pathlib.Path(e["directory"]) / e["file"]).resolve() for e in entries}
    own = (path for path in paths if path.is_relative_to(root / "src") and path.suffix == ".cpp")
    return sorted(path for path in own
                  if not has_one(path, NOT_HERE) and (not parts or has_one(path, parts)))


def tidy(build, path):
    result = subprocess.run(["clang-tidy", "--quiet", "-p", build, path], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    found = re.findall(r"^.+?:\d+:\d+: (?:warning|error): .+$", result.stdout, re.M)
    if result.returncode != 0 and not found:
        found = [f"{path}: clang-tidy: {result.stderr.strip()}"]
    return found


def check(root, paths):
    result = subprocess.run(
        ["cppcheck", *CPPCHECK, f"-j{os.cpu_count()}", "-I", root / "src", "-I", root / "include",
         "-I", root / "src" / "cli", f"--suppressions-list={root / 'tests/abi/cppcheck.txt'}", *paths],
        stderr=subprocess.PIPE, text=True, check=True)
    return [line for line in result.stderr.splitlines() if not has_one(line, NOT_HERE)]


def main():
    root, build = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    absent = [name for name in ("clang-tidy", "cppcheck") if not shutil.which(name)]
    if absent:
        print("skipped: no", " and no ".join(absent))
        sys.exit(77)
    paths = sources(root, build, sys.argv[3:])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = [f for found in pool.map(lambda path: tidy(build, path), paths) for f in found]
    faults += check(root, paths)
    public.finish("static analysis", sorted(set(faults)), len(paths))


main()
