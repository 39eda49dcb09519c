"""Shapes of arrays in the calls of some classes.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from ._buffers import I32, Array, Buffer, Ints, equal
from ._error import argument
from ._handle import Object
from .ids import Pooling

if TYPE_CHECKING:
    from ._safe import DecodeItem, EmbedderFacts, MatcherFacts
    from .session import AttentionView

# Looks at attention; False ends the decode with CancelledError.
AttentionHook = Callable[["AttentionView"], object]


def rows_of(items: Sequence[DecodeItem], one: int, every: int) -> int:
    """Rows that items ask for: the last one, or one for each token."""
    return sum(equal(item.tokens, item.positions) if item.flags & every else bool(item.flags & one) for item in items)


class SessionShapes(Object):
    n_vocab: int
    n_context: int
    n_embedding: int

    def _attention(self, hook: AttentionHook | None, keep: Any) -> int | None:
        """Address of the struct of a hook."""
        raise NotImplementedError


class EmbedderShapes(Object):
    @property
    def info(self) -> EmbedderFacts:
        raise NotImplementedError

    def _begin(self, parent: Any, options: Any) -> None:
        self._info = self.info

    def _rows(self, texts: Sequence[Ints]) -> int:
        """One for each text; with Pooling.NONE one for each token."""
        if self._info.pooling != Pooling.NONE:
            return len(texts)
        return sum(min(np.size(text), self._info.n_context) for text in texts)


class MatcherShapes(Object):
    mask: Callable[[], Array]

    @property
    def info(self) -> MatcherFacts:
        raise NotImplementedError

    def _begin(self, parent: Any, options: Any) -> None:
        self._n_words = self.info.n_words

    def allowed(self) -> Array:
        """Ids of the tokens that fit now, in ascending order."""
        bits = np.unpackbits(self.mask().astype("<u4", copy=False).view(np.uint8), bitorder="little")
        return np.flatnonzero(bits).astype(I32)


class KvShapes(Object):
    """Heads and values of a head."""

    def _begin(self, parent: Any, options: Any) -> None:
        dim_v = options.head_dim_v or options.head_dim_k
        self._key, self._value = (options.n_kv_heads, options.head_dim_k), (options.n_kv_heads, dim_v)
        self._query, self._result = (options.n_q_heads, options.head_dim_k), (options.n_q_heads, dim_v)

    def _tokens(self, k: Buffer) -> int:
        return _whole(k, self._key, "k", "a token")

    def _queries(self, q: Buffer) -> int:
        return _whole(q, self._query, "q", "a query")


def _whole(buffer: Buffer, shape: tuple[int, int], name: str, what: str) -> int:
    array, of = np.asarray(buffer), shape[0] * shape[1]
    if array.size % of:
        raise argument(f"{name} has {array.size} values of shape {array.shape}, {what} has {of}")
    return array.size // of
