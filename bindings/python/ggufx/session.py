"""One conversation, and the perplexity of a text.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import POINTER, addressof, byref, c_float, c_size_t, cast, sizeof
from dataclasses import dataclass
from typing import Callable, Iterator, Sequence

import numpy as np

from . import _callbacks, _raw
from ._buffers import (
    F32, F64, I32, Buffer, Doubles, Floats, Ints, address, numbers, result)
from ._callbacks import Following, Progress
from ._facts import asked, made
from ._handle import SessionHandle, Turns
from ._library import lib
from .errors import StateError, check
from .grammar import Matcher
from .ids import DecodeFlags, KvType, LayerFlags, TokenFlags
from .measure import Measures
from .model import LayerInfo, Model
from .sampler import Sampler
from .sequences import Sequences
from .tokenizer import Tokenizer


class AttentionView:
    """Inputs and outputs of a layer's attention. Each array is copied on access, which is valid
    only during the callback."""

    def __init__(self, info: LayerInfo, layer: int, first_token: int, n_tokens: int,
                 at: tuple[int, int, int, int]) -> None:
        self.layer, self.first_token, self.n_tokens = layer, first_token, n_tokens
        self._info, self._pointers = info, at
        self._open = True

    def _copy(self, which: int, heads: int, dim: int) -> Floats:
        if not self._open:
            raise StateError("STATE: the function that was shown the attention has ended")
        shape = (self.n_tokens, heads, dim)
        if dim == 0:
            return np.empty(shape, F32)
        to = cast(self._pointers[which], POINTER(c_float))
        return np.ctypeslib.as_array(to, shape).copy()

    @property
    def q(self) -> Floats:
        """Queries, [n_tokens][heads][head_dim_k], with their positions turned in."""
        return self._copy(0, self._info.n_heads, self._info.head_dim_k)

    @property
    def k(self) -> Floats:
        """Keys, [n_tokens][KV heads][head_dim_k], with their positions turned in."""
        return self._copy(1, self._info.n_kv_heads, self._info.head_dim_k)

    @property
    def v(self) -> Floats:
        """Values, [n_tokens][KV heads][head_dim_v]; empty if values are part of the keys."""
        own = not self._info.flags & LayerFlags.V_IN_K
        return self._copy(2, self._info.n_kv_heads, self._info.head_dim_v if own else 0)

    @property
    def out(self) -> Floats:
        """Output of attention, [n_tokens][heads][head_dim_v]."""
        return self._copy(3, self._info.n_heads, self._info.head_dim_v)


# Looks at attention; False ends the decode with CancelledError.
AttentionHook = Callable[[AttentionView], "bool | None"]


@dataclass(frozen=True)
class Perplexity:
    """Perplexity of a text."""

    perplexity: float
    standard_error: float
    n_chunks: int
    n_tokens: int
    n_scored: int


@dataclass(frozen=True)
class SessionInfo:
    """Options of a session with defaults filled in."""

    n_context: int
    n_batch: int
    type_k: KvType
    type_v: KvType
    n_sequences: int
    n_context_total: int = 0


class Session(Sequences, Measures):
    """Session: KV cache, position and last logits of one sequence, or of n_sequences. A
    concurrent call that changes it raises StateError."""

    def __init__(self, model: Model, *, n_context: int = 0, n_batch: int = 0,
                 type_k: int = KvType.DEFAULT, type_v: int = KvType.DEFAULT,
                 matmul_flags: int = 0, n_checkpoints: int = 0, n_sequences: int = 0,
                 n_context_total: int = 0) -> None:
        o = _raw.ggufx_session_options(
            struct_size=sizeof(_raw.ggufx_session_options), n_context=n_context, n_batch=n_batch,
            type_k=type_k, type_v=type_v, matmul_flags=matmul_flags, n_checkpoints=n_checkpoints,
            n_sequences=n_sequences, n_context_total=n_context_total)
        own, e, info = SessionHandle(), _raw.ggufx_error(), model.info
        check(lib.ggufx_session_create(byref(own), model._handle, byref(o), byref(e)), e)
        self._own, self._turns = own, Turns()
        self._layers = [model.layer(i) for i in range(info.n_layers)]
        self.n_vocab, self.n_context = info.n_vocab, self.info.n_context
        self.n_embedding = info.n_embedding

    @property
    def info(self) -> SessionInfo:
        """Options with defaults filled in."""
        with self._turns.reading:
            o = asked(_raw.ggufx_session_facts, lib.ggufx_session_info, self._handle)
        return made(SessionInfo, o, type_k=KvType(o.type_k), type_v=KvType(o.type_v))

    def decode(self, tokens: Ints, logits: Buffer | None = None, *,
               attention: AttentionHook | None = None, progress: Progress | None = None) -> None:
        """Append tokens and compute the logits after the last one, all or nothing. logits, f32
        [n][n_vocab], is filled with those of every token."""
        of = numbers(tokens, I32, "tokens")
        o = _raw.ggufx_decode_options(struct_size=sizeof(_raw.ggufx_decode_options))
        if logits is not None:
            every = result(logits, (of.size, self.n_vocab), what="logits")
            o.flags, o.logits, o.n_logits = DecodeFlags.ALL_LOGITS, address(every), every.size
        e = _raw.ggufx_error()
        with self._turns.changing, Following(progress, self._shown(attention)) as call:
            o.progress = call.progress
            shown = _raw.ggufx_attention_hook(
                struct_size=sizeof(_raw.ggufx_attention_hook), user=call.user,
                layer=_callbacks.LAYER)
            if attention is not None:
                o.attention = addressof(shown)
            call.end(lib.ggufx_session_decode(self._handle, address(of), of.size, byref(o),
                                              byref(e)), e)

    def _shown(self, attention: AttentionHook | None) -> Callable[..., bool | None]:
        def show(layer: int, first: int, n: int, *at: int) -> bool | None:
            view = AttentionView(self._layers[layer], layer, first, n,
                                 (at[0], at[1], at[2], at[3]))
            try:
                return attention(view) if attention is not None else None
            finally:
                view._open = False
        return show

    def logits(self, out: Buffer | None = None) -> Floats:
        """The logits after the last token."""
        to, e = result(out, (self.n_vocab,)), _raw.ggufx_error()
        with self._turns.reading:
            check(lib.ggufx_session_logits(address(to), to.size, self._handle, byref(e)), e)
        return to

    def __len__(self) -> int:
        """Tokens in the conversation."""
        with self._turns.reading:
            return lib.ggufx_session_length(self._handle)

    def truncate(self, n_tokens: int) -> None:
        """Keep the first n_tokens tokens."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_session_truncate(self._handle, n_tokens, byref(e)), e)

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
            id, _ = sampler.sample(now) if matcher is None else sampler.sample_matching(now, matcher)
            if tokenizer is not None and tokenizer.token(id).flags & TokenFlags.END:
                return
            yield id
            given += 1
            following = np.array([id], I32)

    def score(self, tokens: Ints, n_context: int, bos: int = -1,
              report: Callable[[Perplexity], bool | None] | None = None) -> Perplexity:
        """Score tokens in chunks of n_context, bos (unless -1) first in each. report receives
        the running result, and returns False to stop."""
        of = numbers(tokens, I32, "tokens")

        def one(at: int) -> bool | None:
            running = cast(at, POINTER(_raw.ggufx_perplexity_facts)).contents
            return report(made(Perplexity, running)) if report is not None else None

        with self._turns.changing, Following(on=one) as call:
            def scored(out: object, e: object) -> int:
                return lib.ggufx_perplexity(out, self._handle, address(of), of.size, n_context, bos,
                                            _callbacks.POINTER, call.user, e)
            o = _raw.ggufx_perplexity_facts(struct_size=sizeof(_raw.ggufx_perplexity_facts))
            e = _raw.ggufx_error()
            call.end(scored(byref(o), byref(e)), e)
        return made(Perplexity, o)

    def endings(self, context: Ints, endings: Sequence[Ints], *,
                progress: Progress | None = None) -> Doubles:
        """Log-probabilities of several continuations of one context, each summed over its
        tokens. The session must be empty; it is empty again afterwards."""
        of = numbers(context, I32, "context")
        parts = [numbers(ending, I32, "endings") for ending in endings]
        every = np.concatenate([np.empty(0, I32), *parts])
        lengths = (c_size_t * max(len(parts), 1))(*(part.size for part in parts))
        out, e = np.empty(len(parts), F64), _raw.ggufx_error()
        with self._turns.changing, Following(progress) as call:
            call.end(lib.ggufx_measure_endings(
                address(out), self._handle, address(of), of.size, address(every), byref(lengths),
                len(parts), call.progress, byref(e)), e)
        return out
