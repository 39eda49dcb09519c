"""Texts to vectors, and scores of rerankers.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref
from typing import Any, Sequence

from . import _raw, _safe
from ._buffers import I32, Buffer, Floats, Ints, address, numbers, room_for
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
        lists = (_raw.ggufx_token_list * max(len(parts), 1))(
            *(_raw.ggufx_token_list(address(part), part.size) for part in parts))
        rows = len(parts)
        if self._info.pooling == Pooling.NONE:
            rows = sum(min(part.size, self._info.n_context) for part in parts)
        to, e = room_for(out, (rows, self._info.dimensions)), _raw.ggufx_error()
        with self._turns.changing, Following() as call:
            call.end(lib.ggufx_embed(address(to), to.size, self._handle, byref(lists), len(parts),
                                     call.follow(progress), byref(e)), e)
        return to
