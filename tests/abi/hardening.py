"""Properties of -Dhardening=true, read from the ELF files of the library and the tool: relocations are resolved at
the start and then read-only, and the stack is not executable. Functions have stack protectors, and calls of the C
library check buffer sizes. Kernels have no protectors: they are the inner loops. Without the option there are no
protectors.

usage: hardening.py on|fortified|off NM READELF BUILD_FOLDER CORE_ARCHIVE ELF_FILE...
       fortified: on, and built with _FORTIFY_SOURCE; CORE_ARCHIVE: a thin one, its members have paths
SPDX-License-Identifier: MIT
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys

import public

GUARD = "__stack_chk_fail"
STACK_FLAGS = {"-fstack-protector-strong": "-fno-stack-protector",
               "-fstack-clash-protection": "-fno-stack-clash-protection"}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def taken(nm, path):
    """Returns the names that a file imports when it is loaded."""
    return {line.split()[-1].split("@")[0]
            for line in run(nm, "-D", "--undefined-only", path).splitlines()}


def check_layout(readelf, path):
    dynamic, segments = run(readelf, "-dW", path), run(readelf, "-lW", path)
    faults = []
    if not re.search(r"\(FLAGS\).*\bBIND_NOW\b|\(FLAGS_1\).*\bNOW\b|\(BIND_NOW\)", dynamic):
        faults.append("binds functions when they are first called")
    if not re.search(r"^\s*GNU_RELRO\s", segments, re.M):
        faults.append("leaves relocated pointers writable")
    stack = re.search(r"^\s*GNU_STACK\s+(?:0x[0-9a-f]+\s+){5}([RWE ]+?)\s+(?:0x|0$)", segments, re.M)
    if not stack or "E" in stack.group(1):
        faults.append("has a stack that may hold code")
    return faults


def check_guards(how, names):
    if how == "off":
        return ["guards its stack"] if GUARD in names else []
    faults = [] if GUARD in names else ["guards no stack"]
    if how == "fortified" and not any(re.fullmatch(r"__\w+_chk", name) for name in names):
        faults.append("calls the C library without sizes of buffers")
    return faults


def check_kernels(nm, archive):
    lines = [line for line in run(nm, "-A", archive).splitlines() if "ggufx_kernels_" in line]
    faults = [f"guards its stack: {line.split(':')[-2]}" for line in lines if GUARD in line]
    return faults if lines else [f"{archive} has no kernel objects"]


def check_commands(build):
    """For kernels the last flag of each kind disables it. Protectors of large frames leave no symbol, so the commands
    are checked."""
    faults = []
    for entry in json.loads(pathlib.Path(build, "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        if "ggufx_kernels_" not in entry.get("output", ""):
            continue
        for flag, without in STACK_FLAGS.items():
            given = [word for word in words if word in (flag, without)]
            if given and given[-1] == flag:
                faults.append(f"{entry['output']} is compiled with {flag}")
    return faults


def main():
    how, nm, readelf, build, core, *files = sys.argv[1:]
    faults = check_kernels(nm, core) + check_commands(build)
    for path in files:
        found = check_guards(how, taken(nm, path))
        if how != "off":
            found += check_layout(readelf, path)
        faults += [f"{path}: {fault}" for fault in found]
    public.finish(f"files, hardening {how}", faults, len(files))


main()
