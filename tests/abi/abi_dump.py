"""Compares the binary interface with the stored dumps in dumps/. The dumps have the headers' declarations, compiled
for each architecture with debug information, and the library's exports. New functions are allowed; a removed
function or a changed type is a fault. Each version renews the dumps.

The library's own debug information would show the internals of its objects, which are not the interface.
symbols.py checks that headers, symbols.txt and library have the same functions.

usage: abi_dump.py --renew                     write dumps/ARCH.abi for all architectures
       abi_dump.py WORKDIR LIBRARY LIBRARY_ARCH    compare (exit 77: no abidiff)
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import shutil
import subprocess
import sys

import public

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COMPILERS = {"x86_64": "x86_64-linux-gnu-gcc", "aarch64": "aarch64-linux-gnu-gcc"}


def compiler_of(arch):
    """Returns a compiler for the architecture, or None."""
    if shutil.which(COMPILERS[arch]):
        return COMPILERS[arch]
    native = subprocess.run(["cc", "-dumpmachine"], capture_output=True, text=True).stdout
    return "cc" if native.startswith(arch) else None


def build(compiler, include, work):
    """Builds a library of empty functions with the headers' prototypes."""
    work.mkdir(parents=True, exist_ok=True)
    source, library = work / "interface.c", work / "interface.so"
    lines = ["#include <ggufx/ggufx.h>\n"]
    for p in public.interface.load(include).functions:
        body = "" if p.result == "void" else "return 0; "
        lines.append(f"{p.result} {p.name}({p.signature}) {{ {body}}}\n")
    source.write_text("".join(lines))
    subprocess.run([compiler, "-g", "-O0", "-w", "-fPIC", "-shared", "-nostdlib",
                    "-Wl,-soname,libggufx.so.0", f"-Wl,--version-script={ROOT}/src/abi/ggufx.map",
                    f"-I{include}", "-o", str(library), str(source)], check=True)
    return library


def dump(library, path):
    """Dumps the interface without paths of this machine."""
    subprocess.run(["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs",
                    "--type-id-style", "hash", "--no-parameter-names", "--out-file", str(path),
                    str(library)], check=True)
    text = path.read_text()
    text = re.sub(r" path='[^']*'", "", text)
    path.write_text(text)


def changes(dump_path, library):
    """Returns the changes of functions and types that abidiff reports, '' for none."""
    result = subprocess.run(["abidiff", "--no-added-syms", str(dump_path), str(library)],
                            capture_output=True, text=True)
    if result.returncode & 3:  # error, usage
        sys.exit(f"abidiff {dump_path.name}: {result.stdout}{result.stderr}")
    return result.stdout if result.returncode else ""


def without_debug(library, work):
    """Returns a copy without debug information, which would show the internals of objects."""
    work.mkdir(parents=True, exist_ok=True)
    copy = work / "library.so"
    subprocess.run(["objcopy", "--strip-debug", library, str(copy)], check=True)
    return copy


def renew():
    (HERE / "dumps").mkdir(exist_ok=True)
    work = pathlib.Path("/tmp/ggufx-abi-dump")
    for arch in COMPILERS:
        compiler = compiler_of(arch) or sys.exit(f"no compiler for {arch}")
        dump(build(compiler, ROOT / "include", work / arch), HERE / "dumps" / f"{arch}.abi")
    shutil.rmtree(work)


def changed_headers(work, header, old, new):
    """Copies the headers with one change."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(ROOT / "include", work)
    path = work / "ggufx" / header
    text = path.read_text()
    if not re.search(old, text, re.S):
        sys.exit(f"{header} has no {old}")
    path.write_text(re.sub(old, new, text, count=1, flags=re.S))
    return work


# Header, old text, new text, whether the change must be found.
CHANGES = [
    ("base.h", r"GGUFX_API const char \*ggufx_version\(void\);", "", True),
    ("file.h", r"(\} ggufx_file_facts;)", r"    uint64_t more;\n\1", True),
    ("kv.h", r"(uint32_t n_layers;)", r"uint32_t before;\n    \1", True),
    ("types.h", r"(ggufx_type_row_bytes\(uint64_t \*out, ggufx_type type, )uint64_t", r"\1uint32_t", True),
    ("matmul.h", r"(ggufx_matvec\()float \*y", r"\1double *y", True),
    ("base.h", r"(GGUFX_API uint32_t ggufx_abi_version)", r"GGUFX_API int32_t ggufx_new(void);\n"
     r"/* A copy of the contract.   Threads: any.   Since: 0.1. */\n\1", False),
]


def check_the_check(arch, compiler, dump_path, work):
    """Tests this check: each of a few changes to the headers must be found, or must not."""
    faults = []
    for header, old, new, found in CHANGES:
        include = changed_headers(work / "include", header, old, new)
        said = changes(dump_path, build(compiler, include, work))
        if bool(said) != found:
            faults.append(f"{arch}: {header} with {new or 'nothing'} for {old}: {said or 'not seen'}")
    return faults


def main():
    if sys.argv[1:] == ["--renew"]:
        return renew()
    work, library, library_arch = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    if not shutil.which("abidiff"):
        print("skipped: abidiff (abigail-tools) is not installed")
        sys.exit(77)
    faults, checked = [], 0
    for arch in COMPILERS:
        dump_path, compiler = HERE / "dumps" / f"{arch}.abi", compiler_of(arch)
        if arch == library_arch and (said := changes(dump_path, without_debug(library, work))):
            faults.append(f"{arch}, the library: {said}")
        if not compiler:
            print(f"{arch}: no compiler, types not compared")
            continue
        checked += 1
        if said := changes(dump_path, build(compiler, ROOT / "include", work / arch)):
            faults.append(f"{arch}, the headers: {said}")
        faults += check_the_check(arch, compiler, dump_path, work / (arch + "-changed"))
    if faults:
        print("after a change that is meant: tests/abi/abi_dump.py --renew")
    public.finish("stored dumps", faults, checked)


main()
