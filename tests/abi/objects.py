"""Objects of the kernel archives and of the baseline.

Kernel objects export exactly one strong symbol, the table of a family (or those of families that share code), and
no weak or unique one: the linker could pick a template instance compiled with AVX-512 for the baseline path.
Baseline objects have no instruction beyond the baseline.

usage: objects.py NM OBJDUMP CORE_ARCHIVE (a thin archive: its members have their paths)
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import subprocess
import sys

import public

# Families in one object: their code for a format is the same.
TOGETHER = {"loops_gemm": 2, "avx512_vbmi_gemm": 2, "loops_f32": 3}
# Registers and instructions that baseline objects must not have, by objdump's name of the machine.
BEYOND_BASELINE = {
    "x86-64": re.compile(r"%[yz]mm\d|\bv(p|mov|add|mul|fma)\w*\s"),
    "i386": re.compile(r"%[yz]mm\d"),
    "aarch64": re.compile(r"\s([us]dot|[us]mmla)\s"),
}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def members(text):
    """Splits a tool's output over an archive into (path of the object, lines)."""
    name, lines = None, []
    for line in text.splitlines():
        match = re.match(r"(?:\S+\[)?(\S+\.o)\]?:(\s+file format.*)?$", line)
        if match:
            if name:
                yield name, lines
            name, lines = match.group(1), []
        else:
            lines.append(line)
    if name:
        yield name, lines


def check_kernels(nm, archive):
    faults, n = [], 0
    for member, lines in members(run(nm, "-f", "posix", "--defined-only", archive)):
        if "ggufx_kernels_" not in member:
            continue
        n += 1
        kinds = [line.split()[:2] for line in lines if len(line.split()) >= 2]
        strong = [name for name, kind in kinds if kind in "ABCDGRST"]
        loose = [name for name, kind in kinds if kind in "VvWwui"]
        tables = TOGETHER.get(pathlib.PurePath(member).name.removesuffix(".cpp.o"), 1)
        if len(strong) != tables:
            faults.append(f"{member} exports {len(strong)} symbols {strong}, not {tables}")
        faults += [f"{member} has the weak or unique symbol {s}" for s in loose]
    if not n:
        faults.append(f"{archive} has no kernel objects")
    return faults, n


def check_baseline(objdump, archive):
    faults, n = [], 0
    pattern = pattern_of(objdump, archive)
    for member, lines in members(run(objdump, "-d", "-C", "--no-show-raw-insn", archive)):
        if "ggufx_kernels_" in member and "ggufx_kernels_scalar" not in member:
            continue
        n += 1
        beyond, function = None, ""
        for line in lines:
            if line.endswith(">:"):
                function = line
            elif pattern.search(line):
                beyond = beyond or f"{function} {line.strip()}"
        if beyond:
            faults.append(f"{member}: beyond the baseline: {beyond}")
    return faults, n


def pattern_of(objdump, archive):
    machine = re.search(r"architecture: ([\w:-]+)", run(objdump, "-f", archive)).group(1)
    return BEYOND_BASELINE.get(machine.removeprefix("i386:"), re.compile(r"(?!)"))


def main():
    nm, objdump, core = sys.argv[1:]
    faults, n = check_baseline(objdump, core)
    more, m = check_kernels(nm, core)
    public.finish("objects", faults + more, n + m)


main()
