"""The small library that an application bundles (-Dapp_local=true).

library: the file of a build. One file with a plain name, under MOST_BYTES stripped, that needs the C library
alone, exports symbols.txt and takes no C++ symbol from its process. Prints the required version of the C library.
(The tests "loading" of such a build open it a hundred times and run every public function.)
setup: Meson's plan for such a build, without building it: runs in every build.

usage: app_local.py library NM READELF STRIP LIBRARY SYMBOLS.TXT WORK_FOLDER MOST_BYTES
       app_local.py setup MESON SOURCE_FOLDER WORK_FOLDER
SPDX-License-Identifier: MIT
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import public

# The dynamic loader is part of the C library; the C++ runtime's thread-local data need it.
NEEDED = re.compile(r"lib[cm]\.so\.\d+|ld-linux[\w.-]*\.so\.\d+")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check_name(readelf, library):
    faults = []
    beside = [p.name for p in library.parent.glob("libggufx*.so*") if p.is_file()]
    if beside != ["libggufx.so"] or library.is_symlink():
        faults.append(f"not one file libggufx.so: {beside}")
    entries = re.findall(r"\((\w+)\)\s+[^\[]*\[([^\]]*)\]", run(readelf, "-dW", library))
    names = [value for tag, value in entries if tag == "SONAME"]
    if names != ["libggufx.so"]:
        faults.append(f"its name inside is {names}")
    faults += [f"needs {value}" for tag, value in entries
               if tag == "NEEDED" and not NEEDED.fullmatch(value)]
    if any(tag in ("RPATH", "RUNPATH") for tag, _ in entries):
        faults.append("has a run path")
    return faults


def check_symbols(nm, readelf, library, listed):
    found = [line.split() for line in run(nm, "-D", "--defined-only", library).splitlines()]
    names = sorted(row[-1].split("@")[0] for row in found if row[-2] != "A")
    faults = [f"exports {name}" for name in names if name not in listed]
    faults += [f"does not export {name}" for name in listed if name not in names]
    faults += [f"{row[-1]}: kind {row[-2]}" for row in found if row[-2] not in "AT"]
    taken = [line.split() for line in run(nm, "-D", "--undefined-only", library).splitlines()]
    faults += [f"takes {row[-1]} from the process" for row in taken
               if re.match(r"_Z|__cxa_(?!finalize|thread_atexit|atexit)|__gxx|_Unwind", row[-1])]
    if "UNIQUE" in run(readelf, "--dyn-syms", "-W", library):
        faults.append("has symbols that are unique in the process")
    return faults


def check_versions(readelf, library):
    """Prints the newest version of each family of symbols that the library needs: the requirement on a system."""
    newest = {}
    for family, version in re.findall(r"\b(GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)\b",
                                      run(readelf, "-VW", library)):
        number = tuple(map(int, version.split(".")))
        newest[family] = max(newest.get(family, number), number)
    words = {family: ".".join(map(str, number)) for family, number in newest.items()}
    print("asks for " + ", ".join(f"{family} {words[family]}" for family in sorted(words)))
    if "GLIBC" not in words:
        return ["asks for no version of the C library: was it read at all?"]
    return [f"asks for {family} {words[family]}, of the C++ runtime" for family in sorted(words)
            if family != "GLIBC"]


def check_size(strip, library, work, most):
    work.mkdir(parents=True, exist_ok=True)
    copy = work / "libggufx.so"
    run(strip, "-o", copy, library)
    n_bytes = copy.stat().st_size
    print(f"{n_bytes} bytes stripped, {most - n_bytes} to spare")
    return [] if n_bytes < most else [f"{n_bytes} bytes, not below {most}"]


def library_faults(nm, readelf, strip, library, listed_path, work, most):
    library = pathlib.Path(library)
    listed = pathlib.Path(listed_path).read_text().split()
    return (check_name(readelf, library) + check_symbols(nm, readelf, library, listed) +
            check_versions(readelf, library) +
            check_size(strip, library, pathlib.Path(work), int(most)))


def setup_faults(meson, source, work):
    """Checks Meson's plan: one shared library to install, without optional parts."""
    shutil.rmtree(work, ignore_errors=True)
    run(meson, "setup", work, source, "-Dapp_local=true",
        *[f"-D{option}=disabled" for option in ("tests", "cli", "bindings")])
    targets = json.loads(run(meson, "introspect", "--targets", work))
    installed = [pathlib.Path(name) for target in targets
                 if target["installed"] and target["type"] != "custom"
                 for name in target["filename"]]
    faults = [] if [path.name for path in installed] == ["libggufx.so"] else \
        [f"installs {[path.name for path in installed]}"]
    commands = [entry["command"] for entry in
                json.loads(pathlib.Path(work, "compile_commands.json").read_text())]
    faults += [f"compiles with {flag}" for flag in ("GGUFX_WITH_MIMALLOC", "GGUFX_WITH_CPUINFO")
               if any(flag in command for command in commands)]
    if not all("GGUFX_SMALL" in command for command in commands if "libggufx_kernels" in command):
        faults.append("compiles kernels without GGUFX_SMALL")
    ninja = pathlib.Path(work, "build.ninja").read_text()
    faults += [f"does not link with {flag}" for flag in ("-static-libstdc++", "-static-libgcc",
                                                         "--version-script")
               if flag not in ninja]
    if "cpuinfo.so" in ninja or "cpuinfo.a" in ninja:
        faults.append("links cpuinfo")
    return faults


def main():
    how = {"library": library_faults, "setup": setup_faults}[sys.argv[1]]
    public.finish("small library", how(*sys.argv[2:]), 1)


main()
