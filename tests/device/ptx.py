"""Rounding in the kernels' PTX: every float operation names its rounding mode, nothing is flushed to zero, and rows
are loaded 16 bytes at a time. With ptxas, kernels of some types are checked for register spills.

usage: ptx.py KERNELS.ptx
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import shutil
import subprocess
import sys

# Operations that round have ".rn"; neg, abs, mov, setp, selp and f16 to f32 are exact.
ROUNDED = re.compile(r"^(?:@\S+\s+)?((?:add|sub|mul|mad|fma|div|sqrt|rcp|cvt)\.\S*f32\S*)")
KERNELS = re.compile(r"\.visible \.entry (\w+)\(")
DOTS = re.compile(r"dots")


def faults_of(module):
    name = module.split("\n", 1)[0].removeprefix("// ")
    faults = [f"{name}: {line}" for line in module.splitlines()
              if ".ftz" in line or ".approx" in line or re.search(r"\.f64\b", line) and not line.startswith("mov")]
    rounded = [m.group(1) for line in module.splitlines() for m in [ROUNDED.match(line.strip())] if m]
    # Conversions from f32 to integers round nothing that a kernel depends on; kernels round by adding.
    faults += [f"{name}: {op}" for op in rounded if ".rn." not in op + "." and op != "cvt.f32.f16"]
    if name != "columns":
        if not any(op.startswith("fma.rn.f32") for op in rounded):
            faults.append(f"{name}: no fma")
        if "cp.async.cg.shared.global" not in module or ", 16;" not in module:
            faults.append(f"{name}: rows are not copied 16 bytes at a time")
        if "cp.async.ca" in module:
            faults.append(f"{name}: a copy that is not of 16 bytes")
    return faults, len(rounded), len(KERNELS.findall(module))


def spills_of(ptxas, module):
    name = module.split("\n", 1)[0].removeprefix("// ")
    if name not in ("Q4_0", "Q4_K", "Q6_K", "IQ3_S", "F16"):
        return []
    result = subprocess.run([ptxas, "-v", "-arch=sm_90", "-o", "/dev/null", "/dev/stdin"], input=module,
                            capture_output=True, text=True)
    if result.returncode != 0:
        return [f"{name}: {result.stderr[:300]}"]
    return [f"{name}: {n} bytes are spilled" for n in re.findall(r"(\d+) bytes spill", result.stderr) if n != "0"]


def main():
    modules = pathlib.Path(sys.argv[1]).read_bytes().decode().split("\0")[:-1]
    checked = [faults_of(module) for module in modules]
    faults = [fault for some, _, _ in checked for fault in some]
    ptxas = shutil.which("ptxas")
    faults += [fault for module in modules if ptxas for fault in spills_of(ptxas, module)]
    n_operations, n_kernels = sum(c[1] for c in checked), sum(c[2] for c in checked)
    if len(modules) < 29 or n_kernels < 300 or n_operations < 3000:
        faults.append("modules are missing")
    print("\n".join(faults[:20]))
    print(f"{len(modules)} modules, {n_kernels} kernels, {n_operations} operations, {len(faults)} faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
