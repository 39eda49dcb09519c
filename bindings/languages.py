"""Declarations of the public headers in the words of each binding, for raw.py.

SPDX-License-Identifier: MIT
"""
import keyword
import re

# Names that are words of C# or Rust.
RESERVED = {word: word + "_" for word in (
    "as", "base", "checked", "event", "fixed", "in", "is", "lock", "object", "out", "params", "ref",
    "string", "type")}


def elements(d):
    """The length of a fixed array as a number."""
    return {"GGUFX_MAX_DIMS": "4"}.get(d.array, d.array)


# ---- Rust ----------------------------------------------------------------------------------------

RUST = {"int8_t": "i8", "int16_t": "i16", "int32_t": "i32", "int64_t": "i64", "uint8_t": "u8",
        "uint16_t": "u16", "uint32_t": "u32", "uint64_t": "u64", "size_t": "usize",
        "float": "f32", "double": "f64", "void": "c_void", "char": "c_char"}


RUST_WORDS = {
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else", "enum", "extern",
    "false", "final", "fn", "for", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override",
    "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe",
    "unsized", "use", "virtual", "where", "while", "yield"}


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


def rust_name(name):
    return name + "_" if name in RUST_WORDS else name


def rust_parameter(d):
    name = rust_name(d.name)
    if d.parameters is not None:
        inner = ", ".join(rust_parameter(p) for p in d.parameters)
        result = "" if d.type == "void" else f" -> {rust_type(d.type)}"
        return f"{name}: Option<unsafe extern \"C\" fn({inner}){result}>"
    if d.array:
        return f"{name}: [{rust_type(d.type)}; {elements(d)}]"
    return f"{name}: {rust_type(d.type)}"


def rust_function(f):
    inner = ", ".join(rust_parameter(p) for p in f.parameters)
    result = "" if f.result == "void" else f" -> {rust_type(f.result)}"
    return f"fn {f.name}({inner}){result};"


# ---- C# ------------------------------------------------------------------------------------------

SHARP = {"int8_t": "sbyte", "int16_t": "short", "int32_t": "int", "int64_t": "long",
         "uint8_t": "byte", "uint16_t": "ushort", "uint32_t": "uint", "uint64_t": "ulong",
         "size_t": "UIntPtr", "float": "float", "double": "double", "void": "void",
         "char": "byte", "ggufx_status": "int"}


def camel(c_name):
    """ggufx_runtime_options -> RuntimeOptions"""
    return "".join(w.capitalize() for w in c_name.removeprefix("ggufx_").split("_"))


# Enumerations whose members C# writes as C does: names of types.
SHARP_SAME = ("TensorType", "TypeFlags", "CpuFeatures", "ValueType")


def sharp_member(enumeration, member):
    """NOT_FOUND -> NotFound"""
    return member if enumeration in SHARP_SAME else "".join(w[:1] + w[1:].lower() for w in member.split("_"))


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


def sharp_parameter(d, handles):
    name = RESERVED.get(d.name, d.name)
    return f"IntPtr {name}" if d.parameters is not None else f"{sharp_type(d.type, handles, False)} {name}"


def sharp_function(f, handles):
    destroys = f.name.endswith("_destroy")
    parameters = "IntPtr handle" if destroys else ", ".join(sharp_parameter(p, handles) for p in f.parameters)
    return f"internal static extern {sharp_type(f.result, handles, True)} {f.name}({parameters});"


def sharp_field(d, handles):
    name = RESERVED.get(d.name, d.name)
    if d.parameters is not None:
        return f"IntPtr {name};"
    kind = sharp_type(d.type, handles, True)
    return f"fixed {kind} {name}[{elements(d)}];" if d.array else f"{kind} {name};"


# ---- Python --------------------------------------------------------------------------------------

PYTHON = {"int8_t": "c_int8", "int16_t": "c_int16", "int32_t": "c_int32", "int64_t": "c_int64",
          "uint8_t": "c_uint8", "uint16_t": "c_uint16", "uint32_t": "c_uint32",
          "uint64_t": "c_uint64", "size_t": "c_size_t", "float": "c_float", "double": "c_double",
          "char": "c_char", "ggufx_status": "c_int32"}


def python_type(c):
    """A pointer is an address; a text that a call returns ends with NUL. A struct within another is itself."""
    base = c.replace("const", "").strip()
    return "c_void_p" if "*" in c else PYTHON.get(base, base)


def python_parameter(d, handles):
    """An object is named: ctypes refuses others in its place."""
    base = re.sub(r"const|[ *]", "", d.type)
    if base in handles and d.type.count("*") == 1:
        return f'"{base}"'
    return "c_void_p" if d.parameters is not None else python_type(d.type)


def python_result(c):
    """Its ctypes type, and the type for a type checker."""
    if c == "void":
        return "None", "None"
    if c == "const char *":
        return "c_char_p", "bytes | None"
    return python_type(c), "int | None" if "*" in c else "int"


def python_name(name):
    return name + "_" if keyword.iskeyword(name) else name


def python_field(d):
    """(name, ctypes type, type to a checker)"""
    name = python_name(d.name)
    kind = "c_void_p" if d.parameters is not None else python_type(d.type)
    if d.array:
        return name, f"{kind} * {elements(d)}", "bytes" if kind == "c_char" else "Array[Any]"
    if kind == "c_void_p":
        return name, kind, "int | None"
    if kind not in PYTHON.values():
        return name, kind, kind
    return name, kind, "float" if kind in ("c_float", "c_double") else "int"
