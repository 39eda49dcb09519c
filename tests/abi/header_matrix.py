"""Header matrix: each header alone and twice, in every C and C++ standard, with one family of compilers. Two
translation units that use all headers link together.

usage: header_matrix.py INCLUDE WORKDIR gcc|clang
SPDX-License-Identifier: MIT
"""
import os
import pathlib
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import public

C_STANDARDS = ("c89", "c99", "c11", "c17")
CXX_STANDARDS = ("c++98", "c++11", "c++17", "c++20")
WARNINGS = ["-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-Wundef"]
C_WARNINGS = ["-Wstrict-prototypes", "-Wmissing-prototypes", "-Wold-style-definition"]


def command(compiler, standard, include):
    flags = WARNINGS + ([] if "++" in standard else C_WARNINGS)
    return [compiler, f"-std={standard}", *flags, "-I", include]


def compile_all(include, work, pair):
    """Compiles all single-header units in one call, then links two units. Returns the faults."""
    compiler, standard = pair
    suffix = ".cpp" if "++" in standard else ".c"
    base = command(compiler, standard, include)
    folder = work / f"{compiler}-{standard}"
    folder.mkdir(parents=True, exist_ok=True)
    units = []
    for header in sorted(pathlib.Path(include, "ggufx").glob("*.h")):
        if header.name == "loader.h" and standard == "c89":  # it has an inline function
            continue
        unit = folder / (header.stem + suffix)
        line = f"#include <ggufx/{header.name}>\n"
        unit.write_text(f"{line}{line}extern int use_{header.stem};\nint use_{header.stem} = 1;\n")
        units.append(str(unit))
    (folder / f"main{suffix}").write_text("#include <ggufx/ggufx.h>\nint main(void) { return 0; }\n")
    (folder / f"other{suffix}").write_text(
        "#include <ggufx/ggufx.h>\n"
        "extern ggufx_error other_error;\nggufx_error other_error;\n")
    runs = [[*base, "-fsyntax-only", *units],
            [*base, str(folder / f"main{suffix}"), str(folder / f"other{suffix}"), "-o",
             str(folder / "linked")]]
    faults = []
    for run in runs:
        result = subprocess.run(run, capture_output=True, text=True)
        if result.returncode:
            faults.append(f"{compiler} -std={standard}:\n{result.stderr}")
    return faults


def main():
    include, work = sys.argv[1], pathlib.Path(sys.argv[2])
    cc = sys.argv[3]
    cxx = {"gcc": "g++", "clang": "clang++"}[cc]
    if not shutil.which(cc) or not shutil.which(cxx):
        print(f"skipped: no {cc} here")
        sys.exit(77)
    pairs = [(cc, s) for s in C_STANDARDS] + [(cxx, s) for s in CXX_STANDARDS]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        faults = [f for result in pool.map(lambda p: compile_all(include, work, p), pairs)
                  for f in result]
    public.finish("compiler and standard pairs", faults, len(pairs))


main()
