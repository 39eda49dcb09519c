"""Compiles the kernels of each type to PTX and writes the texts one after the other, each with a zero
behind it, and a table.

usage: kernels.py CLANG SRC KERNELS.ptx TABLE.inc DATA.S DEPFILE
       kernels.py --try CLANG SRC        exit 1 where CLANG compiles no PTX
Types are those of formats.def that can be multiplied.
SPDX-License-Identifier: MIT
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

SEGMENT, FLOATS = 512, 512  # kSegmentValues and kFloatBytes of arguments.hpp
HERE = pathlib.Path(__file__).resolve().parent
# No contraction: every rounding is in the text of the kernels. No headers but the project's.
FLAGS = ["-x", "cuda", "-nocudainc", "-nocudalib", "--cuda-gpu-arch=sm_80", "--cuda-device-only", "-S", "-O3",
         "-std=c++20", "-ffp-contract=off", "-fno-exceptions", "-Wall", "-Wextra", "-Werror",
         "-Wno-unknown-cuda-version"]


def multiplied(formats):
    """(name, is a float, values, bytes) of the types in formats.def."""
    rows = re.findall(r"^X\((\w+), *\d+, *\"[^\"]*\", *(\d+), *(\d+), *(\w+)", formats.read_text(), re.M)
    return [(name, kind == "Float", int(values), int(n_bytes)) for name, values, n_bytes, kind in rows
            if kind in ("Quantized", "Float") and name != "F64"]


def compile_module(clang, src, name, is_float):
    defines = [f"-DTYPE={name}", f"-DFLOATS={int(is_float)}"] if name else []
    command = [clang, *FLAGS, *defines, f"-I{src}", str(HERE / "module.cu"), "-o", "-"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{result.stderr}")
    # What drivers do not need: comments, blank lines.
    lines = [line.strip() for line in result.stdout.splitlines()]
    kept = [line for line in lines if line and not line.startswith("//")]
    return "\n".join([f"// {name or 'columns'}", *kept]) + "\n"


def main():
    if sys.argv[1] == "--try":
        compile_module(sys.argv[2], pathlib.Path(sys.argv[3]), None, False)
        return
    clang = sys.argv[1]
    src, texts, table, data, depfile = map(pathlib.Path, sys.argv[2:7])
    formats, lanes = src / "formats/formats.def", src / "plugins/lanes"
    every = [(None, False, 1, 0), *multiplied(formats)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        compiled = list(pool.map(lambda m: compile_module(clang, src, *m[:2]), every))
    lines, at = [], 0
    for (name, is_float, values, n_bytes), text in zip(every, compiled):
        kind = f"GGUFX_TYPE_{name}" if name else "kAnyType"
        lines.append(f"{{{kind}, ggufx_kernels + {at}, {len(text)}, {FLOATS if is_float else SEGMENT // values * n_bytes}}},\n")
        at += len(text) + 1
    texts.write_bytes(b"".join(text.encode() + b"\0" for text in compiled))
    table.write_text("".join(lines))
    data.write_text(f'''.section .rodata
.balign 16
.globl ggufx_kernels
.hidden ggufx_kernels
ggufx_kernels:
.incbin "{texts.resolve()}"
.section .note.GNU-stack,"",%progbits
''')
    read = [formats, *(p for p in sorted(HERE.iterdir()) if p.is_file()), *sorted(lanes.iterdir())]
    depfile.write_text(f"{texts}: " + " ".join(str(p) for p in read) + "\n")


main()
