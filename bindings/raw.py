"""Writes, or compares, the committed files that repeat the public headers: ggufx/loader.h, and the declarations,
structs, constants and safe layers of the bindings.

usage: raw.py [--write]     (without: exit 1 when a file differs)
SPDX-License-Identifier: MIT
"""
import pathlib
import re
import sys
import textwrap

import gen_csharp
import gen_go
import gen_go_words
import gen_python
import gen_rust
import interface
import languages
import layout
import loader
import surface

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parent / "include"
API = interface.load(INCLUDE)
OBJECTS, STRUCTS = sorted(API.objects), API.structs.values()
CONSTANTS = {name: c.value for name, c in API.constants.items() if name != "GGUFX_NONE"}  # NONE has 64 bits
ENUMERATIONS = API.enumerations.values()
ENUMERATION_OF = {c.name: e for e in ENUMERATIONS for c in e.constants}
PLAIN = [(name, value) for name, value in CONSTANTS.items() if name not in ENUMERATION_OF]
GENERATORS = [gen_csharp, gen_go, gen_python, gen_rust]  # of the safe layers
NOTE = "// Written by bindings/raw.py from include/ggufx; a test compares them.\n" \
       "// SPDX-License-Identifier: MIT\n"


def wrap(line, indent):
    """Break a long declaration at its commas."""
    return "\n".join(textwrap.wrap(line, 100, initial_indent=indent,
                                   subsequent_indent=indent + "    ", break_long_words=False,
                                   break_on_hyphens=False))


def words(member):
    """NOT_FOUND -> NotFound"""
    return "".join(w[:1] + w[1:].lower() for w in member.split("_"))


def summary(e):
    """The first sentence of its comment."""
    return re.split(r"[.:](?:\s|$)", " ".join(e.comment.split()))[0]


# ---- Rust ----------------------------------------------------------------------------------------

def rust_functions():
    lines = [wrap(languages.rust_function(p), "    ") for p in API.functions]
    return NOTE + "use crate::*;\n\nfunctions! {\n" + "\n".join(lines) + "\n}\n"


def rust_struct_text(s):
    wrapped = "\n".join(wrap(f"pub {languages.rust_parameter(m)},", "    ") for m in s.members)
    return f"#[repr(C)]\n#[derive(Clone, Copy, Debug)]\npub struct {s.name} {{\n{wrapped}\n}}\n"


def rust_structs():
    texts = [rust_struct_text(s) for s in STRUCTS]
    objects = "".join(
        f"#[repr(C)]\npub struct {n} {{\n    _opaque: [u8; 0],\n"
        "    _marker: PhantomData<(*mut u8, PhantomPinned)>,\n}\n\n"
        for n in OBJECTS)
    sizes = "".join(f"    (\"{s.name}\\0\", size_of::<{s.name}>()),\n" for s in STRUCTS)
    return (NOTE + "use crate::{c_char, ggufx_status};\nuse core::ffi::c_void;\n"
            "use core::marker::{PhantomData, PhantomPinned};\nuse core::mem::size_of;\n\n" +
            objects + "\n".join(texts) +
            "\n/// Each struct's C name, NUL-terminated, and its size here.\n"
            f"pub const SIZES: [(&str, usize); {len(STRUCTS)}] = [\n{sizes}];\n")


def rust_integer(name):
    if name in ENUMERATION_OF:
        return languages.RUST[ENUMERATION_OF[name].type]
    return "usize" if "MAX_" in name else "u32"


def rust_constants():
    lines = [f"pub const {n}: {rust_integer(n)} = {v};\n" for n, v in CONSTANTS.items()]
    return NOTE + "pub const GGUFX_NONE: u64 = u64::MAX;\n" + "".join(lines)


def rust_ids():
    text = NOTE + "use crate::id::{bits, id};\nuse ggufx_sys as sys;\n"
    for e in ENUMERATIONS:
        lines = "".join(f"    {m} = {c.name},\n" for m, c in e.members())
        text += (f"\n{'bits' if e.is_flags else 'id'}! {{\n    /// {summary(e)} (`{e.name}`).\n"
                 f"    {e.title}: {languages.RUST[e.type]}\n{lines}}}\n")
    return text


# ---- C# ------------------------------------------------------------------------------------------

USING = "using System;\nusing System.Runtime.InteropServices;\n\nnamespace Ggufx\n{\n"


def sharp_functions():
    lines = ["        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]\n" +
             wrap(languages.sharp_function(p, OBJECTS), "        ")
             for p in API.functions]
    return (NOTE + USING + "    internal static unsafe partial class NativeMethods\n    {\n" +
            "\n".join(lines) + "\n    }\n}\n")


def sharp_structs():
    texts = []
    for s in STRUCTS:
        fields = "".join(f"        internal {languages.sharp_field(m, OBJECTS)}\n" for m in s.members)
        texts.append("    [StructLayout(LayoutKind.Sequential)]\n    internal unsafe struct "
                     f"Native{languages.camel(s.name)}\n    {{\n{fields}    }}\n")
    sizes = "".join(f"            {{ \"{s.name}\", sizeof(Native{languages.camel(s.name)}) }},\n"
                    for s in STRUCTS)
    return (NOTE + "#pragma warning disable 169, 649\nusing System.Collections.Generic;\n" + USING +
            "\n".join(texts) +
            "\n    internal static unsafe class NativeSizes\n    {\n"
            "        internal static readonly Dictionary<string, int> All = "
            "new Dictionary<string, int>\n        {\n" + sizes + "        };\n    }\n}\n")


def sharp_handles():
    """Every object's SafeHandle, but a tensor's, which may be borrowed."""
    texts = [
        f"    internal sealed class {languages.camel(n)}Handle : LibraryHandle\n"
        f"    {{\n        internal static readonly {languages.camel(n)}Handle None = new {languages.camel(n)}Handle();\n\n"
        f"        private {languages.camel(n)}Handle() {{ }}\n\n"
        f"        protected override void Destroy() {{ NativeMethods.{n}_destroy(handle); }}\n"
        "    }\n" for n in OBJECTS if n != "ggufx_tensor"]
    return (NOTE + "\nnamespace Ggufx\n{\n" + "\n".join(texts) +
            "}\n")


# ---- Go ------------------------------------------------------------------------------------------

def go_constants():
    text = gen_go_words.NOTE + "\npackage ggufx\n"
    for e in ENUMERATIONS:
        kind = gen_go_words.words(e.title)
        rows = [(gen_go_words.constant(e.title, m), c.value) for m, c in e.members()]
        width = max(len(r[0]) for r in rows)
        lines = "".join(f"\t{n:<{width}} {kind} = {v}\n" for n, v in rows)
        text += f"\n// {kind}: {summary(e)}.\ntype {kind} {e.type.removesuffix('_t')}\n\nconst (\n{lines})\n"
    rows = [(gen_go_words.words(n.removeprefix("GGUFX_")), v) for n, v in PLAIN]
    width = max(len(r[0]) for r in rows)
    lines = "".join(f"\t{n:<{width}} = {v}\n" for n, v in rows)
    return text + f"\n// Numbers with a meaning of their own.\nconst (\n{lines})\n"


# ---- Python --------------------------------------------------------------------------------------

PYTHON_NOTE = NOTE.replace("// ", "# ")


def python_struct(s):
    fields = [languages.python_field(m) for m in s.members]
    types = "".join(f"    {n}: {hint}\n" for n, _, hint in fields)
    rows = "".join(f'        ("{n}", {kind}),\n' for n, kind, _ in fields)
    base = "Structure" if s.name.endswith("_facts") or s.name == "ggufx_error" else "Checked"
    return f"class {s.name}({base}):\n{types}    _fields_ = [\n{rows}    ]\n"


def python_raw():
    hints, rows = "", ""
    for p in API.functions:
        result, hint = languages.python_result(p.result)
        parameters = [languages.python_parameter(d, OBJECTS) for d in p.parameters]
        hints += f"    {p.name}: Callable[..., {hint}]\n"
        rows += wrap(f'"{p.name}": ({result}, [{", ".join(parameters)}]),', "    ") + "\n"
    names = sorted({t for p in API.functions for d in p.parameters
                    for t in [languages.python_parameter(d, OBJECTS)] if t[0] != '"'} |
                   {languages.python_result(p.result)[0] for p in API.functions} - {"None"} |
                   {languages.python_field(m)[1].split()[0] for s in STRUCTS for m in s.members}
                   - {s.name for s in STRUCTS})
    imports = wrap("from ctypes import (" + ", ".join(["Array", "Structure", *names]) + ")", "")
    texts = "\n\n".join(python_struct(s) for s in STRUCTS)
    every = "".join(f"    {s.name},\n" for s in STRUCTS)
    return (PYTHON_NOTE + "from __future__ import annotations\n\n" + imports +
            "\nfrom typing import Any, Callable\n\nfrom ._checked import Checked\n\n\n" + texts +
            f"\n\nSTRUCTS: list[type[Structure]] = [\n{every}]\n"
            f"\n\nclass Functions:\n{hints}"
            f"\n\nPROTOTYPES: dict[str, tuple[Any, list[Any]]] = {{\n{rows}}}\n")


def python_ids():
    text = PYTHON_NOTE + "from enum import IntFlag as _Flags\n\nfrom ._enum import Id as _Id\n"
    for e in ENUMERATIONS:
        lines = "".join(f"    {m} = {c.value}\n" for m, c in e.members())
        text += (f"\n\nclass {e.title}({'_Flags' if e.is_flags else '_Id'}):\n"
                 f'    """{summary(e)}."""\n\n{lines}')
    return text + "\n\n# Numbers with a meaning of their own.\n" + "".join(
        f"{n.removeprefix('GGUFX_')} = {v}\n" for n, v in PLAIN)


FILES = {
    "include/ggufx/loader.h": lambda: loader.header(API),
    "src/abi/layout.def": lambda: layout.header(API),
    "tests/abi/symbols.txt": lambda: "".join(sorted(f"{f.name}\n" for f in API.functions)),
    "bindings/python/ggufx/_raw.py": python_raw,
    "bindings/python/ggufx/ids.py": python_ids,
    "bindings/rust/ggufx-sys/src/functions.rs": rust_functions,
    "bindings/rust/ggufx-sys/src/structs.rs": rust_structs,
    "bindings/rust/ggufx-sys/src/constants.rs": rust_constants,
    "bindings/rust/ggufx/src/ids.rs": rust_ids,
    "bindings/csharp/src/NativeMethods.Functions.cs": sharp_functions,
    "bindings/csharp/src/NativeStructs.cs": sharp_structs,
    "bindings/csharp/src/NativeHandles.cs": sharp_handles,
    "bindings/go/ids.go": go_constants,
}
for generator in GENERATORS:
    FILES.update(generator.files(surface.read(API)))  # of its own: writers mark calls


def differences():
    """The committed files that are not what the headers give."""
    for path, make in FILES.items():
        file = HERE.parent / path
        if not file.is_file() or file.read_text(encoding="utf-8") != make():
            yield f"{path} differs from the headers: python3 bindings/raw.py --write"


def main():
    if "--write" in sys.argv:
        for path, make in FILES.items():
            (HERE.parent / path).write_text(make(), encoding="utf-8")
    else:
        sys.exit("\n".join(differences()) or 0)


if __name__ == "__main__":
    main()
