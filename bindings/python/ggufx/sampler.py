"""Logits to ids.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref, c_uint8
from dataclasses import dataclass
from typing import Any, Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from . import _callbacks, _raw, _safe
from ._callbacks import Hosted, release
from ._keep import Keep
from ._library import lib
from .errors import check
from .runtime import Runtime

# Candidates of a custom sampler: an array that it may change.
CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32)])
Candidates = NDArray[Any]


@dataclass
class Link(_safe.SamplerLink):
    """Sampler of a chain; its kind decides which members are used and what zeros mean."""

    host: Callable[[Candidates], bool | None] | None = None
    """Callback of LinkKind.HOST: changes the logits of the remaining candidates, an array with
    `id` and `logit`, or their order; False ends the call with CancelledError."""


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


class Sampler(_safe.Sampler):
    """Chooses ids; holds its random state. All unset is greedy."""

    _callbacks: list[_Kept]

    def _begin(self, parent: object) -> None:
        self._callbacks = list(parent._callbacks) if isinstance(parent, Sampler) else []

    def add(self, link: Link) -> None:
        """Append a sampler to the chain."""
        kept = _Kept(_Host(link.host)) if link.host is not None else None
        o, e = _raw.ggufx_sampler_link(), _raw.ggufx_error()
        if kept is not None:
            o.link, o.user = _callbacks.LINK, kept.host.user
        with self._turns.changing, Keep() as keep:
            link._fill(o, keep)
            check(lib.ggufx_sampler_add(self._handle, byref(o), byref(e)), e)
        if kept is not None:
            self._callbacks.append(kept)


class Chain(Sampler):
    """Sampler chain in an order chosen by the caller; an empty chain samples from the unmodified
    logits."""

    def __init__(self, rt: Runtime, n_vocab: int, links: Sequence[Link] = (), *, seed: int = 0) -> None:
        self._take(Sampler.create_chain(rt, n_vocab, seed)._handle, rt)
        for link in links:
            self.add(link)
