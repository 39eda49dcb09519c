"""Keys and values of a file.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref, c_double, c_int32, c_int64, c_size_t, c_uint64, c_void_p, string_at
from typing import Any, Iterator, Mapping

import numpy as np

from . import _raw
from ._buffers import Array, Buffer, address, writes
from ._facts import asked, text, to_bytes
from ._handle import FileHandle
from ._library import lib
from .errors import argument, check
from .ids import MetaType

_SIGNED = (MetaType.I8, MetaType.I16, MetaType.I32, MetaType.I64)
_FLOATS = (MetaType.F32, MetaType.F64)
U64, I64, F64 = np.dtype(np.uint64), np.dtype(np.int64), np.dtype(np.float64)


class Meta:
    """A key and its value; keeps the file's memory alive."""

    def __init__(self, file: FileHandle, index: int) -> None:
        self._file, self.index = file, index
        o = asked(_raw.ggufx_meta_entry, lib.ggufx_file_meta_at, file, index)
        self.key = text(o.key, o.key_length)
        self.type = MetaType(o.type)
        self.element_type = None if o.element_type < 0 else MetaType(o.element_type)
        self.count = o.count  # elements of an array, bytes of a string, else 1
        self.offset = o.offset

    def __repr__(self) -> str:
        kind = self.type.name
        if self.element_type is not None:
            kind = f"{self.element_type.name}[{self.count}]"
        return f"<Meta {self.key!r} {kind}>"

    def __int__(self) -> int:
        """An integer of any type, or a bool."""
        e = _raw.ggufx_error()
        if self.type in _SIGNED or self.element_type in _SIGNED:
            i = c_int64()
            check(lib.ggufx_file_meta_i64(byref(i), self._file, self.index, byref(e)), e)
            return i.value
        u = c_uint64()
        check(lib.ggufx_file_meta_u64(byref(u), self._file, self.index, byref(e)), e)
        return u.value

    def __float__(self) -> float:
        """A number."""
        o, e = c_double(), _raw.ggufx_error()
        check(lib.ggufx_file_meta_f64(byref(o), self._file, self.index, byref(e)), e)
        return o.value

    def to_bool(self) -> bool:
        """Value of type bool; no conversion."""
        o, e = c_int32(), _raw.ggufx_error()
        check(lib.ggufx_file_meta_bool(byref(o), self._file, self.index, byref(e)), e)
        return o.value != 0

    def __bytes__(self) -> bytes:
        """String as stored in the file, undecoded."""
        at, n, e = c_void_p(), c_size_t(), _raw.ggufx_error()
        check(lib.ggufx_file_meta_string(byref(at), byref(n), self._file, self.index, byref(e)), e)
        return string_at(at, n.value) if n.value else b""

    def __str__(self) -> str:
        """A string; the value's text of other types."""
        if self.type == MetaType.STRING or self.element_type == MetaType.STRING and self.count == 1:
            return bytes(self).decode("utf-8", "surrogateescape")
        return str(self.value)

    def array(self, out: Buffer | None = None, first: int = 0, n: int | None = None) -> Array:
        """Elements first .. of an array of numbers or bools: in `out`, whose type is u64, i64 or
        f64, or in a new array of the one that fits."""
        if out is None:
            kind = self.element_type if self.element_type is not None else self.type
            dtype = I64 if kind in _SIGNED else F64 if kind in _FLOATS else U64
            if not 0 <= first <= self.count:
                raise argument(f"element {first} of {self.count}")
            out = np.empty(self.count - first if n is None else n, dtype)
        dtype = out.dtype if isinstance(out, np.ndarray) and out.dtype in (U64, I64) else F64
        to = writes(out, dtype, "out", n)
        e = _raw.ggufx_error()
        function = lib.ggufx_file_meta_array_u64 if dtype == U64 else \
            lib.ggufx_file_meta_array_i64 if dtype == I64 else lib.ggufx_file_meta_array_f64
        check(function(address(to), self._file, self.index, first, to.size, byref(e)), e)
        return to

    def bytes_at(self, i: int) -> bytes:
        """String i of an array of strings, as stored in the file."""
        at, n, e = c_void_p(), c_size_t(), _raw.ggufx_error()
        check(lib.ggufx_file_meta_array_string(byref(at), byref(n), self._file, self.index, i,
                                               byref(e)), e)
        return string_at(at, n.value) if n.value else b""

    def nested(self, i: int) -> Meta:
        """Array i of an array of arrays."""
        o, e = c_size_t(), _raw.ggufx_error()
        check(lib.ggufx_file_meta_array_nested(byref(o), self._file, self.index, i, byref(e)), e)
        return Meta(self._file, o.value)

    def __len__(self) -> int:
        """Elements of an array, else 1."""
        return self.count if self.type == MetaType.ARRAY else 1

    def __iter__(self) -> Iterator[Any]:
        """The elements of an array."""
        value = self.value
        return iter(value if self.type == MetaType.ARRAY else [value])

    @property
    def value(self) -> Any:
        """As Python has it: an int, float, bool or str, of an array of numbers a NumPy array, of
        others a list."""
        if self.type == MetaType.STRING:
            return str(self)
        if self.type == MetaType.BOOL:
            return self.to_bool()
        if self.type != MetaType.ARRAY:
            return float(self) if self.type in _FLOATS else int(self)
        if self.element_type == MetaType.STRING:
            return [self.bytes_at(i).decode("utf-8", "surrogateescape") for i in range(self.count)]
        if self.element_type == MetaType.ARRAY:
            return [self.nested(i).value for i in range(self.count)]
        numbers = self.array()
        return numbers.astype(bool) if self.element_type == MetaType.BOOL else numbers


class Metas(Mapping[str, Meta]):
    """The keys of a file in its order."""

    def __init__(self, file: FileHandle) -> None:
        self._file = file

    def __len__(self) -> int:
        return lib.ggufx_file_meta_count(self._file)

    def __iter__(self) -> Iterator[str]:
        return (self.at(i).key for i in range(len(self)))

    def at(self, i: int) -> Meta:
        """Key number i."""
        return Meta(self._file, i)

    def __getitem__(self, key: str) -> Meta:
        o, e, name = c_size_t(), _raw.ggufx_error(), to_bytes(key)
        check(lib.ggufx_file_meta_find(byref(o), self._file, name, len(name), byref(e)), e)
        return Meta(self._file, o.value)
