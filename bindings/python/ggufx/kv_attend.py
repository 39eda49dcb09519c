"""Attention over a cache, and what it holds.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref
from typing import Any, Callable

from . import _raw, _safe
from ._buffers import (
    F32, I32, U32, Array, Buffer, Floats, Ints, address, address_or_none, numbers, reads, result,
    writes)
from ._callbacks import Following
from ._error import argument
from ._library import lib
from ._safe import AttendOptions
from .errors import check
from .runtime import Runtime


class Attention(_safe.KvCache):
    """Attention queries on a cache; thread-safe."""

    def __init__(self, rt: Runtime, n_layers: int, n_kv_heads: int, n_q_heads: int, head_dim_k: int, *,
                 head_dim_v: int = 0, **options: Any) -> None:
        """Creates an empty cache. Options: see KvOptions."""
        super().__init__(rt, n_layers=n_layers, n_kv_heads=n_kv_heads, n_q_heads=n_q_heads, head_dim_k=head_dim_k,
                         head_dim_v=head_dim_v, **options)
        self._key = n_kv_heads, head_dim_k
        self._value = n_kv_heads, head_dim_v or head_dim_k
        self._query = n_q_heads, head_dim_k
        self._result = n_q_heads, head_dim_v or head_dim_k

    def _tokens(self, k: Array) -> int:
        return self._whole(k, self._key, "k", "a token")

    def _queries(self, q: Array) -> int:
        return self._whole(q, self._query, "q", "a query")

    def _whole(self, array: Array, shape: tuple[int, int], name: str, what: str) -> int:
        of = shape[0] * shape[1]
        if array.size % of:
            raise argument(f"{name} has {array.size} values of shape {array.shape}, {what} has {of}")
        return array.size // of

    def attend(self, layer: int, sequence: int, q: Buffer, out: Buffer | None = None,
               lse: Buffer | None = None, positions: Ints | None = None, **options: Any) -> Floats:
        """Attention of queries, f32 [n][query heads][dim], over a layer of a sequence: f32
        [n][query heads][value dim]. lse is filled where it is given, [n][query heads]; positions
        None: those of the last tokens. Options: see AttendOptions."""
        def call(*a: Any) -> int:
            return lib.ggufx_kv_attend(a[0], a[1], a[2], self._handle, layer, sequence, *a[3:])
        of = reads(q, F32, "q")
        return self._ask(call, of, self._queries(of), out, lse, positions, options)

    def attend_batch(self, layer: int, sequences: Ints, q: Buffer, out: Buffer | None = None,
                     lse: Buffer | None = None, positions: Ints | None = None, **options: Any) -> Floats:
        """One query of each of sequences; else as attend."""
        of = reads(q, F32, "q")
        n = self._queries(of)
        which = numbers(sequences, U32, "sequences", n)

        def call(*a: Any) -> int:
            return lib.ggufx_kv_attend_batch(a[0], a[1], a[2], self._handle, layer, address(which),
                                             *a[3:])
        return self._ask(call, of, n, out, lse, positions, options)

    def _ask(self, function: Callable[..., int], q: Array, n: int, out: Buffer | None,
             lse: Buffer | None, positions: Ints | None, options: dict[str, Any]) -> Floats:
        to = result(out, (n, *self._result))
        sums = None if lse is None else writes(lse, F32, "lse", n * self._query[0])
        at = None if positions is None else numbers(positions, I32, "positions", n)
        e = _raw.ggufx_error()
        arguments = (address(to), to.size, address_or_none(sums), address(q), q.size, n, address_or_none(at))
        with self._turns.reading:
            if not options:
                check(function(*arguments, None, byref(e)), e)
            else:
                with Following() as call:
                    o = call.struct(_raw.ggufx_attend_options, AttendOptions(**options))
                    call.end(function(*arguments, o, byref(e)), e)
        return to

    def read_k(self, layer: int, sequence: int, first: int, n: int,
               out: Buffer | None = None) -> Floats:
        """Decode the keys of tokens first .. first + n - 1: f32, [n][heads][dim]."""
        to, e = result(out, (n, *self._key)), _raw.ggufx_error()
        with self._turns.reading:
            check(lib.ggufx_kv_read(address(to), to.size, None, 0, self._handle, layer, sequence,
                                    first, n, byref(e)), e)
        return to

    def read_v(self, layer: int, sequence: int, first: int, n: int,
               out: Buffer | None = None) -> Floats:
        """Decode values; else as read_k."""
        to, e = result(out, (n, *self._value)), _raw.ggufx_error()
        with self._turns.reading:
            check(lib.ggufx_kv_read(None, 0, address(to), to.size, self._handle, layer, sequence,
                                    first, n, byref(e)), e)
        return to

    def scores(self, layer: int, sequence: int, q: Buffer, out: Buffer | None = None,
               scale: float = 0) -> Floats:
        """Scores of queries against every token of a layer: f32, [n][query heads][tokens]."""
        of = reads(q, F32, "q")
        n = self._queries(of)
        to = result(out, (n, self._query[0], self.length(sequence))) if out is None \
            else writes(out, F32, "out")
        e = _raw.ggufx_error()
        with self._turns.reading:
            check(lib.ggufx_kv_scores(address(to), to.size, self._handle, layer, sequence,
                                      address(of), of.size, n, scale, byref(e)), e)
        return to
