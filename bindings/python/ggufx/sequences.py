"""Many conversations in one session.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref, sizeof
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, BinaryIO, Sequence, Union

from . import _raw
from ._buffers import I32, Array, Buffer, Floats, Ints, address, numbers, result
from ._callbacks import Following, Progress
from ._checked import refuse
from ._facts import Path, asked, made
from ._handle import Object, Turns
from ._library import lib
from .errors import check
from .ids import BATCH_ALL_LOGITS, BATCH_LOGITS, BATCH_MARK, BATCH_MATMUL
from .kv_snapshot import loaded, written


class Want(IntEnum):
    """Which logits of an item are computed."""

    NONE = 0
    LAST = BATCH_LOGITS
    """A row: those after its last token."""
    ALL = BATCH_ALL_LOGITS
    """A row for each of its tokens."""


@dataclass
class BatchItem:
    """Tokens to append to a sequence."""

    sequence: int
    tokens: Ints
    want: Want = Want.LAST
    mark: bool = False
    """Cuts and copies come back to where the tokens end without computing anything again."""


@dataclass(frozen=True)
class SessionMemory:
    """What the caches of a session take."""

    cache_bytes: int
    n_pages: int
    """Of 64 tokens of a layer, used or not; shared ones count once."""
    n_shared_pages: int
    """Places in sequences that hold a page others hold too."""
    n_tokens: int
    """Of all sequences."""


def _filled(items: Sequence[BatchItem]) -> tuple[Any, list[Array], int]:
    """The items as C takes them, the arrays that they point at, and rows of logits."""
    out, kept, rows = (_raw.ggufx_batch_item * max(len(items), 1))(), [], 0
    for to, item in zip(out, items):
        if not 0 <= item.sequence < 2**32:
            refuse("sequence", item.sequence, 0, 2**32 - 1)
        tokens, want = numbers(item.tokens, I32, "tokens"), Want(item.want)
        kept.append(tokens)
        to.sequence, to.flags = item.sequence, want | (BATCH_MARK if item.mark else 0)
        to.tokens, to.n_tokens = address(tokens), tokens.size
        rows += tokens.size if want == Want.ALL else want == Want.LAST
    return out, kept, rows


class Sequences(Object):
    """What a session does with sequences 0 .. n_sequences - 1. Those without a number in their
    calls are about sequence 0."""

    _turns: Turns
    n_vocab: int

    def decode_batch(self, items: Sequence[BatchItem], logits: Buffer | None = None, *,
                     matmul_flags: int | None = None, progress: Progress | None = None) -> Floats:
        """Append tokens to many sequences, all or nothing, and compute the logits that the items
        want: rows in their order, [n][n_vocab], in `logits` or in a new array. matmul_flags count
        in place of the session's."""
        raw, kept, rows = _filled(items)
        to, e = result(logits, (rows, self.n_vocab), what="logits"), _raw.ggufx_error()
        o = _raw.ggufx_batch_options(
            struct_size=sizeof(_raw.ggufx_batch_options), n_logits=to.size,
            item_size=sizeof(_raw.ggufx_batch_item))
        if rows:
            o.logits = address(to)
        if matmul_flags is not None:
            o.flags, o.matmul_flags = BATCH_MATMUL, matmul_flags
        with self._turns.changing, Following(progress) as call:
            o.progress = call.progress
            call.end(lib.ggufx_session_decode_batch(self._handle, byref(raw), len(items),
                                                    byref(o), byref(e)), e)
        del kept
        return to

    def sequence_length(self, sequence: int) -> int:
        """Tokens of a sequence; 0 of one that there is not."""
        with self._turns.reading:
            return lib.ggufx_session_sequence_length(self._handle, sequence)

    def truncate_sequence(self, sequence: int, n_tokens: int) -> None:
        """Keep the first n_tokens tokens of a sequence."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_session_sequence_truncate(self._handle, sequence, n_tokens, byref(e)),
                  e)

    def copy_sequence(self, source: int, to: int, n_tokens: int) -> None:
        """Let an empty sequence begin with the first n_tokens tokens of another one, whose memory
        they share."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_session_sequence_copy(self._handle, source, to, n_tokens, byref(e)), e)

    @property
    def memory(self) -> SessionMemory:
        """What its caches take."""
        with self._turns.reading:
            o = asked(_raw.ggufx_session_memory_facts, lib.ggufx_session_memory, self._handle)
        return made(SessionMemory, o)

    def save(self, to: Union[Path, BinaryIO], sequence: int = 0) -> None:
        """Write a snapshot of a sequence to a stream, or to a file, which is replaced whole or not
        at all."""
        with self._turns.reading:
            written(self._handle, sequence, to, lib.ggufx_session_save,
                    lib.ggufx_session_save_path)

    def load(self, source: Union[Path, BinaryIO], sequence: int = 0) -> None:
        """Replace a sequence by a snapshot; whole or not at all."""
        with self._turns.changing:
            loaded(self._handle, sequence, source, lib.ggufx_session_load,
                   lib.ggufx_session_load_path)
