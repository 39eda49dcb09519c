"""Keys and values of a file.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref
from typing import Any, Iterator, Mapping

import numpy as np

from . import _raw, _safe
from ._buffers import F64, I64, U64, Array, Buffer, address, writes
from ._error import argument
from ._facts import to_bytes
from ._library import lib
from .errors import check
from .ids import MetaType

_SIGNED = (MetaType.I8, MetaType.I16, MetaType.I32, MetaType.I64)
_FLOATS = (MetaType.F32, MetaType.F64)


class Meta:
    """A key and its value; keeps the file's memory alive."""

    def __init__(self, file: _safe.File, index: int) -> None:
        self._file, self.index = file, index
        entry = file.meta_at(index)
        self.key, self.type, self.count, self.offset = entry.key or "", entry.type, entry.count, entry.offset
        self.element_type = None if entry.element_type < 0 else MetaType(entry.element_type)

    def __repr__(self) -> str:
        kind = self.type.name
        if self.element_type is not None:
            kind = f"{self.element_type.name}[{self.count}]"
        return f"<Meta {self.key!r} {kind}>"

    def __int__(self) -> int:
        """An integer of any type, or a bool."""
        if self.type in _SIGNED or self.element_type in _SIGNED:
            return self._file.meta_i64(self.index)
        return self._file.meta_u64(self.index)

    def __float__(self) -> float:
        """A number."""
        return self._file.meta_f64(self.index)

    def to_bool(self) -> bool:
        """Value of type bool; no conversion."""
        return self._file.meta_bool(self.index)

    def __bytes__(self) -> bytes:
        """String as stored in the file."""
        return to_bytes(self._file.meta_string(self.index))

    def __str__(self) -> str:
        """A string; the value's text of other types."""
        if self.type == MetaType.STRING or self.element_type == MetaType.STRING and self.count == 1:
            return self._file.meta_string(self.index)
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
        to, e = writes(out, dtype, "out", n), _raw.ggufx_error()
        function = lib.ggufx_file_meta_array_u64 if dtype == U64 else \
            lib.ggufx_file_meta_array_i64 if dtype == I64 else lib.ggufx_file_meta_array_f64
        check(function(address(to), self._file._handle, self.index, first, to.size, byref(e)), e)
        return to

    def bytes_at(self, i: int) -> bytes:
        """String i of an array of strings, as stored in the file."""
        return to_bytes(self._file.meta_array_string(self.index, i))

    def nested(self, i: int) -> Meta:
        """Array i of an array of arrays."""
        return Meta(self._file, self._file.meta_array_nested(self.index, i))

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
            return [self._file.meta_array_string(self.index, i) for i in range(self.count)]
        if self.element_type == MetaType.ARRAY:
            return [self.nested(i).value for i in range(self.count)]
        numbers = self.array()
        return numbers.astype(bool) if self.element_type == MetaType.BOOL else numbers


class Metas(Mapping[str, Meta]):
    """The keys of a file in its order."""

    def __init__(self, file: _safe.File) -> None:
        self._file = file

    def __len__(self) -> int:
        return self._file.meta_count()

    def __iter__(self) -> Iterator[str]:
        return (self.at(i).key for i in range(len(self)))

    def at(self, i: int) -> Meta:
        """Key number i."""
        return Meta(self._file, i)

    def __getitem__(self, key: str) -> Meta:
        return Meta(self._file, self._file.meta_find(key))
