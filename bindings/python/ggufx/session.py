"""Sequences of tokens, their logits, and what attention computes.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import POINTER, addressof, byref, c_float, c_int32, c_size_t, c_uint32, c_uint64, c_void_p, cast, sizeof
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Callable, Iterator, Sequence

import numpy as np

from . import _raw, _safe
from ._buffers import F32, I32, Array, Buffer, Floats, Ints, address, numbers, reads, result
from ._callbacks import Following, Progress, callback
from ._checked import refuse
from ._error import argument
from ._library import lib
from ._safe import LayerFacts, Model
from .detokenizer import Tokenizer
from .errors import StateError, check
from .ids import (
    BatchFlags, BatchOptionsFlags, DecodeFlags, LayerFlags, TokenFlags)
from .matcher import Matcher
from .sampler import Sampler

_LAYER = callback(c_int32, c_uint32, c_uint64, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p)


class AttentionView:
    """Inputs and outputs of a layer's attention. Each array is copied on access, which is valid
    only during the callback."""

    def __init__(self, facts: LayerFacts, layer: int, first_token: int, n_tokens: int, at: tuple[int, ...]) -> None:
        self.layer, self.first_token, self.n_tokens = layer, first_token, n_tokens
        self._facts, self._pointers = facts, at
        self._open = True

    def _copy(self, which: int, heads: int, dim: int) -> Floats:
        if not self._open:
            raise StateError("STATE: the function that was shown the attention has ended")
        shape = (self.n_tokens, heads, dim)
        if dim == 0:
            return np.empty(shape, F32)
        return np.ctypeslib.as_array(cast(self._pointers[which], POINTER(c_float)), shape).copy()

    @property
    def q(self) -> Floats:
        """Queries, [n_tokens][heads][head_dim_k], with their positions turned in."""
        return self._copy(0, self._facts.n_heads, self._facts.head_dim_k)

    @property
    def k(self) -> Floats:
        """Keys, [n_tokens][KV heads][head_dim_k], with their positions turned in."""
        return self._copy(1, self._facts.n_kv_heads, self._facts.head_dim_k)

    @property
    def v(self) -> Floats:
        """Values, [n_tokens][KV heads][head_dim_v]; empty if values are part of the keys."""
        own = not self._facts.flags & LayerFlags.V_IN_K
        return self._copy(2, self._facts.n_kv_heads, self._facts.head_dim_v if own else 0)

    @property
    def out(self) -> Floats:
        """Output of attention, [n_tokens][heads][head_dim_v]."""
        return self._copy(3, self._facts.n_heads, self._facts.head_dim_v)


# Looks at attention; False ends the decode with CancelledError.
AttentionHook = Callable[[AttentionView], "bool | None"]


class Want(IntEnum):
    """Which logits of an item are computed."""

    NONE = 0
    LAST = BatchFlags.LOGITS
    """One row: the logits after its last token."""
    ALL = BatchFlags.ALL_LOGITS
    """A row for each of its tokens."""


@dataclass
class BatchItem:
    """Tokens to append to a sequence."""

    sequence: int
    tokens: Ints
    want: Want = Want.LAST
    mark: bool = False
    """Sets a checkpoint: truncation and copies can return to the end of these tokens without
    recomputation."""
    rows: Buffer | None = None
    """f32 [n][n_embedding] for the first layer instead of the tokens' embedding rows. Without
    tokens, the number of rows counts."""
    positions: Ints | None = None
    """Ascending, one for each token; None: without gaps."""
    hidden: Want = Want.NONE
    """Hidden states to return, those after the last norm."""


_HIDDEN = {Want.NONE: 0, Want.LAST: BatchFlags.EMBED, Want.ALL: BatchFlags.ALL_EMBED}


def _given(item: BatchItem, width: int) -> tuple[list[Array], int]:
    """Tokens, rows and positions as arrays, and how many tokens these are."""
    tokens = numbers(item.tokens, I32, "tokens")
    rows = np.empty(0, F32) if item.rows is None else reads(item.rows, F32, "rows")
    n = tokens.size or rows.size // width
    places = np.empty(0, I32) if item.positions is None else \
        numbers(item.positions, I32, "positions")
    if item.positions is not None and places.size != n:
        raise argument(f"{places.size} positions of {n} tokens")
    return [tokens, rows, places], n


def _filled(items: Sequence[BatchItem], width: int) -> tuple[Any, list[list[Array]], int, int]:
    """C items, the arrays that they point to, and the numbers of logit and hidden-state rows."""
    out, kept, rows, states = (_raw.ggufx_batch_item * max(len(items), 1))(), [], 0, 0
    for to, item in zip(out, items):
        if not 0 <= item.sequence < 2**32:
            refuse("sequence", item.sequence, 0, 2**32 - 1)
        (tokens, given, places), n = arrays = _given(item, width)
        want, hidden = Want(item.want), Want(item.hidden)
        kept.append(arrays[0])
        to.sequence = item.sequence
        to.flags = want | _HIDDEN[hidden] | (BatchFlags.MARK if item.mark else 0)
        to.tokens, to.n_tokens = address(tokens) if tokens.size else None, n
        to.embeddings, to.n_embeddings = address(given) if given.size else None, given.size
        to.positions = address(places) if places.size else None
        rows += n if want == Want.ALL else want == Want.LAST
        states += n if hidden == Want.ALL else hidden == Want.LAST
    return out, kept, rows, states


class Session(_safe.Session):
    """Session: KV cache, position and last logits of one sequence, or of n_sequences. A
    concurrent call that changes it raises StateError."""

    def _begin(self, model: Model) -> None:
        info = model.info
        self._layers = [model.layer(i) for i in range(info.n_layers)]
        self.n_vocab, self.n_context, self.n_embedding = info.n_vocab, self.info.n_context, info.n_embedding

    def __len__(self) -> int:
        """Tokens in the first sequence."""
        return self.length()

    def decode(self, tokens: Ints, logits: Buffer | None = None, *,
               attention: AttentionHook | None = None, progress: Progress | None = None) -> None:
        """Append tokens and compute the logits after the last one, all or nothing. logits, f32
        [n][n_vocab], is filled with those of every token."""
        of, e = numbers(tokens, I32, "tokens"), _raw.ggufx_error()
        o = _raw.ggufx_decode_options(struct_size=sizeof(_raw.ggufx_decode_options))
        if logits is not None:
            every = result(logits, (of.size, self.n_vocab), what="logits")
            o.flags, o.logits, o.n_logits = DecodeFlags.ALL_LOGITS, address(every), every.size
        with self._turns.changing, Following() as call:
            o.progress = call.follow(progress)
            shown = _raw.ggufx_attention_hook(struct_size=sizeof(_raw.ggufx_attention_hook))
            shown.layer, shown.user = call.on(_LAYER, attention, self._show)
            if attention is not None:
                o.attention = addressof(shown)
            call.end(lib.ggufx_session_decode(self._handle, address(of), of.size, byref(o),
                                              byref(e)), e)

    def _show(self, attention: AttentionHook, layer: int, first: int, n: int, *at: int) -> bool | None:
        view = AttentionView(self._layers[layer], layer, first, n, at)
        try:
            return attention(view)
        finally:
            view._open = False

    def decode_batch(self, items: Sequence[BatchItem], logits: Buffer | None = None, *,
                     hidden: Buffer | None = None, matmul_flags: int | None = None,
                     progress: Progress | None = None) -> Floats:
        """Append tokens to many sequences, all or nothing, and compute the logits that the items
        want: rows in their order, [n][n_vocab], in `logits` or in a new array. `hidden`, f32
        [n][n_embedding], is filled with the hidden states that they want. matmul_flags
        override the session's."""
        raw, kept, rows, n_hidden = _filled(items, self.n_embedding)
        to, e = result(logits, (rows, self.n_vocab), what="logits"), _raw.ggufx_error()
        o = _raw.ggufx_batch_options(
            struct_size=sizeof(_raw.ggufx_batch_options), n_logits=to.size,
            item_size=sizeof(_raw.ggufx_batch_item))
        if rows:
            o.logits = address(to)
        if n_hidden:
            states = result(hidden, (n_hidden, self.n_embedding), what="hidden")
            o.embeddings, o.n_embeddings = address(states), states.size
        if matmul_flags is not None:
            o.flags, o.matmul_flags = BatchOptionsFlags.MATMUL, matmul_flags
        with self._turns.changing, Following() as call:
            o.progress = call.follow(progress)
            call.end(lib.ggufx_session_decode_batch(self._handle, byref(raw), len(items),
                                                    byref(o), byref(e)), e)
        del kept
        return to

    def logits(self, out: Buffer | None = None) -> Floats:
        """The logits after the last token."""
        to, e = result(out, (self.n_vocab,)), _raw.ggufx_error()
        with self._turns.reading:
            check(lib.ggufx_session_logits(address(to), to.size, self._handle, byref(e)), e)
        return to

    def generate(self, tokens: Ints, sampler: Sampler, n: int | None = None, *,
                 tokenizer: Tokenizer | None = None, matcher: Matcher | None = None,
                 progress: Progress | None = None) -> Iterator[int]:
        """Decode tokens, then yield sampled ids, at most n. Ends when the context is full, and
        with a tokenizer before an end-of-generation token. A yielded id is decoded when the
        next one is requested. A matcher constrains the ids and advances with them."""
        logits, given = np.empty(self.n_vocab, F32), 0
        following = numbers(tokens, I32, "tokens")
        while (n is None or given < n) and len(self) + following.size <= self.n_context:
            self.decode(following, progress=progress)
            now = self.logits(logits)
            id, _ = sampler.sample(now) if matcher is None else sampler.sample_matching(matcher, now)
            if tokenizer is not None and tokenizer.token_info(id).flags & TokenFlags.END:
                return
            yield id
            given += 1
            following = np.array([id], I32)
