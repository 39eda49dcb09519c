"""Tokens with which a model can go on within a grammar.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref

import numpy as np

from . import _raw, _safe
from ._buffers import I32, U32, Array, Buffer, address, writes
from ._library import lib
from .errors import check


class Matcher(_safe.Matcher):
    """State of a text in a grammar, initially empty. A concurrent call raises StateError."""

    def mask(self, out: Buffer | None = None) -> Array:
        """Which tokens fit now, u32: bit id % 32 of word id // 32."""
        of = np.zeros(self.info.n_words, U32) if out is None else writes(out, U32, "out")
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_matcher_mask(address(of), of.size, self._handle, byref(e)), e)
        return of

    def allowed(self) -> Array:
        """Ids of the tokens that fit now, in ascending order."""
        bits = np.unpackbits(self.mask().astype("<u4", copy=False).view(np.uint8),
                             bitorder="little")
        return np.flatnonzero(bits).astype(I32)
