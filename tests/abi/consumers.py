"""An installed tree as its users need it. plain cc links README's C example with pkg-config's flags: against the
shared library, against libggufx.a with shared dependencies and, if the library was built without mimalloc and
cpuinfo, with cc -static. CMake's find_package does the same for two programs, if CMake is installed. The tree is
moved first.

usage: consumers.py SOURCE_ROOT BUILD_ROOT WORKDIR MODEL READELF [static]
SPDX-License-Identifier: MIT
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import public
import readme


def install(build, work):
    """Installs under WORKDIR, moves the tree, and returns its prefix and the .pc file."""
    shutil.rmtree(work, ignore_errors=True)
    subprocess.run(["meson", "install", "--no-rebuild", "-C", str(build), "--destdir",
                    str(work / "first")], check=True, capture_output=True)
    (work / "first").rename(work / "moved")
    found = list((work / "moved").rglob("ggufx.pc"))
    if len(found) != 1:
        sys.exit(f"FAIL: {len(found)} files ggufx.pc")
    return found[0]


def pkg_config(pc, *arguments):
    environment = {**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}
    out = subprocess.run(["pkg-config", *arguments, "ggufx"], env=environment, check=True,
                         capture_output=True, text=True).stdout
    return out.split()


def compile_and_run(name, work, flags, *run):
    """Compiles the example with plain cc and runs it."""
    program = work / name
    command = ["cc", "-std=c11", "-Wall", "-Werror", str(work / "example.c"), "-o", str(program),
               *flags]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        return [f"{name}: {' '.join(command)}\n{result.stderr}"], ""
    return check_and_run(name, program, *run)


CMAKE_LISTS = """cmake_minimum_required(VERSION 3.16)
project(consumer C)
set(CMAKE_C_STANDARD 11)
find_package(ggufx 0.1 CONFIG REQUIRED)
add_executable(shared example.c)
target_link_libraries(shared PRIVATE ggufx::ggufx)
add_executable(archive example.c)
target_link_libraries(archive PRIVATE ggufx::ggufx_static)
"""


def build_by_cmake(cmake, work, prefix):
    """Builds both programs of CMAKE_LISTS; the next minor version must be refused."""
    (work / "CMakeLists.txt").write_text(CMAKE_LISTS)
    build = work / "cmake"
    configure = [cmake, "-S", str(work), "-B", str(build), f"-DCMAKE_PREFIX_PATH={prefix}"]
    faults = []
    for command in (configure, [cmake, "--build", str(build)]):
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            return [f"{' '.join(command)}\n{result.stdout}{result.stderr}"]
    (work / "later").mkdir()
    (work / "later" / "CMakeLists.txt").write_text(CMAKE_LISTS.replace("ggufx 0.1", "ggufx 0.2"))
    configure[2], configure[4] = str(work / "later"), str(work / "later" / "build")
    if subprocess.run(configure, capture_output=True, text=True).returncode == 0:
        faults.append("find_package(ggufx 0.2) is satisfied with 0.1")
    return faults


def check_and_run(name, program, model, library, expect_needed, readelf):
    """Checks a program's needed libraries and its output, which must be the same for each kind of linking."""
    needed = re.findall(r"NEEDED.*\[(.*)\]", subprocess.run(
        [readelf, "-d", str(program)], capture_output=True, text=True).stdout)
    faults = []
    if any("ggufx" in n for n in needed) != expect_needed:
        faults.append(f"{name}: needs {needed}")
    if any("mimalloc" in n for n in needed):
        faults.append(f"{name}: mimalloc is linked: {needed}")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library)}
    result = subprocess.run([str(program), str(model)], env=environment, capture_output=True,
                            text=True)
    if result.returncode:
        faults.append(f"{name}: exit {result.returncode}: {result.stderr}")
    return faults, result.stdout


def check_pc(pc):
    lines = pc.read_text().splitlines()
    faults = [f"ggufx.pc: absolute path: {line}" for line in lines
              if re.search(r"(^|[\s=]|-[LI])/", line)]
    wanted = ("prefix=${pcfiledir}", "Cflags.private: -DGGUFX_STATIC", "-lstdc++", "Libs: ")
    return faults + [f"ggufx.pc has no {w}" for w in wanted if w not in pc.read_text()]


def main():
    root, build, work, model = (pathlib.Path(a).resolve() for a in sys.argv[1:5])
    readelf, fully_static = sys.argv[5], "static" in sys.argv[6:]
    pc = install(build, work)
    library = pc.parent.parent
    text = (root / "README.md").read_text(encoding="utf-8")
    (work / "example.c").write_text(readme.blocks(text, "c")[0])
    shared = pkg_config(pc, "--cflags", "--libs")
    static = ["-Wl,-Bstatic" if f == "-lggufx" else f for f in
              pkg_config(pc, "--static", "--cflags", "--libs")]
    at = static.index("-Wl,-Bstatic")
    static[at + 1:at + 1] = ["-lggufx", "-Wl,-Bdynamic"]
    faults = check_pc(pc)
    if "-DGGUFX_STATIC" not in static or "-DGGUFX_STATIC" in shared:
        faults.append(f"GGUFX_STATIC: shared {shared}, static {static}")
    runs = [("shared", shared, True), ("archive", static, False)]
    if fully_static:
        runs.append(("static", ["-static", *pkg_config(pc, "--static", "--cflags", "--libs")], False))
    outputs = set()
    for name, flags, needs_library in runs:
        more, output = compile_and_run(name, work, flags, model, library, needs_library, readelf)
        faults += more
        outputs.add(output)
    cmake = shutil.which("cmake")
    if cmake:
        faults += build_by_cmake(cmake, work, next((work / "moved").rglob("include")).parent)
        for name, needs_library in () if faults else (("shared", True), ("archive", False)):
            more, output = check_and_run("cmake " + name, work / "cmake" / name, model, library,
                                         needs_library, readelf)
            faults += more
            outputs.add(output)
    if len(outputs) != 1:
        faults.append(f"the results differ: {sorted(outputs)}")
    public.finish("consumers", faults, len(runs) + (2 if cmake else 0))


main()
