"""Texts in and out.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import os
from ctypes import string_at
from typing import Union

from ._error import argument

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Text = Union[str, bytes, bytearray, memoryview]


def bytes_at(at: int | None, n: int) -> bytes:
    """A copy of bytes of the library."""
    return string_at(at, n) if at and n else b""


def text_at(at: int | None, n: int | None = None) -> str:
    """String from the library. File names may contain any bytes: invalid UTF-8 is escaped, and
    restored when the string is passed back."""
    if not at or n == 0:
        return ""
    return string_at(at, -1 if n is None else n).decode("utf-8", "surrogateescape")


def text_or_none(at: int | None, n: int | None = None) -> str | None:
    """The same; None where the library has no string."""
    return text_at(at, n) if at else None


def to_bytes(text: Text) -> bytes:
    """String argument with a length."""
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text)
    if not isinstance(text, str):
        raise argument(f"a {type(text).__name__} is no text")
    return text.encode("utf-8", "surrogateescape")


def path_bytes(path: Path) -> bytes:
    """A path for the library, which ends at a NUL."""
    path = os.fspath(path)
    encoded = path if isinstance(path, bytes) else \
        path.encode("utf-8") if os.name == "nt" else os.fsencode(path)
    return terminated(encoded)


def terminated(text: Text) -> bytes:
    """NUL-terminated string argument."""
    encoded = to_bytes(text)
    if b"\0" in encoded:
        raise argument(f"the text holds a NUL: {text!r}")
    return encoded


def written(value: object) -> str | bytes:
    """A value as the library reads it from a text."""
    if isinstance(value, (str, bytes)):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)
