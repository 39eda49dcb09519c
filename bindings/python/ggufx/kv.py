"""The KV cache.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import addressof, byref, c_uint64, sizeof
from dataclasses import dataclass

import numpy as np

from . import _raw
from ._buffers import (
    F16, F32, F64, I32, U16, U32, Array, Buffer, Ints, address, address_or_none, numbers, reads,
    writes)
from ._callbacks import Following, Progress
from ._facts import asked, made
from ._handle import KvHandle, Turns
from ._library import lib
from .errors import argument, check
from .ids import (HalfFormat, KV_ALL_LAYERS, KV_ALL_SEQUENCES, KV_KEEP_TYPE, KvFlags, KvType, RopeStyle, WindowKind)
from .kv_attend import Attention
from .kv_snapshot import Snapshots
from .runtime import Runtime


@dataclass
class KvLayer:
    """Settings that differ per layer."""

    type_k: KvType = KvType.DEFAULT
    type_v: KvType = KvType.DEFAULT
    window: int = 0
    """Attention window in positions; 0: all up to its own."""
    window_kind: WindowKind = WindowKind.SLIDING


@dataclass
class KvOptions:
    """Shape and types of a cache; 0 is the default."""

    n_layers: int
    n_kv_heads: int
    n_q_heads: int
    head_dim_k: int
    head_dim_v: int = 0
    type_k: KvType = KvType.DEFAULT
    type_v: KvType = KvType.DEFAULT
    n_sequences: int = 0
    max_tokens: int = 0
    n_sinks: int = 0
    """First tokens kept as F16 (BF16: as F32); 0: 64; KV_NO_SINKS: none."""
    rope_style: RopeStyle = RopeStyle.UNKNOWN
    rope_dims: int = 0
    rope_base: float = 0
    rope_scale: float = 0
    rope_frequencies: Buffer | None = None
    """RoPE frequencies in radians per position, instead of base and scale."""
    flags: KvFlags = KvFlags(0)
    model: int = 0
    layers: list[KvLayer] | None = None
    """None, or one per layer."""

    def _filled(self) -> tuple[_raw.ggufx_kv_options, object]:
        """C struct, and the data that it points to."""
        o = _raw.ggufx_kv_options(struct_size=sizeof(_raw.ggufx_kv_options), flags=self.flags)
        for name in ("n_layers", "n_kv_heads", "n_q_heads", "head_dim_k", "head_dim_v", "type_k",
                     "type_v", "n_sequences", "max_tokens", "n_sinks", "rope_style", "rope_dims",
                     "rope_base", "rope_scale", "model"):
            setattr(o, name, getattr(self, name))
        frequencies = None
        if self.rope_frequencies is not None:
            frequencies = reads(self.rope_frequencies, F64, "rope_frequencies")
            o.rope_frequencies, o.n_rope_frequencies = address(frequencies), frequencies.size
        if self.layers is None:
            return o, frequencies
        layers = (_raw.ggufx_kv_layer * max(len(self.layers), 1))()
        for i, layer in enumerate(self.layers):
            layers[i].type_k, layers[i].type_v = layer.type_k, layer.type_v
            layers[i].window, layers[i].window_kind = layer.window, layer.window_kind
        o.layers, o.n_layer_options = addressof(layers), len(self.layers)
        return o, (layers, frequencies)


@dataclass(frozen=True)
class KvStats:
    """Facts of a layer or cache."""

    type_k: KvType
    type_v: KvType
    n_tokens: int
    n_pages: int
    n_plain_pages: int
    n_shared_pages: int
    page_bytes: int
    bytes_per_token: int
    bits_per_value: float
    k_error: float
    v_error: float


def kv_estimate(rt: Runtime, options: KvOptions, n_tokens: int) -> int:
    """Bytes of such a cache once n_tokens are reserved in every sequence."""
    o, kept = options._filled()
    out, e = c_uint64(), _raw.ggufx_error()
    check(lib.ggufx_kv_estimate(byref(out), rt._handle, byref(o), n_tokens, byref(e)), e)
    del kept
    return out.value


class KvCache(Attention, Snapshots):
    """Keys and values of layers and sequences, and attention over them. A concurrent call that
    changes it raises StateError."""

    def __init__(self, rt: Runtime, options: KvOptions) -> None:
        o, kept = options._filled()
        own, e = KvHandle(), _raw.ggufx_error()
        check(lib.ggufx_kv_create(byref(own), rt._handle, byref(o), byref(e)), e)
        del kept
        self._own, self._turns = own, Turns()
        self._key = options.n_kv_heads, options.head_dim_k
        self._value = options.n_kv_heads, options.head_dim_v or options.head_dim_k
        self._query = options.n_q_heads, options.head_dim_k
        self._result = options.n_q_heads, options.head_dim_v or options.head_dim_k

    def reserve(self, sequence: int, n_tokens: int) -> None:
        """Reserve all pages for n_tokens of a sequence."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_kv_reserve(self._handle, sequence, n_tokens, byref(e)), e)

    def _tokens(self, k: Array) -> int:
        of = self._key[0] * self._key[1]
        if k.size % of:
            raise argument(f"k has {k.size} values of shape {k.shape}, a token has {of}")
        return k.size // of

    def append(self, layer: int, sequence: int, k: Buffer, v: Buffer | None = None,
               positions: Ints | None = None) -> None:
        """Append tokens to a layer of a sequence, all or nothing: k and v f32, [n][heads][dim];
        positions None: the next ones. v is None where values are part of the keys."""
        keys, values = reads(k, F32, "k"), None if v is None else reads(v, F32, "v")
        n = self._tokens(keys)
        at = None if positions is None else numbers(positions, I32, "positions", n)
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_kv_append(
                self._handle, layer, sequence, n, address_or_none(at), address(keys), keys.size,
                address_or_none(values), 0 if values is None else values.size, byref(e)), e)

    def append_half(self, layer: int, sequence: int, k: Buffer, v: Buffer | None = None,
                    positions: Ints | None = None,
                    format: HalfFormat = HalfFormat.F16) -> None:
        """append from values of 16 bits: arrays of float16, or of uint16 in a format."""
        dtype = U16 if format == HalfFormat.BF16 else None
        keys = _half(k, dtype, "k")
        values = None if v is None else _half(v, dtype, "v")
        n = self._tokens(keys)
        at = None if positions is None else numbers(positions, I32, "positions", n)
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_kv_append_half(
                self._handle, layer, sequence, n, address_or_none(at), format, address(keys),
                keys.size, address_or_none(values), 0 if values is None else values.size,
                byref(e)), e)

    def append_batch(self, layer: int, sequences: Ints, positions: Ints, k: Buffer,
                     v: Buffer | None = None) -> None:
        """Append a token to each of sequences at its position, all or nothing."""
        keys, values = reads(k, F32, "k"), None if v is None else reads(v, F32, "v")
        to = numbers(sequences, U32, "sequences")
        at = numbers(positions, I32, "positions", to.size)
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_kv_append_batch(
                self._handle, layer, to.size, address(to), address(at), address(keys), keys.size,
                address_or_none(values), 0 if values is None else values.size, byref(e)), e)

    def length(self, sequence: int = 0) -> int:
        """Tokens of a sequence."""
        o, e = c_uint64(), _raw.ggufx_error()
        with self._turns.reading:
            check(lib.ggufx_kv_length(byref(o), self._handle, sequence, byref(e)), e)
        return o.value

    def positions(self, sequence: int = 0, first: int = 0, n: int | None = None,
                  out: Buffer | None = None) -> Array:
        """Positions of tokens first .. of a sequence."""
        if out is None:
            out = np.empty(max(self.length(sequence) - first, 0) if n is None else n, I32)
        to, e = writes(out, I32, "out", n), _raw.ggufx_error()
        with self._turns.reading:
            check(lib.ggufx_kv_positions(address(to), self._handle, sequence, first, to.size,
                                         byref(e)), e)
        return to

    def truncate(self, sequence: int, n_tokens: int) -> None:
        """Keep the first n_tokens tokens of a sequence."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_kv_truncate(self._handle, sequence, n_tokens, byref(e)), e)

    def begin(self, sequence: int) -> None:
        """Begin a transaction: rollback undoes all appends until commit."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_kv_begin(self._handle, sequence, byref(e)), e)

    def commit(self, sequence: int) -> None:
        """Commits the appended tokens; ends the call."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_kv_commit(self._handle, sequence, byref(e)), e)

    def rollback(self, sequence: int) -> None:
        """Roll back to begin, or truncate all layers to the shortest one."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_kv_rollback(self._handle, sequence, byref(e)), e)

    def remove(self, sequence: int, p0: int, p1: int) -> None:
        """Remove the tokens at positions p0 .. p1 - 1."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_kv_remove(self._handle, sequence, p0, p1, byref(e)), e)

    def copy(self, source: int, to: int, p0: int, p1: int) -> None:
        """Copy tokens of another sequence into an empty one."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_kv_copy(self._handle, source, to, p0, p1, byref(e)), e)

    def shift(self, sequence: int, p0: int, p1: int, delta: int) -> None:
        """Add delta to the positions p0 .. p1 - 1."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_kv_shift(self._handle, sequence, p0, p1, delta, byref(e)), e)

    def keep(self, sequence: int) -> None:
        """Drop all sequences but one."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_kv_keep(self._handle, sequence, byref(e)), e)

    def clear(self) -> None:
        """Drop all tokens of all sequences."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_kv_clear(self._handle, byref(e)), e)

    def calibrate(self, layer: int, mu_k: Buffer | None = None, eq_k: Buffer | None = None,
                  mu_v: Buffer | None = None) -> None:
        """Set the means and equalisers of a layer; None: 0 and 1."""
        n_k, n_v = self._key[0] * self._key[1], self._value[0] * self._value[1]
        mu = None if mu_k is None else reads(mu_k, F32, "mu_k", n_k)
        eq = None if eq_k is None else reads(eq_k, F32, "eq_k", n_k)
        v = None if mu_v is None else reads(mu_v, F32, "mu_v", n_v)
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_kv_calibrate(
                self._handle, layer, address_or_none(mu), address_or_none(eq),
                0 if mu is None and eq is None else n_k, address_or_none(v),
                0 if v is None else n_v, byref(e)), e)

    def requantize(self, layer: int = KV_ALL_LAYERS, type_k: int = KV_KEEP_TYPE,
                   type_v: int = KV_KEEP_TYPE, progress: Progress | None = None) -> None:
        """Requantize the keys and values of a layer, or of all."""
        e = _raw.ggufx_error()
        with self._turns.changing, Following(progress) as call:
            call.end(lib.ggufx_kv_requantize(self._handle, layer, type_k, type_v, call.progress,
                                             byref(e)), e)

    def compact(self, sequence: int = KV_ALL_SEQUENCES, progress: Progress | None = None) -> None:
        """Make few pages of the parts of pages in a sequence, or in all."""
        e = _raw.ggufx_error()
        with self._turns.changing, Following(progress) as call:
            call.end(lib.ggufx_kv_compact(self._handle, sequence, call.progress, byref(e)), e)

    def stats(self, layer: int = KV_ALL_LAYERS) -> KvStats:
        """Describe a layer, or the cache."""
        with self._turns.reading:
            o = asked(_raw.ggufx_kv_facts, lib.ggufx_kv_stats, self._handle, layer)
        return made(KvStats, o, type_k=KvType(o.type_k), type_v=KvType(o.type_v))


def _half(buffer: Buffer, dtype: np.dtype[np.uint16] | None, what: str) -> Array:
    """float16, or the same as numbers of 16 bits."""
    if dtype is None and isinstance(buffer, np.ndarray) and buffer.dtype == F16:
        return reads(buffer, F16, what)
    return reads(buffer, U16, what)
