"""New files.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref, sizeof
from typing import Any, Callable, Sequence

import numpy as np

from . import _callbacks, _raw, _safe
from ._buffers import Buffer, address, dimensions
from ._callbacks import Source, fill
from ._error import argument
from ._facts import Text, to_bytes
from ._library import lib
from .errors import check
from .ids import ValueType

_ELEMENTS = {
    "u1": ValueType.U8, "i1": ValueType.I8, "u2": ValueType.U16, "i2": ValueType.I16,
    "u4": ValueType.U32, "i4": ValueType.I32, "u8": ValueType.U64, "i8": ValueType.I64,
    "f4": ValueType.F32, "f8": ValueType.F64, "b1": ValueType.BOOL,
}


class Writer(_safe.Writer):
    """A file to be: keys and tensors in the order they were added."""

    _callbacks: list[Source]

    def _begin(self, parent: object, options: object) -> None:
        self._callbacks = []

    def set(self, key: Text, value: Any, type: int | None = None) -> None:
        """Set a key: to a bool, str or bytes; an int, of a type (U64 without one, I64 where it is
        negative); a float, of F64 or of a type; an array of numbers, of the type of its elements; a
        list of str, or of numbers, as NumPy makes an array of them."""
        if isinstance(value, (bool, np.bool_)) and type in (None, ValueType.BOOL):
            self.set_bool(key, bool(value))
        elif isinstance(value, (str, bytes)):
            self.set_string(key, value)
        elif isinstance(value, (float, np.floating)) or \
                (type in (ValueType.F32, ValueType.F64) and isinstance(value, (int, np.integer))):
            self.set_f64(key, ValueType.F64 if type is None else type, float(value))
        elif isinstance(value, (int, np.integer)):
            kind = ValueType.I64 if value < 0 else ValueType.U64
            (self.set_i64 if value < 0 else self.set_u64)(key, kind if type is None else type, int(value))
        elif len(value) and all(isinstance(v, (str, bytes)) for v in value):
            self.set_array_string(key, value)
        else:
            self.set_array(key, value)

    def set_array(self, key: Text, elements: Any) -> None:
        """Set a key to an array of numbers, of the type of its elements."""
        array, name, e = np.asarray(elements), to_bytes(key), _raw.ggufx_error()
        kind = _ELEMENTS.get(array.dtype.str[1:])
        if kind is None or not array.dtype.isnative or not array.flags.c_contiguous:
            raise argument(f"no array of numbers that files have: {array.dtype.str}, strides "
                           f"{array.strides}")
        with self._turns.changing:
            check(lib.ggufx_writer_set_array(self._handle, name, len(name), kind, address(array),
                                             array.size, byref(e)), e)

    def add_stream(self, name: Text, type: int, ne: Sequence[int],
                   read: Callable[[int, int], Buffer]) -> None:
        """Add a tensor whose data are generated while the file is written: read(offset, n)
        returns the next n bytes, little-endian blocks."""
        source = Source(lambda offset, to, n: fill(to, n, read(offset, n), "the source"))
        title, dims, e = to_bytes(name), dimensions(ne), _raw.ggufx_error()
        stream = _raw.ggufx_tensor_stream(
            struct_size=sizeof(_raw.ggufx_tensor_stream), user=_callbacks.lend(source),
            read=_callbacks.READ_AT, destroy=_callbacks.DESTROY)
        with self._turns.changing:
            check(lib.ggufx_writer_add_stream(self._handle, title, len(title), type, len(ne),
                                              byref(dims), byref(stream), byref(e)), e)
            self._callbacks.append(source)
