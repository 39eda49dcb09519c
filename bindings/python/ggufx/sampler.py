"""Logits to ids.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref, c_float, c_int32, sizeof

import numpy as np

from . import _raw
from ._buffers import F32, I32, Buffer, Floats, Ints32, address, reads
from ._handle import Object, SamplerHandle, Turns
from ._library import lib
from .errors import argument, check
from .grammar import Matcher
from .runtime import Runtime


def logprobs(rt: Runtime, logits: Buffer, k: int, chosen: int | None = None
             ) -> tuple[Ints32, Floats, float | None]:
    """Ids of the k likeliest tokens, natural logarithms of their probabilities, and that of the
    token `chosen`."""
    of = reads(logits, F32, "logits")
    if not 0 <= k <= of.size:
        raise argument(f"k is {k}, not within 0 .. {of.size}")
    ids, values, one = np.empty(k, I32), np.empty(k, F32), c_float()
    e = _raw.ggufx_error()
    check(lib.ggufx_logprobs(address(ids), address(values), k,
                             None if chosen is None else byref(one), rt._handle, address(of),
                             of.size, chosen or 0, byref(e)), e)
    return ids, values, None if chosen is None else one.value


class Sampler(Object):
    """Chooses ids; holds its random state. All unset is greedy."""

    def __init__(self, rt: Runtime, n_vocab: int, *, temperature: float = 0, top_k: int = 0,
                 top_p: float = 0, min_p: float = 0, seed: int = 0) -> None:
        o = _raw.ggufx_sampler_options(
            struct_size=sizeof(_raw.ggufx_sampler_options), temperature=temperature, top_k=top_k,
            top_p=top_p, min_p=min_p, seed=seed)
        own, e = SamplerHandle(), _raw.ggufx_error()
        check(lib.ggufx_sampler_create(byref(own), rt._handle, n_vocab, byref(o), byref(e)), e)
        self._own, self._turns = own, Turns()

    def sample(self, logits: Buffer) -> tuple[int, float]:
        """An id, and the logarithm of its probability before the filters."""
        of = reads(logits, F32, "logits")
        id, logprob, e = c_int32(), c_float(), _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_sampler_sample(byref(id), byref(logprob), self._handle, address(of),
                                           of.size, byref(e)), e)
        return id.value, logprob.value

    def sample_matching(self, logits: Buffer, matcher: Matcher) -> tuple[int, float]:
        """An id among those that fit, which the matcher accepts, and the logarithm of its
        probability among all."""
        of = reads(logits, F32, "logits")
        id, logprob, e = c_int32(), c_float(), _raw.ggufx_error()
        with self._turns.changing, matcher._turns.changing:
            check(lib.ggufx_sampler_sample_matching(byref(id), byref(logprob), self._handle,
                                                    matcher._handle, address(of), of.size,
                                                    byref(e)), e)
        return id.value, logprob.value
