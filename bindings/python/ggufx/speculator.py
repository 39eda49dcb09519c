"""Several tokens of a text for the price of little more than one.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from contextlib import ExitStack
from ctypes import byref, c_int32, c_size_t, sizeof
from typing import Callable, Iterator

import numpy as np

from . import _callbacks, _raw, _safe
from ._buffers import F32, I32, Floats, Ints, Ints32, address, numbers
from ._callbacks import Following, Hosted, Progress, release
from ._handle import KINDS
from ._library import lib
from .errors import check
from .matcher import Matcher
from ._safe import Sampler
from .session import Session

# Draft tokens, at most `most`, after a sequence (an array) and the token after it.
Guess = Callable[[Ints32, int, int], Ints]


class _Guessing(Hosted):
    def __init__(self, guess: Guess) -> None:
        super().__init__()
        self._guess, self.user = guess, _callbacks.keep(self)

    def write(self, out: int, most: int, text: int, n: int, last: int) -> int:
        """Called by the library."""
        def call() -> int:
            before = np.frombuffer(memoryview((c_int32 * n).from_address(text)), I32) if n else \
                np.empty(0, I32)
            ids = numbers(self._guess(before.copy(), last, most), I32, "guesses")[:most]
            np.frombuffer(memoryview((c_int32 * most).from_address(out)), I32)[:ids.size] = ids
            return int(ids.size)
        return int(self.guarded(0, call))


class Speculator(_safe.Speculator):
    """Speculative decoding on a session: its ids are exactly those of decoding token by token,
    whatever the draft tokens are. The session's matmul flags must be BATCH_INVARIANT or
    TILES.

    Draft tokens come from prompt lookup, from `draft` (a draft model's session with the same
    vocabulary), or from `guess`."""

    def __init__(self, session: Session, *, draft: Session | None = None,
                 guess: Guess | None = None, stops: Ints = (), n_draft: int = 0,
                 n_match: int = 0) -> None:
        self._guessing = _Guessing(guess) if guess is not None else None
        # They stay as long as this object.
        self._sessions = [session] if draft is None else [session, draft]
        self._kept = [s._handle for s in self._sessions]
        of = numbers(stops, I32, "stops")
        o = _raw.ggufx_speculator_options(
            struct_size=sizeof(_raw.ggufx_speculator_options), n_draft=n_draft, n_match=n_match,
            stops=address(of), n_stops=of.size)
        if draft is not None:
            o.draft = self._kept[1].value
        if self._guessing is not None:
            o.guess, o.user = _callbacks.GUESS, self._guessing.user
        own, e = KINDS["ggufx_speculator"](), _raw.ggufx_error()
        with self._alone():
            check(lib.ggufx_speculator_create(byref(own), self._kept[0], byref(o), byref(e)), e)
        own.sessions = self._kept  # type: ignore[attr-defined]
        self._take(own, session)

    def __del__(self, release: Callable[[int], None] = release) -> None:
        guessing = getattr(self, "_guessing", None)
        if guessing is not None:
            release(guessing.user)

    def _alone(self) -> ExitStack:
        turns = ExitStack()
        for session in self._sessions:
            turns.enter_context(session._turns.changing)
        return turns

    def next(self, capacity: int, sampler: Sampler, matcher: Matcher | None = None, *,
             progress: Progress | None = None) -> tuple[Ints32, Floats]:
        """The next tokens, one to `capacity`, and their log-probabilities. The last one is not
        in the session yet. A call that fails changes nothing."""
        ids, values, n = np.empty(capacity, I32), np.empty(capacity, F32), c_size_t()
        e = _raw.ggufx_error()
        with ExitStack() as turns:
            turns.enter_context(self._turns.changing)
            turns.enter_context(self._alone())
            turns.enter_context(sampler._turns.changing)
            if matcher is not None:
                turns.enter_context(matcher._turns.changing)
            call = turns.enter_context(Following())
            status = lib.ggufx_speculator_next(
                address(ids), address(values), capacity, byref(n), self._handle, sampler._handle,
                None if matcher is None else matcher._handle, call.follow(progress),
                byref(e))
            if self._guessing is not None:
                self._guessing.rethrow()
            sampler._check(status, e, call)
        return ids[:n.value], values[:n.value]

    def generate(self, sampler: Sampler, n: int, *, matcher: Matcher | None = None,
                 progress: Progress | None = None) -> Iterator[int]:
        """The next n ids, one after the other."""
        given = 0
        while given < n:
            ids, _ = self.next(n - given, sampler, matcher, progress=progress)
            given += ids.size
            for id in ids:
                yield int(id)
