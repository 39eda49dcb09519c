"""Ids that come one after another, back to text.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from . import _raw, _safe
from ._buffers import Ints
from .ids import DetokenizeFlags


class Tokenizer(_safe.Tokenizer):
    __doc__ = _safe.Tokenizer.__doc__

    def __len__(self) -> int:
        return self.info.n_tokens

    def detokenize_text(self, ids: Ints, *, flags: int = 0) -> str:
        """Text of ids; invalid UTF-8 is replaced."""
        return self.detokenize(ids, flags=flags).decode("utf-8", "replace")


class Detokenizer:
    """Streaming detokenizer: converts token ids to text and withholds incomplete characters. One
    thread at a time."""

    def __init__(self, tokenizer: Tokenizer, flags: int = 0) -> None:
        """Starts at the beginning of a text. flags: DetokenizeFlags."""
        self._tokenizer, self._flags = tokenizer, flags & ~DetokenizeFlags.FLUSH
        self._state = _raw.ggufx_detokenizer_state()

    def push(self, ids: Ints) -> str:
        """Text of the next ids, without incomplete characters; invalid UTF-8 is replaced."""
        return self._part(ids, self._flags)

    def finish(self) -> str:
        """What was withheld; the next id starts a new text."""
        rest = self._part([], self._flags | DetokenizeFlags.FLUSH)
        self._state = _raw.ggufx_detokenizer_state()
        return rest

    def _part(self, ids: Ints, flags: int) -> str:
        self._state.flags = flags
        return self._tokenizer.detokenize_stream(self._state, ids).decode("utf-8", "replace")
