"""Compiles the shaders to SPIR-V modules and writes them one after the other, with a table.

usage: shaders.py GLSLANG SRC BLOB.spv TABLE.inc DATA.S DEPFILE
Types are those of formats.def that can be multiplied.
SPDX-License-Identifier: MIT
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PACK, SUMS = ["pack8", "pack15"], ["sums"]
DOTS, CHAINS = ["dots8", "dots15", "dots_f32"], ["chains8", "chains15", "chains_f32"]
# Variants of modules: fma, with binary64, with int8 dot products. If fma takes more than one instruction, int8 dot
# products do not limit the speed. The self-test has all variants; the binary32 fma only on request, because it
# is half of the code that a driver compiles.
FMA = {"device": 0, "f64": 1, "f32": 2}
PRODUCTS = [("device", 0, 0), ("f64", 1, 0), ("f32", 0, 0)]
PRODUCTS_DOT = ("device", 0, 1)
ANY = [(None, f64, dot) for f64 in (0, 1) for dot in (0, 1)]

HERE = pathlib.Path(__file__).resolve().parent


def multiplied(formats):
    """(name, kind) of the types in formats.def."""
    rows = re.findall(r"^X\((\w+), *\d+, *\"[^\"]*\", *\d+, *\d+, *(\w+)", formats.read_text(), re.M)
    return [(name, kind) for name, kind in rows
            if kind in ("Quantized", "Float") and name != "F64"]


def modules(types):
    """(source, type or None, operations, variant) of each module."""
    out = [("probe", None, ["probe"], (fma, f64, dot)) for fma in ("device", "f32") for _, f64, dot in ANY]
    out.append(("columns", None, PACK + SUMS, ANY[0]))
    out.append(("read", None, ["read"], ANY[0]))
    for name, kind in types:
        if kind == "Float":
            out += [("floats", name, ["dots_f32", "chains_f32"], v) for v in PRODUCTS]
        else:
            out += [("blocks", name, DOTS + CHAINS, v) for v in [*PRODUCTS, PRODUCTS_DOT]]
    return out


def compile_module(folder, glslang, lanes, module, path):
    source, name, _, (fma, f64, dot) = module
    defines = ["-DFMA1=fma_device", f"-DPROBE_{fma.upper()}"] if source == "probe" else [f"-DFMA1=fma_{fma or 'device'}"]
    defines += ["-DWITH_F64"] * f64 + ["-DWITH_DOT"] * dot
    own = path.with_suffix("")  # folder of format.inc, which includes the lanes of the type
    if name:
        own.mkdir()
        (own / "format.inc").write_text(f'#include "{name.lower()}.inc"\n')
    command = [glslang, "-V", "--target-env", "vulkan1.2", "-g0", *defines, f"-I{lanes}",
               f"-I{folder}", f"-I{own}", str(folder / f"{source}.comp"), "-o", str(path)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{result.stdout}{result.stderr}")
    return path.read_bytes()


def main():
    glslang = sys.argv[1]
    src, blob, table, data, depfile = map(pathlib.Path, sys.argv[2:7])
    folder, lanes, formats = HERE / "shaders", src / "plugins/lanes", src / "formats/formats.def"
    every = modules(multiplied(formats))
    with tempfile.TemporaryDirectory() as work:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            codes = list(pool.map(
                lambda i: compile_module(folder, glslang, lanes, every[i],
                                         pathlib.Path(work) / f"{i}.spv"), range(len(every))))
    lines, at = [], 0
    for (_, name, operations, (fma, f64, dot)), code in zip(every, codes):
        bits = " | ".join(f"bit(Op::{o})" for o in operations)
        kind = f"GGUFX_TYPE_{name}" if name else "kAnyType"
        fmas = f"1u << {FMA[fma]}" if fma else "kAnyFma"
        lines.append(f"{{{kind}, {bits}, {fmas}, {'true' if f64 else 'false'}, "
                     f"{'true' if dot else 'false'}, ggufx_shaders + {at // 4}, {len(code)}}},\n")
        at += len(code)
    blob.write_bytes(b"".join(codes))
    table.write_text("".join(lines))
    data.write_text(f'''.section .rodata
.balign 16
.globl ggufx_shaders
.hidden ggufx_shaders
ggufx_shaders:
.incbin "{blob.resolve()}"
.section .note.GNU-stack,"",%progbits
''')
    read = [formats, *sorted(folder.iterdir()), *sorted(lanes.glob("*.inc")), pathlib.Path(__file__)]
    depfile.write_text(f"{blob}: " + " ".join(str(p) for p in read) + "\n")


main()
