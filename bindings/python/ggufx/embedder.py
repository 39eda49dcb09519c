"""Texts to vectors, and scores of rerankers.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref
from typing import Any, Sequence

import numpy as np

from . import _raw, _safe
from ._buffers import I32, SIZE, Buffer, Floats, Ints, address, numbers, room_for
from ._callbacks import Following, Progress
from ._library import lib
from .ids import Pooling


class Embedder(_safe.Embedder):
    """Computes embeddings. A concurrent call raises StateError."""

    def _begin(self, parent: Any, options: Any) -> None:
        self._info = self.info

    def embed(self, texts: Sequence[Ints], out: Buffer | None = None, *,
              progress: Progress | None = None) -> Floats:
        """One row per text, a list of ids, with the special tokens of the model's training; with
        Pooling.NONE a row for each token."""
        parts = [numbers(text, I32, "texts").reshape(-1) for text in texts]
        lengths = np.array([part.size for part in parts], SIZE)
        tokens = np.concatenate(parts) if parts else np.empty(0, I32)
        rows = len(parts)
        if self._info.pooling == Pooling.NONE:
            rows = sum(min(part.size, self._info.n_context) for part in parts)
        to, e = room_for(out, (rows, self._info.dimensions)), _raw.ggufx_error()
        with self._turns.changing, Following() as call:
            call.end(lib.ggufx_embed(address(to), to.size, self._handle, address(tokens),
                                     tokens.size, address(lengths), len(parts),
                                     call.follow(progress), byref(e)), e)
        return to
