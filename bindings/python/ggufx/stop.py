"""Texts that end a generation.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref, c_char_p, c_void_p, cast, sizeof
from dataclasses import dataclass
from typing import Sequence

from . import _raw
from ._buffers import Buffer, address, raw_bytes
from ._facts import to_bytes
from ._handle import Object, StopHandle, Turns
from ._library import lib
from .errors import check
from .runtime import Runtime


@dataclass(frozen=True)
class StopInfo:
    """Progress of the search; bytes from n_shown to n_taken are withheld."""

    found: int | None
    """Index of the stop string found."""
    n_shown: int
    """Fed bytes that belong to no stop string and cannot begin one."""
    n_taken: int
    """Bytes searched: all, or up to the end of the stop string found."""


class Stop(Object):
    """Streaming search for stop strings. A concurrent call raises StateError."""

    def __init__(self, rt: Runtime, texts: Sequence[str | bytes]) -> None:
        kept = [to_bytes(text) for text in texts]
        of = (_raw.ggufx_stop_text * max(len(kept), 1))()
        for to, text in zip(of, kept):
            to.text, to.length = cast(c_char_p(text), c_void_p).value, len(text)
        own, e = StopHandle(), _raw.ggufx_error()
        check(lib.ggufx_stop_create(byref(own), rt._handle, byref(of), len(kept), byref(e)), e)
        self._own, self._turns = own, Turns()

    def feed(self, text: str | Buffer) -> StopInfo:
        """The next bytes. StateError once a stop string was found: reset()."""
        of = raw_bytes(to_bytes(text) if isinstance(text, str) else text, "text")
        o = _raw.ggufx_stop_facts(struct_size=sizeof(_raw.ggufx_stop_facts))
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_stop_feed(byref(o), self._handle, address(of), of.nbytes, byref(e)), e)
        return StopInfo(None if o.found < 0 else o.found, o.n_shown, o.n_taken)

    def reset(self) -> None:
        """Restart for another text."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_stop_reset(self._handle, byref(e)), e)
