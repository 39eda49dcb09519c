"""Compiles the kernels of each type to PTX and writes the zero-terminated texts one after the other, with a table.

usage: kernels.py COMPILER SRC KERNELS.ptx TABLE.inc DATA.S DEPFILE
       kernels.py --try COMPILER SRC     exit 1 if COMPILER cannot compile to PTX
COMPILER is NVIDIA's if its name starts with nvcc, else clang. Types are those of formats.def that can be
multiplied.
SPDX-License-Identifier: MIT
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SEGMENT, FLOATS = 512, 512  # kSegmentValues and kFloatBytes of arguments.hpp
HERE = pathlib.Path(__file__).resolve().parent
# No contraction: the kernel source defines every rounding. No flush to zero. clang uses only the project's headers.
CLANG = ["-x", "cuda", "-nocudainc", "-nocudalib", "--cuda-gpu-arch=sm_80", "--cuda-device-only", "-S", "-O3",
         "-std=c++20", "-ffp-contract=off", "-fno-exceptions", "-Wall", "-Wextra", "-Werror",
         "-Wno-unknown-cuda-version"]
NVCC = ["-x", "cu", "-ptx", "-arch=compute_80", "-O3", "-std=c++20", "--fmad=false", "--ftz=false", "--prec-div=true",
        "--prec-sqrt=true", "--expt-relaxed-constexpr"]
# PTX version that drivers since CUDA 11 accept; nvcc writes its own version, which only new drivers accept.
# tests/device/ptx.py checks the texts against it with ptxas, if installed.
VERSION = ".version 7.0"
# Hint of newer PTX versions: the bytes of a load that are used.
HINT = '.pragma "used_bytes_mask'


def multiplied(formats):
    """(name, is a float, values, bytes) of the types in formats.def."""
    rows = re.findall(r"^X\((\w+), *\d+, *\"[^\"]*\", *(\d+), *(\d+), *(\w+)", formats.read_text(), re.M)
    return [(name, kind == "Float", int(values), int(n_bytes)) for name, values, n_bytes, kind in rows
            if kind in ("Quantized", "Float") and name != "F64"]


def run(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{result.stdout}{result.stderr}")
    return result.stdout


def compile_module(compiler, src, name, is_float, n_bytes):
    border = min(n_bytes & -n_bytes, 16)
    defines = [f"-DTYPE={name}", f"-DFLOATS={int(is_float)}", f"-DBLOCK_BORDER={border}"] if name else []
    inputs = [*defines, f"-I{src}", str(HERE / "module.cu"), "-o"]
    if pathlib.Path(compiler).name.startswith("nvcc"):
        with tempfile.TemporaryDirectory() as folder:
            text = pathlib.Path(folder) / "module.ptx"
            run([compiler, *NVCC, *inputs, str(text)])
            ptx = text.read_text()
    else:
        ptx = run([compiler, *CLANG, *inputs, "-"])
    # nvcc's symbol names contain a hash of the folder; a module has one file.
    ptx = re.sub(r"_GLOBAL__N__[0-9a-f]{8}_", "_GLOBAL__N__00000000_", ptx)
    # Drivers need no comments and blank lines.
    lines = [line.strip() for line in ptx.splitlines()]
    kept = [VERSION if line.startswith(".version ") else line for line in lines
            if line and not line.startswith(("//", HINT))]
    return "\n".join([f"// {name or 'columns'}", *kept]) + "\n"


def main():
    if sys.argv[1] == "--try":
        compile_module(sys.argv[2], pathlib.Path(sys.argv[3]), None, False, 0)
        return
    compiler = sys.argv[1]
    src, texts, table, data, depfile = map(pathlib.Path, sys.argv[2:7])
    formats, lanes = src / "formats/formats.def", src / "plugins/lanes"
    every = [(None, False, 1, 0), *multiplied(formats)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        compiled = list(pool.map(lambda m: compile_module(compiler, src, m[0], m[1], m[3]), every))
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


if __name__ == "__main__":
    main()
