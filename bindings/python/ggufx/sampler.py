"""Logits to ids.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref, c_float, c_int32, c_uint8, sizeof
from dataclasses import dataclass
from typing import Any, Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from . import _callbacks, _raw
from ._buffers import F32, I32, Buffer, Floats, Ints, Ints32, address, numbers, reads
from ._callbacks import Hosted, release
from ._handle import Object, SamplerHandle, Turns
from ._library import lib
from .errors import argument, check
from .grammar import Matcher
from .ids import LinkKind
from .runtime import Runtime

# Candidates of a custom sampler: an array that it may change.
CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32)])
Candidates = NDArray[Any]
BIAS = np.dtype([("id", np.int32), ("bias", np.float32)])


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


@dataclass
class Link:
    """Sampler of a chain; its kind decides which members are used and what zeros mean:
    ggufx/sampler.h."""

    kind: LinkKind
    k: int = 0
    p: float = 0
    n_sigma: float = 0
    probability: float = 0
    threshold: float = 0
    temperature: float = 0
    range: float = 0
    exponent: float = 0
    repetition: float = 0
    frequency: float = 0
    presence: float = 0
    n_last: int = 0
    multiplier: float = 0
    base: float = 0
    allowed_length: int = 0
    tau: float = 0
    eta: float = 0
    m: int = 0
    version: int = 0
    breakers: Ints = ()
    biases: Sequence[tuple[int, float]] = ()
    host: Callable[[Candidates], bool | None] | None = None
    """Callback of LinkKind.HOST: changes the logits of the remaining candidates, an array with
    `id` and `logit`, or their order; False ends the call with CancelledError."""

    NUMBERS = ("k", "p", "n_sigma", "probability", "threshold", "temperature", "range", "exponent",
               "repetition", "frequency", "presence", "n_last", "multiplier", "base",
               "allowed_length", "tau", "eta", "m", "version")


class _Host(Hosted):
    """Sampler supplied by the program."""

    def __init__(self, link: Callable[[Candidates], bool | None]) -> None:
        super().__init__()
        self._link = link

    def run(self, candidates: int, n: int) -> bool:
        """Called by the library."""
        def call() -> bool:
            memory = (c_uint8 * (n * CANDIDATE.itemsize)).from_address(candidates)
            return self._link(np.frombuffer(memoryview(memory), CANDIDATE)) is not False
        return bool(self.guarded(False, call))


class _Kept:
    """Releases a custom sampler's id with the last chain that uses it."""

    def __init__(self, host: _Host) -> None:
        self.host = host

    def rethrow(self) -> None:
        self.host.rethrow()

    def __del__(self, release: Callable[[int], None] = release) -> None:
        release(self.host.user)


class Sampler(Object):
    """Chooses ids; holds its random state. All unset is greedy."""

    def __init__(self, rt: Runtime, n_vocab: int, *, temperature: float = 0, top_k: int = 0,
                 top_p: float = 0, min_p: float = 0, seed: int = 0) -> None:
        o = _raw.ggufx_sampler_options(
            struct_size=sizeof(_raw.ggufx_sampler_options), temperature=temperature, top_k=top_k,
            top_p=top_p, min_p=min_p, seed=seed)
        own, e = SamplerHandle(), _raw.ggufx_error()
        check(lib.ggufx_sampler_create(byref(own), rt._handle, n_vocab, byref(o), byref(e)), e)
        self._own, self._turns, self._hosts = own, Turns(), []

    _turns: Turns
    _hosts: list[_Kept]

    def _ended(self, status: int, record: _raw.ggufx_error) -> None:
        """Call that may have run custom samplers."""
        for host in self._hosts:
            host.rethrow()
        check(status, record)

    def accept(self, ids: Ints) -> None:
        """Record tokens appended to the sequence, from any source: all or none."""
        of, e = numbers(ids, I32, "ids"), _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_sampler_accept(self._handle, address(of), of.size, byref(e)), e)

    def reset(self) -> None:
        """Reset to the initial state, with the same samplers."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_sampler_reset(self._handle, byref(e)), e)

    def clone(self) -> Sampler:
        """Copy with the same state: it continues exactly as this one."""
        own, e = SamplerHandle(), _raw.ggufx_error()
        with self._turns.reading:
            check(lib.ggufx_sampler_clone(byref(own), self._handle, byref(e)), e)
        other = object.__new__(type(self))
        other._own, other._turns, other._hosts = own, Turns(), list(self._hosts)
        return other

    def sample(self, logits: Buffer) -> tuple[int, float]:
        """An id, and the logarithm of its probability before the filters."""
        of = reads(logits, F32, "logits")
        id, logprob, e = c_int32(), c_float(), _raw.ggufx_error()
        with self._turns.changing:
            self._ended(lib.ggufx_sampler_sample(byref(id), byref(logprob), self._handle,
                                                 address(of), of.size, byref(e)), e)
        return id.value, logprob.value

    def sample_matching(self, logits: Buffer, matcher: Matcher) -> tuple[int, float]:
        """An id among those that fit, which the matcher accepts, and the logarithm of its
        probability among all."""
        of = reads(logits, F32, "logits")
        id, logprob, e = c_int32(), c_float(), _raw.ggufx_error()
        with self._turns.changing, matcher._turns.changing:
            self._ended(lib.ggufx_sampler_sample_matching(
                byref(id), byref(logprob), self._handle, matcher._handle, address(of), of.size,
                byref(e)), e)
        return id.value, logprob.value


class Chain(Sampler):
    """Sampler chain in an order chosen by the caller; an empty chain samples from the unmodified
    logits."""

    def __init__(self, rt: Runtime, n_vocab: int, links: Sequence[Link] = (), *,
                 seed: int = 0) -> None:
        own, e = SamplerHandle(), _raw.ggufx_error()
        check(lib.ggufx_sampler_create_chain(byref(own), rt._handle, n_vocab, seed, byref(e)), e)
        self._own, self._turns, self._hosts = own, Turns(), []
        for link in links:
            self.add(link)

    def add(self, link: Link) -> None:
        """Append a sampler to the chain."""
        o = _raw.ggufx_sampler_link(struct_size=sizeof(_raw.ggufx_sampler_link), kind=link.kind)
        for name in Link.NUMBERS:
            setattr(o, name, getattr(link, name))
        breakers = numbers(link.breakers, I32, "breakers")
        biases = np.array(list(link.biases), BIAS)
        if breakers.size:
            o.breakers, o.n_breakers = address(breakers), breakers.size
        if biases.size:
            o.biases, o.n_biases = address(biases), biases.size
        kept = _Kept(_Host(link.host)) if link.host is not None else None
        if kept is not None:
            o.link, o.user = _callbacks.LINK, kept.host.user
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_sampler_add(self._handle, byref(o), byref(e)), e)
        if kept is not None:
            self._hosts.append(kept)
