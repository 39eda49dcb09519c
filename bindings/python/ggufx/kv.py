"""The KV cache: what goes in.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref
from typing import Any

import numpy as np

from . import _raw
from ._buffers import (
    F16, F32, I32, U16, U32, Array, Buffer, Ints, address, address_or_none, numbers, reads)
from ._library import lib
from .errors import check
from .ids import HalfFormat
from .kv_attend import Attention


class KvCache(Attention):
    """Keys and values of layers and sequences, and attention over them. A concurrent call that
    changes it raises StateError."""

    def _append(self, function: Any, first: tuple[Any, ...], keys: Array, values: Array | None) -> None:
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(function(self._handle, *first, address(keys), keys.size, address_or_none(values),
                           0 if values is None else values.size, byref(e)), e)

    def append(self, layer: int, sequence: int, k: Buffer, v: Buffer | None = None,
               positions: Ints | None = None) -> None:
        """Append tokens to a layer of a sequence, all or nothing: k and v f32, [n][heads][dim];
        positions None: the next ones. v is None where values are part of the keys."""
        keys, values = reads(k, F32, "k"), None if v is None else reads(v, F32, "v")
        n = self._tokens(keys)
        at = None if positions is None else numbers(positions, I32, "positions", n)
        self._append(lib.ggufx_kv_append, (layer, sequence, n, address_or_none(at)), keys, values)

    def append_half(self, layer: int, sequence: int, k: Buffer, v: Buffer | None = None,
                    positions: Ints | None = None,
                    format: HalfFormat = HalfFormat.F16) -> None:
        """append from values of 16 bits: arrays of float16, or of uint16 in a format."""
        dtype = U16 if format == HalfFormat.BF16 else None
        keys = _half(k, dtype, "k")
        values = None if v is None else _half(v, dtype, "v")
        n = self._tokens(keys)
        at = None if positions is None else numbers(positions, I32, "positions", n)
        self._append(lib.ggufx_kv_append_half, (layer, sequence, n, address_or_none(at), format), keys, values)

    def append_batch(self, layer: int, sequences: Ints, positions: Ints, k: Buffer,
                     v: Buffer | None = None) -> None:
        """Append a token to each of sequences at its position, all or nothing."""
        keys, values = reads(k, F32, "k"), None if v is None else reads(v, F32, "v")
        to = numbers(sequences, U32, "sequences")
        at = numbers(positions, I32, "positions", to.size)
        self._append(lib.ggufx_kv_append_batch, (layer, to.size, address(to), address(at)), keys, values)


def _half(buffer: Buffer, dtype: np.dtype[np.uint16] | None, what: str) -> Array:
    """float16, or the same as numbers of 16 bits."""
    if dtype is None and isinstance(buffer, np.ndarray) and buffer.dtype == F16:
        return reads(buffer, F16, what)
    return reads(buffer, U16, what)
