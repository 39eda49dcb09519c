"""Tensors: views, products, blocks.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref, c_char_p, c_void_p, cast, sizeof
from typing import Any, Sequence

import numpy as np

from . import _callbacks, _raw
from ._buffers import Array, Buffer, View, address, dimensions, raw_bytes
from ._error import argument
from ._facts import terminated
from ._handle import KINDS, Handle
from ._library import lib
from .errors import UnsupportedError, check
from .ids import TensorType
from .quant import Decoding
from .runtime import Runtime

# Types whose values NumPy has too, in the byte order of files.
NUMPY = {
    TensorType.F32: "<f4", TensorType.F16: "<f2", TensorType.F64: "<f8", TensorType.I8: "|i1",
    TensorType.I16: "<i2", TensorType.I32: "<i4", TensorType.I64: "<i8",
}
_TYPES = {np.dtype(name): type for type, name in NUMPY.items()}


class Tensor(Decoding):
    """A typed, shaped, strided view of weights; immutable. One of a file keeps its memory."""

    def _begin(self, parent: Any, options: Any) -> None:
        self._runtime = parent._handle if isinstance(parent, Runtime) else parent._runtime
        info = self.info
        self.name, self.type, self.part = info.name, info.type, info.part
        self.n_dims, self.ne = len(info.ne), (*info.ne, *[1] * (4 - len(info.ne)))
        self.row_bytes, self.row_stride = info.row_bytes, info.row_stride
        self.n_rows, self.n_bytes = info.n_rows, info.n_bytes
        self.offset, self.file_offset = info.offset, info.file_offset

    @classmethod
    def wrap(cls, rt: Runtime, type: int, ne: Sequence[int], data: Buffer, name: str = "",
             row_stride: int = 0) -> Tensor:
        """Wraps blocks in file format, in a buffer, without a copy: it is kept until the last
        user of the tensor is gone. ne[0] is along a row; row_stride 0: dense."""
        bytes_ = raw_bytes(data, "data")
        own, e, title = KINDS["ggufx_tensor"](), _raw.ggufx_error(), c_char_p(terminated(name))
        o = _raw.ggufx_tensor_options(
            struct_size=sizeof(_raw.ggufx_tensor_options), type=type, n_dims=len(ne), ne=dimensions(ne),
            row_stride=row_stride, data=address(bytes_), n_bytes=bytes_.nbytes, name=cast(title, c_void_p).value,
            destroy=_callbacks.DESTROY, user=_callbacks.lend(bytes_))
        check(lib.ggufx_tensor_create(byref(own), rt._handle, byref(o), byref(e)), e)
        return cls._made(own, rt)

    @classmethod
    def of(cls, rt: Runtime, array: Array, name: str = "") -> Tensor:
        """The values of an array, F32, F16, F64 or I8 .. I64 by its type, without a copy."""
        type = _TYPES.get(array.dtype)
        if type is None:
            raise argument(f"the array has the type {array.dtype.str}, files have "
                           f"{', '.join(sorted(NUMPY.values()))}")
        if not array.flags.c_contiguous:
            raise argument(f"the array is not C-contiguous: strides {array.strides}")
        return cls.wrap(rt, type, array.shape[::-1], array.reshape(-1).view(np.uint8), name)

    def __repr__(self) -> str:
        return f"<Tensor {self.name!r} {self.type.name} {self.shape}>"

    @property
    def shape(self) -> tuple[int, ...]:
        """As NumPy has it: the last dimension is along a row."""
        return self.ne[: self.n_dims][::-1]

    def _at(self) -> tuple[Handle, int]:
        own = self._handle
        at = lib.ggufx_tensor_data(own)
        if at is None and self.n_bytes:
            raise UnsupportedError(f'UNSUPPORTED: the data of "{self.name}" are not in memory')
        return own, at or 0

    @property
    def raw(self) -> Array:
        """The bytes of the rows, [n_rows][row_bytes], read-only and not copied: the array keeps the
        file's memory until it is gone itself."""
        own, at = self._at()
        shape = (self.n_rows, self.row_bytes)
        if not at or not self.n_bytes:
            return np.empty(shape, np.uint8)
        return View(own, at, shape, (self.row_stride, 1), "|u1").array()

    def numpy(self) -> Array:
        """The values of a type that NumPy has too (F32, F16, F64, I8 .. I64), in the tensor's
        shape, read-only and not copied. For others see dequantize."""
        typestr = NUMPY.get(self.type)
        if typestr is None:
            raise UnsupportedError(f"UNSUPPORTED: NumPy has no {self.type.name}: use dequantize")
        own, at = self._at()
        if not at or not self.n_bytes:
            return np.empty(self.shape, typestr)
        strides, step = [np.dtype(typestr).itemsize], self.row_stride
        for rows in self.ne[1: self.n_dims]:
            strides.append(step)
            step *= rows
        return View(own, at, self.shape, tuple(reversed(strides[: self.n_dims])), typestr).array()
