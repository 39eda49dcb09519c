"""Structs of facts as frozen dataclasses with the same names of fields.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import dataclasses
import os
from ctypes import Structure, byref, sizeof, string_at
from typing import Any, Callable, TypeVar, Union

from ._raw import ggufx_error
from .errors import argument, check

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
T = TypeVar("T")
S = TypeVar("S", bound=Structure)


def asked(struct: type[S], function: Callable[..., int], *arguments: object) -> S:
    """Facts of an object, from one of the library's functions."""
    out = struct()
    out.struct_size = sizeof(struct)
    record = ggufx_error()
    check(function(byref(out), *arguments, byref(record)), record)
    return out


def made(kind: type[T], struct: object, /, **differing: Any) -> T:
    """A dataclass from the fields of the same name, and those that are given."""
    same = {f.name: getattr(struct, f.name) for f in dataclasses.fields(kind)
            if f.name not in differing}
    return kind(**same, **differing)


def text(at: int | None, n: int | None = None) -> str:
    """String from the library. File names may contain any bytes: invalid UTF-8 is escaped, and
    restored when the string is passed back."""
    if not at or n == 0:
        return ""
    return string_at(at, -1 if n is None else n).decode("utf-8", "surrogateescape")


def to_bytes(text: str | bytes) -> bytes:
    """String argument with a length."""
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")


def path_bytes(path: Path) -> bytes:
    """A path for the library, which ends at a NUL."""
    path = os.fspath(path)
    encoded = path if isinstance(path, bytes) else \
        path.encode("utf-8") if os.name == "nt" else os.fsencode(path)
    return terminated(encoded)


def terminated(text: str | bytes) -> bytes:
    """NUL-terminated string argument."""
    encoded = to_bytes(text)
    if b"\0" in encoded:
        raise argument(f"the text holds a NUL: {text!r}")
    return encoded
