"""Products of weights in their blocks with f32 vectors and matrices.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref, sizeof
from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from . import _raw, _safe, _signals
from ._buffers import (
    F32, U32, Array, Buffer, Floats, Ints, address, columns, numbers, reads, room_for)
from ._callbacks import Following, Progress
from ._handle import Handle
from ._library import lib
from ._error import argument
from .errors import check
from .ids import MATMUL_MAX_PRODUCTS
from .runtime import Runtime

if TYPE_CHECKING:
    from .tensor import Tensor

_OPTIONS = sizeof(_raw.ggufx_matmul_options)
_PRODUCT = sizeof(_raw.ggufx_product)


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
        to = room_for(out, (self.n_rows,))
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
        _multiply([_product(self, of, ldx, n, to, ldy, self.n_rows)], self._rt(rt), flags, progress)
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
        if chosen.size:
            product = _product(self, of, ldx, n, to.reshape(-1, self.ne[1]), self.ne[1], self.ne[1])
            product.ids, product.n_used = address(chosen), used
            _multiply([product], self._rt(rt), flags, progress)
        return to


def _span(n: int, ld: int, length: int) -> int:
    """Values from the first to the last of n vectors."""
    return (n - 1) * ld + length if n else 0


def _product(w: Products, x: Array, ldx: int, n: int, y: Array, ldy: int, rows: int) -> Any:
    return _raw.ggufx_product(
        struct_size=_PRODUCT, w=w._handle.value, x=x.ctypes.data, n_x=_span(n, ldx, w.ne[0]), ldx=ldx, n=n,
        y=y.ctypes.data, n_y=_span(len(y), ldy, rows), ldy=ldy)


def _multiply(products: Sequence[Any], rt: Handle, flags: int, progress: Progress | None) -> None:
    all_ = (_raw.ggufx_product * max(len(products), 1))(*products)
    _call(lib.ggufx_matmul, (rt, byref(all_), len(products)), flags, progress)


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
    if len(matrices) > MATMUL_MAX_PRODUCTS or (out is not None and len(out) != len(matrices)):
        raise argument(f"{len(matrices)} matrices, at most {MATMUL_MAX_PRODUCTS}, and "
                       f"{len(matrices) if out is None else len(out)} results")
    of, n = reads(x, F32, "x"), len(matrices)
    results = [room_for(None if out is None else out[i], (w.n_rows,), what=f"out[{i}]")
               for i, w in enumerate(matrices)]
    if not n:
        return results
    held = [w._handle for w in matrices]  # while the call runs
    _multiply([_product(w, of, 0, 1, r.reshape(1, -1), 0, w.n_rows) for w, r in zip(matrices, results)],
              matrices[0]._rt(rt), flags, progress)
    del held
    return results
