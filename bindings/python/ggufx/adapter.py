"""Rows of a tensor with an adapter's share.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref

from . import _raw, _safe
from ._buffers import F32, Buffer, address, writes
from ._error import argument
from ._library import lib
from .errors import check


class Adapter(_safe.Adapter):
    __doc__ = _safe.Adapter.__doc__

    def add_rows(self, rows: Buffer, tensor: int, first_row: int = 0, scale: float = 1) -> None:
        """Add to rows, f32 [n][ne0], of a tensor of the model's file, from first_row on, the
        adapter's delta, as when the adapter is merged into the model."""
        of, e = writes(rows, F32, "rows"), _raw.ggufx_error()
        if of.ndim != 2:
            raise argument(f"rows has the shape {of.shape}, not [n][ne0]")
        check(lib.ggufx_adapter_add_rows(address(of), of.size, self._handle, tensor, first_row,
                                         of.shape[0], scale, byref(e)), e)
