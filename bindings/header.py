"""The public headers in the words of each binding: what check.py compares and README.md tells.

SPDX-License-Identifier: MIT
"""
import keyword
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/abi"))
import public  # noqa: E402

CALLBACK = re.compile(r"^(.*?)\(\*(\w+)\)\((.*)\)$")
ARRAY = re.compile(r"^(.*?)(\w+)\[(\w+)\]$")
PLAIN = re.compile(r"^(.*?)(\w+)$")
# Names that are words of C# or Rust.
RESERVED = {word: word + "_" for word in (
    "as", "base", "checked", "event", "fixed", "in", "is", "lock", "object", "out", "params", "ref",
    "string", "type")}


def split_top(text):
    """'a, void (*f)(b, c)' -> ['a', 'void (*f)(b, c)']"""
    parts, depth, part = [], 0, ""
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return [p for p in [*parts, part.strip()] if p and p != "void"]


def parse(declaration):
    """(C type, name, array length or '', callback parameters or None)"""
    declaration = " ".join(declaration.split())
    if match := CALLBACK.match(declaration):
        return match.group(1).strip(), match.group(2), "", split_top(match.group(3))
    if match := ARRAY.match(declaration):
        return match.group(1).strip(), match.group(2), match.group(3), None
    match = PLAIN.match(declaration)
    return match.group(1).strip(), match.group(2), "", None


# ---- constants -----------------------------------------------------------------------------------

def constants(include):
    """Name -> value of every enumerator and numeric macro."""
    found = {}
    for path in public.header_paths(include):
        text = public.COMMENT.sub("", path.read_text(encoding="utf-8"))
        for body in re.findall(r"\benum \{(.*?)\};", text, re.S):
            found.update({m[0]: int(m[1]) for m in re.findall(r"(GGUFX_\w+) = (-?\d+)", body)})
        for name, value in re.findall(r"^#define (GGUFX_\w+) (0x[0-9a-f]+|\d+)u?[ \t]*$", text,
                                      re.M):
            found[name] = int(value, 0)
    return found


# ---- Rust ----------------------------------------------------------------------------------------

RUST = {"int8_t": "i8", "int16_t": "i16", "int32_t": "i32", "int64_t": "i64", "uint8_t": "u8",
        "uint16_t": "u16", "uint32_t": "u32", "uint64_t": "u64", "size_t": "usize",
        "float": "f32", "double": "f64", "void": "c_void", "char": "c_char"}


def rust_type(c):
    """'const float *' -> '*const f32': each star wraps what stands left of it."""
    tokens = re.findall(r"\*|const|\w+", c.replace("struct ", ""))
    base_const = tokens[0] == "const"
    base = [t for t in tokens if t not in ("const", "*")][0]
    result, rest = RUST.get(base, base), tokens[tokens.index(base) + 1:]
    const = base_const
    for i, token in enumerate(rest):
        if token == "*":
            result = ("*const " if const else "*mut ") + result
            const = i + 1 < len(rest) and rest[i + 1] == "const"
    return result


def rust_parameter(declaration):
    c, name, length, callback = parse(declaration)
    name = name + "_" if name in ("as", "box", "fn", "in", "match", "move", "ref", "type") else name
    if callback is not None:
        inner = ", ".join(rust_parameter(p) for p in callback)
        result = "" if c == "void" else f" -> {rust_type(c)}"
        return f"{name}: Option<unsafe extern \"C\" fn({inner}){result}>"
    if length:
        number = {"GGUFX_MAX_DIMS": "4"}.get(length, length)
        return f"{name}: [{rust_type(c)}; {number}]"
    return f"{name}: {rust_type(c)}"


def rust_function(prototype):
    inner = ", ".join(rust_parameter(p) for p in split_top(prototype.parameters))
    result = "" if prototype.result == "void" else f" -> {rust_type(prototype.result)}"
    return f"fn {prototype.name}({inner}){result};"


def rust_struct(name, body):
    fields = "".join(f" pub {rust_parameter(f)}," for f in body.split(";") if f.strip())
    return f"pub struct {name} {{{fields} }}"


# ---- C# ------------------------------------------------------------------------------------------

SHARP = {"int8_t": "sbyte", "int16_t": "short", "int32_t": "int", "int64_t": "long",
         "uint8_t": "byte", "uint16_t": "ushort", "uint32_t": "uint", "uint64_t": "ulong",
         "size_t": "UIntPtr", "float": "float", "double": "double", "void": "void",
         "char": "byte", "ggufx_status": "int"}


def camel(c_name):
    """ggufx_runtime_options -> RuntimeOptions"""
    return "".join(w.capitalize() for w in c_name.removeprefix("ggufx_").split("_"))


def sharp_type(c, handles, in_struct):
    """Pointers stay pointers; an object is its SafeHandle, but an address inside of a struct."""
    tokens = re.findall(r"\*|\w+", c.replace("const", "").replace("struct ", ""))
    base, stars = tokens[0], tokens.count("*")
    if base in handles:
        if in_struct or stars > 2:
            return "IntPtr" + "*" * (stars - 1)
        if stars == 2:
            return "IntPtr*" if "*const *" in c else f"out {camel(base)}Handle"
        return f"{camel(base)}Handle"
    if base.startswith("ggufx_") and base not in SHARP:
        return "Native" + camel(base) + "*" * stars
    return SHARP[base] + "*" * stars


def sharp_parameter(declaration, handles):
    c, name, _, callback = parse(declaration)
    name = RESERVED.get(name, name)
    return f"IntPtr {name}" if callback is not None else f"{sharp_type(c, handles, False)} {name}"


def sharp_function(prototype, handles):
    if prototype.name.endswith("_destroy"):
        parameters = "IntPtr handle"
    else:
        parameters = ", ".join(sharp_parameter(p, handles) for p in split_top(prototype.parameters))
    result = sharp_type(prototype.result, handles, True)
    return f"internal static extern {result} {prototype.name}({parameters});"


def sharp_field(declaration, handles):
    c, name, length, callback = parse(declaration)
    name = RESERVED.get(name, name)
    if callback is not None:
        return f"IntPtr {name};"
    kind = sharp_type(c, handles, True)
    if length:
        number = {"GGUFX_MAX_DIMS": "4"}.get(length, length)
        return f"fixed {kind} {name}[{number}];"
    return f"{kind} {name};"


def sharp_struct(name, body, handles):
    fields = "".join(f" internal {sharp_field(f, handles)}" for f in body.split(";") if f.strip())
    word = "unsafe struct" if "*" in fields or "fixed" in fields else "struct"
    return f"internal {word} Native{camel(name)} {{{fields} }}"


def handles(include):
    """Names of the opaque objects."""
    found = set()
    for path in public.header_paths(include):
        found.update(re.findall(r"typedef struct (ggufx_\w+) \1;", path.read_text()))
    return found


# ---- Python --------------------------------------------------------------------------------------

PYTHON = {"int8_t": "c_int8", "int16_t": "c_int16", "int32_t": "c_int32", "int64_t": "c_int64",
          "uint8_t": "c_uint8", "uint16_t": "c_uint16", "uint32_t": "c_uint32",
          "uint64_t": "c_uint64", "size_t": "c_size_t", "float": "c_float", "double": "c_double",
          "char": "c_char", "ggufx_status": "c_int32"}


def python_type(c):
    """A pointer is an address; a text that a call returns ends with NUL."""
    return "c_void_p" if "*" in c else PYTHON[c.replace("const", "").strip()]


def python_parameter(declaration, handles):
    """An object is named: ctypes refuses others in its place."""
    c, _, _, callback = parse(declaration)
    base = re.sub(r"const|[ *]", "", c)
    if base in handles and c.count("*") == 1:
        return f'"{base}"'
    return "c_void_p" if callback is not None else python_type(c)


def python_result(c):
    """Its ctypes type, and the type for a type checker."""
    if c == "void":
        return "None", "None"
    if c == "const char *":
        return "c_char_p", "bytes | None"
    return python_type(c), "int | None" if "*" in c else "int"


def python_field(declaration):
    """(name, ctypes type, type to a checker)"""
    c, name, length, callback = parse(declaration)
    name = name + "_" if keyword.iskeyword(name) else name
    kind = "c_void_p" if callback is not None else python_type(c)
    if length:
        number = {"GGUFX_MAX_DIMS": "4"}.get(length, length)
        return name, f"{kind} * {number}", "bytes" if kind == "c_char" else "Array[Any]"
    if kind == "c_void_p":
        return name, kind, "int | None"
    return name, kind, "float" if kind in ("c_float", "c_double") else "int"
