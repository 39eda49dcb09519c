"""Tokens with which a model can go on within a grammar.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from typing import Any

import numpy as np

from . import _safe
from ._buffers import I32, Array


class Matcher(_safe.Matcher):
    """State of a text in a grammar, initially empty. A concurrent call raises StateError."""

    def _begin(self, parent: Any, options: Any) -> None:
        self._n_words = self.info.n_words

    def allowed(self) -> Array:
        """Ids of the tokens that fit now, in ascending order."""
        bits = np.unpackbits(self.mask().astype("<u4", copy=False).view(np.uint8),
                             bitorder="little")
        return np.flatnonzero(bits).astype(I32)
