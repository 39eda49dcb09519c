"""Products of weights in their blocks with f32 vectors and matrices.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref, c_size_t, c_void_p, sizeof
from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from . import _raw, _safe, _signals
from ._buffers import (
    F32, U32, Array, Buffer, Floats, Ints, address, columns, numbers, reads, room_for, writes)
from ._callbacks import Following, Progress
from ._handle import Handle
from ._library import lib
from ._error import argument
from .errors import check
from .ids import MATVEC_MAX_MATRICES
from .runtime import Runtime

if TYPE_CHECKING:
    from .tensor import Tensor

_OPTIONS = sizeof(_raw.ggufx_matmul_options)


def _call(function: Callable[..., int], arguments: tuple[Any, ...], flags: int,
          progress: Progress | None) -> None:
    """Without a progress function nothing polls, and the smallest products stay cheap."""
    e = _raw.ggufx_error()
    if progress is None:
        o = byref(_raw.ggufx_matmul_options(struct_size=_OPTIONS, flags=flags)) if flags else None
        status = function(*arguments, o, byref(e))
        if status or _signals.waiting:
            check(status, e)
        return
    options = _raw.ggufx_matmul_options(struct_size=_OPTIONS, flags=flags)
    with Following() as call:
        options.progress = call.follow(progress)
        call.end(function(*arguments, byref(options), byref(e)), e)


class Products(_safe.Tensor):
    """Products of a tensor with vectors. rt: another runtime than its own; flags: MatmulFlags."""

    _runtime: Handle
    ne: tuple[int, ...]
    n_rows: int

    def _rt(self, rt: Runtime | None) -> Handle:
        return self._runtime if rt is None else rt._handle

    def matvec(self, x: Buffer, out: Buffer | None = None, *, flags: int = 0,
               rt: Runtime | None = None, progress: Progress | None = None) -> Floats:
        """y = W x for one vector; in `out`, or in a new array."""
        of = reads(x, F32, "x")
        if out is None:
            to = np.empty(self.n_rows, F32)
        else:
            to = writes(out, F32, "out")
            if to.size != self.n_rows:
                room_for(out, (self.n_rows,))
        _call(lib.ggufx_matvec, (address(to), to.size, self._rt(rt), self._handle, address(of),
                                 of.size), flags, progress)
        return to

    def matmul(self, x: Buffer, out: Buffer | None = None, *, flags: int = 0,
               rt: Runtime | None = None, progress: Progress | None = None) -> Floats:
        """W times each row of x, [n][ne[0]]: the rows of the result, [n][n_rows]. Rows of x and of
        `out` may be apart, as those of a slice of a matrix."""
        of, ldx, n = columns(x, F32, self.ne[0], "x")
        to, ldy, rows = _target(out, n, self.n_rows)
        if rows != n:
            raise argument(f"out has {rows} rows, x has {n}")
        _call(lib.ggufx_matmul, (to.ctypes.data, ldy, _span(rows, ldy, self.n_rows), self._rt(rt),
                                 self._handle, of.ctypes.data, ldx, _span(n, ldx, self.ne[0]), n),
              flags, progress)
        return to

    def matmul_id(self, x: Buffer, ids: Ints, out: Buffer | None = None, *, n_used: int = 0,
                  flags: int = 0, rt: Runtime | None = None,
                  progress: Progress | None = None) -> Floats:
        """Experts: row j of x through the matrices ids[j]: [n][n_used][ne[1]]. ids is [n][n_used],
        or a list with n_used."""
        of, ldx, n = columns(x, F32, self.ne[0], "x")
        chosen = numbers(ids, U32, "ids")
        used = chosen.shape[1] if chosen.ndim == 2 else n_used or 1
        if chosen.size != n * used:
            raise argument(f"ids has {chosen.size} numbers, {n} rows with {used} each")
        to = room_for(out, (n, used, self.ne[1]))
        _call(lib.ggufx_matmul_id, (address(to), 0, to.size, self._rt(rt), self._handle,
                                    address(chosen), used, of.ctypes.data, ldx,
                                    _span(n, ldx, self.ne[0]), n), flags, progress)
        return to


def _span(n: int, ld: int, length: int) -> int:
    """Values from the first to the last of n vectors."""
    return (n - 1) * ld + length if n else 0


def _target(out: Buffer | None, n: int, length: int) -> tuple[Array, int, int]:
    if out is None:
        return np.empty((n, length), F32), length, n
    to, ld, rows = columns(out, F32, length, "out")
    if not to.flags.writeable:
        raise argument("out is read-only")
    return to, ld, rows


def matvec_many(matrices: Sequence[Tensor], x: Buffer, out: Sequence[Buffer] | None = None, *,
                flags: int = 0, rt: Runtime | None = None,
                progress: Progress | None = None) -> list[Floats]:
    """Products of several matrices, at most 64, and one vector; out: a buffer for each."""
    if len(matrices) > MATVEC_MAX_MATRICES or (out is not None and len(out) != len(matrices)):
        raise argument(f"{len(matrices)} matrices, at most {MATVEC_MAX_MATRICES}, and "
                       f"{len(matrices) if out is None else len(out)} results")
    of, n = reads(x, F32, "x"), len(matrices)
    results = [room_for(None if out is None else out[i], (w.n_rows,), what=f"out[{i}]")
               for i, w in enumerate(matrices)]
    if not n:
        return results
    held = [w._handle for w in matrices]  # while the call runs
    w = (c_void_p * n)(*(h.value for h in held))
    y = (c_void_p * n)(*(address(r) for r in results))
    n_y = (c_size_t * n)(*(r.size for r in results))
    _call(lib.ggufx_matvec_many, (byref(y), byref(n_y), matrices[0]._rt(rt), byref(w), n,
                                  address(of), of.size), flags, progress)
    return results
