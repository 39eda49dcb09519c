"""Attention over a cache, and what it holds.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref, sizeof
from typing import Any, Callable

from . import _raw
from ._buffers import (
    F32, I32, U32, Array, Buffer, Floats, Ints, address, address_or_none, numbers, reads, result,
    writes)
from ._callbacks import Following, Progress
from ._handle import Object, Turns
from ._library import lib
from .errors import argument, check


class Attention(Object):
    """Attention queries on a cache; thread-safe."""

    _turns: Turns
    _key: tuple[int, int]
    _value: tuple[int, int]
    _query: tuple[int, int]
    _result: tuple[int, int]

    def attend(self, layer: int, sequence: int, q: Buffer, out: Buffer | None = None,
               lse: Buffer | None = None, positions: Ints | None = None, *, flags: int = 0,
               scale: float = 0, softcap: float = 0, window: int = 0,
               window_kind: int = 0, alibi_slopes: Buffer | None = None,
               sink_logits: Buffer | None = None, progress: Progress | None = None) -> Floats:
        """Attention of queries, f32 [n][query heads][dim], over a layer of a sequence: f32
        [n][query heads][value dim]. lse is filled where it is given, [n][query heads]; positions
        None: those of the last tokens. flags: AttendFlags; slopes and sinks: one per query head."""
        of = reads(q, F32, "q")
        n = self._queries(of)
        o, kept = self._asking(flags, scale, softcap, window, window_kind, alibi_slopes,
                               sink_logits)

        def call(*a: Any) -> int:
            return lib.ggufx_kv_attend(a[0], a[1], a[2], self._handle, layer, sequence, *a[3:])
        return self._ask(call, of, n, out, lse, positions, o, kept, progress)

    def attend_batch(self, layer: int, sequences: Ints, q: Buffer, out: Buffer | None = None,
                     lse: Buffer | None = None, positions: Ints | None = None, *, flags: int = 0,
                     scale: float = 0, softcap: float = 0, window: int = 0,
                     window_kind: int = 0, alibi_slopes: Buffer | None = None,
                     sink_logits: Buffer | None = None, progress: Progress | None = None) -> Floats:
        """One query of each of sequences; else as attend."""
        of = reads(q, F32, "q")
        n = self._queries(of)
        which = numbers(sequences, U32, "sequences", n)
        o, kept = self._asking(flags, scale, softcap, window, window_kind, alibi_slopes,
                               sink_logits)

        def call(*a: Any) -> int:
            return lib.ggufx_kv_attend_batch(a[0], a[1], a[2], self._handle, layer, address(which),
                                             *a[3:])
        return self._ask(call, of, n, out, lse, positions, o, kept, progress)

    def _queries(self, q: Array) -> int:
        of = self._query[0] * self._query[1]
        if q.size % of:
            raise argument(f"q has {q.size} values of shape {q.shape}, a query has {of}")
        return q.size // of

    def _asking(self, flags: int, scale: float, softcap: float, window: int, window_kind: int,
                slopes: Buffer | None, sinks: Buffer | None
                ) -> tuple[_raw.ggufx_attend_options, object]:
        o = _raw.ggufx_attend_options(
            struct_size=sizeof(_raw.ggufx_attend_options), flags=flags, scale=scale,
            softcap=softcap, window=window, window_kind=window_kind)
        of_slopes = None if slopes is None else reads(slopes, F32, "alibi_slopes")
        of_sinks = None if sinks is None else reads(sinks, F32, "sink_logits")
        if of_slopes is not None:
            o.alibi_slopes, o.n_alibi_slopes = address(of_slopes), of_slopes.size
        if of_sinks is not None:
            o.sink_logits, o.n_sink_logits = address(of_sinks), of_sinks.size
        return o, (of_slopes, of_sinks)

    def _ask(self, function: Callable[..., int], q: Array, n: int, out: Buffer | None,
             lse: Buffer | None, positions: Ints | None, o: _raw.ggufx_attend_options,
             kept: object, progress: Progress | None) -> Floats:
        to = result(out, (n, *self._result))
        sums = None if lse is None else writes(lse, F32, "lse", n * self._query[0])
        at = None if positions is None else numbers(positions, I32, "positions", n)
        e = _raw.ggufx_error()
        arguments = (address(to), to.size, address_or_none(sums), address(q), q.size, n,
                     address_or_none(at), byref(o), byref(e))
        with self._turns.reading:
            if progress is None:
                check(function(*arguments), e)
            else:
                with Following(progress) as call:
                    o.progress = call.progress
                    call.end(function(*arguments), e)
        del kept
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

    def length(self, sequence: int = 0) -> int:
        """Tokens of a sequence."""
        raise NotImplementedError

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


