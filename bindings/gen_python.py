"""Writes the plain part of Python's safe layer, and the classes of its errors.

SPDX-License-Identifier: MIT
"""
import re

from gen_python_calls import Calls
from gen_python_words import BASES, EXTENDED, SUPPORT, VIEWS, quoted, wrap

NOTE = "# Generated from include/ggufx by python3 bindings/raw.py --write; a test compares them.\n" \
       "# SPDX-License-Identifier: MIT\n"
# Exceptions with another name or base than Error, and what Python calls the same.
ERROR_NAMES = {"MEMORY": "OutOfMemory", "TYPE": "TensorType", "KEY": "FileKey", "VALUE": "FileValue",
               "OVERFLOW": "FileOverflow", "NAME": "FileName"}
FILE_ERRORS = {"TRUNCATED", "MAGIC", "VERSION", "ENDIAN", "MALFORMED", "CHECKSUM"}
MODEL_ERRORS = {"VOCAB", "HYPERPARAMETER", "MISSING"}
ALSO = {"ARGUMENT": "ValueError", "MEMORY": "MemoryError", "IO": "OSError", "TYPE": "ValueError",
        "UNSUPPORTED": "NotImplementedError", "NOT_FOUND": "KeyError", "STATE": "RuntimeError",
        "INTERNAL": "RuntimeError", "DEVICE": "RuntimeError"}


class Writer(Calls):
    """The module as a whole."""

    def cls(self, c):
        text = f"\n\nclass {self.class_name(c.c)}({BASES.get(c.c, 'Object')}):\n" + self.doc(c.doc, "    ", f"{c.words[0]}.")
        text += f'\n    _kind = "{c.c}"\n    _mutable = {c.mutable}\n'
        text += f'    _together = "{c.together}"\n' if c.together else ""
        for call in c.generated:
            text += "\n" + self.call(call)
        return text

    def safe(self):
        structs = "".join(self.struct(s) for s in self.structs)
        classes = "".join(self.cls(c) for c in self.surface.classes.values())
        functions = "".join("\n\n" + self.call(c) for c in self.surface.functions if not c.hand)
        thunks = "".join(f"{n} = callback({', '.join(key)})\n" for key, n in self.thunks.items())
        public = [self.struct_name(s) for s in self.structs] + \
            [self.class_name(c) for c in self.surface.classes if c not in EXTENDED] + \
            [self.call_name(c) for c in self.surface.functions if not c.hand]
        used = sorted(e for e in self.surface.enumerations if f"{e}." in str(VIEWS) or
                      re.search(rf"\b{e}\(|: {e}\b|\[{e}\b|-> {e}\b|, {e}\b|[|]= {e}\.", structs + classes + functions))
        body = thunks + structs + classes + functions
        every = "".join(f'    "{n}",\n' for n in sorted(public))
        support = {**SUPPORT, ".ids": used}
        imports = ""
        for module, names in support.items():
            here = sorted(n for n in names if re.search(rf"\b{n}\b", body))
            if here:
                imports += wrap(f"from {module} import ({', '.join(here)})", "")
        ctypes = sorted(n for n in ("POINTER", "byref", "cast", "sizeof", "string_at", "c_void_p", "c_size_t", "c_double",
                                    "c_float", "c_int32", "c_int64", "c_uint32", "c_uint64")
                        if re.search(rf"\b{n}\b", body))
        typing = sorted(n for n in ("Any", "Callable", "Mapping", "Sequence") if re.search(rf"\b{n}\b", body))
        pairs = "" if "_pairs(" not in body else (
            "\n\ndef _pairs(kind: Callable[[Any, Any], Any], of: Mapping[str, object] | None) -> list[Any] | None:\n"
            "    return None if of is None else [kind(key, written(value)) for key, value in of.items()]\n")
        if pairs:
            imports = imports.replace("from ._facts import (", "from ._facts import (written, ")
        return (NOTE + '"""The plain part of the package: see bindings/gen_python.py."""\n'
                "from __future__ import annotations\n\n" + wrap(f"from ctypes import ({', '.join(ctypes)})", "") +
                f"from dataclasses import dataclass\nfrom typing import {', '.join(typing)}\n\nfrom . import _raw\n" +
                imports + f"\n__all__ = [\n{every}]\n\n" + body.split("\n\n@dataclass", 1)[0] + pairs +
                "\n\n@dataclass" + body.split("\n\n@dataclass", 1)[1])


def error_name(code):
    return ERROR_NAMES.get(code, "".join(w.capitalize() for w in code.split("_"))) + "Error"


def errors(surface):
    """A class for each status, with the comment of the header."""
    text, names = "", []
    for member, c, value, doc in surface.enumerations["Status"].members:
        if value == 0:
            continue
        base = "ModelError" if member in MODEL_ERRORS else \
            "FileError" if member in FILE_ERRORS or value <= -32 else "Error"
        bases = ", ".join(filter(None, [base, ALSO.get(member)]))
        names.append(error_name(member))
        text += f"\n\nclass {names[-1]}({bases}):\n" + quoted(doc[:1].upper() + doc[1:] + ".", "    ") + \
            f"\n    code = Status.{member}\n"
    every = "".join(f'    "{n}",\n' for n in names)
    return (NOTE + "from ._error import Error, FileError, ModelError\nfrom .ids import Status\n\n"
            f"__all__ = [\n{every}]\n" + text)


def files(surface):
    return {"bindings/python/ggufx/_safe.py": lambda: Writer(surface).safe(),
            "bindings/python/ggufx/_codes.py": lambda: errors(surface)}
