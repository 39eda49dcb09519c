"""The CUDA kernels compile for AMD GPUs from the same source, if clang supports that, and keep subnormal numbers.

usage: hip.py CLANG SRC        (exit 77: CLANG does not compile for them)
GGUFX_TEST_STEP above one: each type for one GPU, in turn.
SPDX-License-Identifier: MIT
"""
import os
import pathlib
import shutil
import subprocess
import sys

FLAGS = ["-x", "hip", "-nogpuinc", "-nogpulib", "--cuda-device-only", "-S", "-O2", "-std=c++20",
         "-ffp-contract=off", "-fno-exceptions", "-Wall", "-Wextra", "-Werror", "-o", "-"]
CARDS = ["gfx90a", "gfx1030"]
TYPES = [None, ("Q4_0", 0), ("Q4_K", 0), ("Q6_K", 0), ("IQ2_XS", 0), ("NVFP4", 0), ("F16", 1)]


def compile_for(clang, src, card, kind, text=None):
    defines = [f"-DTYPE={kind[0]}", f"-DFLOATS={kind[1]}"] if kind else []
    source = ["-"] if text is not None else [str(src / "plugins/cuda/module.cu")]
    return subprocess.run([clang, *FLAGS, f"--offload-arch={card}", *defines, f"-I{src}", *source],
                          input=text, capture_output=True, text=True)


def main():
    clang, src = sys.argv[1], pathlib.Path(sys.argv[2])
    if not shutil.which(clang) or compile_for(clang, src, CARDS[0], None, "int nothing;\n").returncode != 0:
        print("this clang compiles nothing for AMD's cards")
        sys.exit(77)
    faults = []
    is_whole = int(os.environ.get("GGUFX_TEST_STEP", 1)) <= 1
    modules = [(card, kind) for c, card in enumerate(CARDS) for k, kind in enumerate(TYPES)
               if is_whole or (c + k) % len(CARDS) == 0]
    for card, kind in modules:
        result = compile_for(clang, src, card, kind)
        name = f"{card} {kind[0] if kind else 'columns'}"
        if result.returncode != 0:
            faults.append(f"{name}: {result.stderr[:1000]}")
        elif ".amdhsa_float_denorm_mode_32 3" not in result.stdout:
            faults.append(f"{name}: subnormal numbers are not kept")
    print("\n".join(faults))
    print(f"{len(modules)} modules, {len(faults)} faults")
    sys.exit(bool(faults))


main()
