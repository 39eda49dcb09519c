"""Blocks to floats and back.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref, sizeof
from typing import NamedTuple

from . import _raw
from ._buffers import F32, U8, Array, Buffer, Floats, address, raw_bytes, reads, room_for
from ._callbacks import Following, Progress
from ._error import argument
from ._library import lib
from ._safe import Moments, type_row_bytes, type_info
from .errors import check
from .ids import FeedbackFlags, QuantizeMode
from .matmul import Products
from .runtime import Runtime


class Decoding(Products):
    """Quantization and dequantization of a tensor's blocks."""

    @property
    def shape(self) -> tuple[int, ...]:
        raise NotImplementedError

    def dequantize(self, out: Buffer | None = None, first: int = 0, n: int | None = None, *,
                   rt: Runtime | None = None) -> Floats:
        """Rows first .. first + n - 1 as f32, of all outer dimensions: [n][ne[0]], or the tensor's
        shape for all of them; in `out`, or in a new array."""
        whole = first == 0 and n is None
        if not 0 <= first <= self.n_rows:
            raise argument(f"row {first} of {self.n_rows}")
        rows = self.n_rows - first if n is None else n
        if not 0 <= rows <= self.n_rows - first:
            raise argument(f"{rows} rows from {first} on, of {self.n_rows}")
        to = room_for(out, self.shape if whole else (rows, self.ne[0]))
        e = _raw.ggufx_error()
        check(lib.ggufx_dequantize(address(to), to.size, self._rt(rt), self._handle, first, rows, byref(e)), e)
        return to


def dequantize(rt: Runtime, type: int, blocks: Buffer, out: Buffer | None = None) -> Floats:
    """Dequantizes whole blocks in a buffer to f32; a matrix of bytes row by row."""
    from .tensor import Tensor  # which needs this module
    of = raw_bytes(blocks, "blocks")
    info = type_info(type)
    if of.nbytes % info.block_bytes:
        raise argument(f"blocks: {of.nbytes} bytes are not whole blocks of {info.block_bytes}")
    n = of.nbytes // info.block_bytes * info.block_values
    to = room_for(out, (len(of), n // len(of)) if of.ndim == 2 and len(of) else (n,))
    with Tensor.wrap(rt, type, [n], of) as tensor:
        tensor.dequantize(to)
    return to


def quantize(rt: Runtime, type: int, rows: Buffer, out: Buffer | None = None, *,
             imatrix: Buffer | None = None, mode: QuantizeMode = QuantizeMode.REFERENCE,
             progress: Progress | None = None) -> Array:
    """Rows of f32, [n][columns] or one row, as blocks: bytes, [n][row_bytes]. imatrix: a weight per
    column."""
    of = reads(rows, F32, "rows")
    if of.ndim not in (1, 2):
        raise argument(f"rows has the shape {of.shape}, not (rows, columns)")
    n_rows, n_cols = (1, of.size) if of.ndim == 1 else of.shape
    weights = None if imatrix is None else reads(imatrix, F32, "imatrix", n_cols)
    to = room_for(out, (n_rows, type_row_bytes(type, n_cols)), U8)
    o = _raw.ggufx_quantize_args(
        struct_size=sizeof(_raw.ggufx_quantize_args), type=type, mode=mode, rows=address(of), n_rows=n_rows,
        n_cols=n_cols)
    if weights is not None:
        o.imatrix = address(weights)
    e = _raw.ggufx_error()
    with Following() as call:
        o.progress = call.follow(progress)
        call.end(lib.ggufx_quantize(address(to), to.nbytes, rt._handle, byref(o), byref(e)), e)
    return to


class FeedbackFacts(NamedTuple):
    """Result of quantize_feedback. Errors are relative to the mean square of the outputs."""

    is_used: bool
    error_before: float
    error_after: float
    kept_out_change: float


def quantize_feedback(rt: Runtime, type: int, rows: Buffer, moments: Moments, *, kept_out: Moments | None = None,
                      damping: float | None = None, n_passes: int = 0, flags: int = 0,
                      progress: Progress | None = None) -> tuple[Array, FeedbackFacts]:
    """Rows of f32, [n][columns], as blocks for inputs with these moments: bytes, [n][row_bytes]."""
    of = reads(rows, F32, "rows")
    if of.ndim != 2:
        raise argument(f"rows has the shape {of.shape}, not (rows, columns)")
    to = room_for(None, (len(of), type_row_bytes(type, of.shape[1])), U8)
    o = _raw.ggufx_feedback_args(
        struct_size=sizeof(_raw.ggufx_feedback_args), type=type, rows=address(of), n_rows=len(of), n_cols=of.shape[1],
        flags=flags | (0 if damping is None else FeedbackFlags.DAMPING), n_passes=n_passes, damping=damping or 0.0)
    facts = _raw.ggufx_feedback_facts(struct_size=sizeof(_raw.ggufx_feedback_facts))
    e = _raw.ggufx_error()
    with Following() as call:
        o.moments = call.object(moments, "ggufx_moments")
        o.kept_out = call.object(kept_out, "ggufx_moments")
        o.progress = call.follow(progress)
        call.end(lib.ggufx_quantize_feedback(address(to), to.nbytes, rt._handle, byref(o), byref(facts), byref(e)), e)
    return to, FeedbackFacts(bool(facts.is_used), facts.error_before, facts.error_after, facts.kept_out_change)
