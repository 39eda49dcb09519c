"""Many conversations in one session.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref, sizeof
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, BinaryIO, Iterable, Sequence, Union

import numpy as np

from . import _raw
from ._buffers import (
    F32, I32, Array, Buffer, Floats, Ints, Ints32, address, numbers, reads, result)
from ._callbacks import Following, Progress
from ._checked import refuse
from ._facts import Path, asked, made
from ._handle import Object, Turns
from ._library import lib
from .adapter import AdapterUse, uses_of
from .errors import argument, check
from .ids import ADAPTER_ALL_SEQUENCES, BatchFlags, BatchOptionsFlags
from .kv_snapshot import loaded, written


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


@dataclass(frozen=True)
class SessionMemory:
    """Memory of a session's KV caches."""

    cache_bytes: int
    n_pages: int
    """Pages of 64 tokens of a layer, used or not; shared ones count once."""
    n_shared_pages: int
    """References to pages that other sequences hold, too."""
    n_tokens: int
    """Sum over all sequences."""
    n_tokens_left: int
    """With n_context_total: for which memory is left, in whole pages."""
    embedded_bytes: int
    """Taken for rows that were given."""


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


class Sequences(Object):
    """Operations on sequences 0 .. n_sequences - 1. Calls without a sequence number use sequence
    0."""

    _turns: Turns
    n_vocab: int
    n_embedding: int

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
        """Copy into an empty sequence the first n_tokens tokens of another one; they share
        memory."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_session_sequence_copy(self._handle, source, to, n_tokens, byref(e)), e)

    def remove_tokens(self, sequence: int, first: int, n_tokens: int) -> None:
        """Take tokens first .. first + n_tokens - 1 out; later tokens keep their positions and
        cache entries."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_session_sequence_remove(self._handle, sequence, first, n_tokens,
                                                    byref(e)), e)

    def shift_tokens(self, sequence: int, first: int, n_tokens: int, delta: int) -> None:
        """Add delta to the positions of tokens first .. first + n_tokens - 1."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_session_sequence_shift(self._handle, sequence, first, n_tokens, delta,
                                                   byref(e)), e)

    def tokens(self, sequence: int = 0) -> tuple[Ints32, Ints32]:
        """Ids of the tokens of a sequence, and their positions."""
        e = _raw.ggufx_error()
        with self._turns.reading:
            n = lib.ggufx_session_sequence_length(self._handle, sequence)
            ids, places = np.empty(n, I32), np.empty(n, I32)
            check(lib.ggufx_session_sequence_tokens(
                address(ids), address(places), self._handle, sequence, 0, n, byref(e)), e)
        return ids, places

    def set_adapters(self, adapters: Iterable[AdapterUse], sequence: int | None = None) -> None:
        """Let an empty sequence, or all of them, use these adapters, in this order, instead of
        its previous ones: each an Adapter, or (Adapter, scale)."""
        uses, n, kept = uses_of(adapters)
        to, e = ADAPTER_ALL_SEQUENCES if sequence is None else sequence, _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_session_set_adapters(self._handle, to, byref(uses), n, byref(e)), e)
        del kept

    @property
    def memory(self) -> SessionMemory:
        """Memory of its KV caches."""
        with self._turns.reading:
            o = asked(_raw.ggufx_session_memory_facts, lib.ggufx_session_memory, self._handle)
        return made(SessionMemory, o)

    def save(self, to: Union[Path, BinaryIO], sequence: int = 0) -> None:
        """Write a snapshot of a sequence, or of SESSION_ALL, to a stream, or to a file, which is replaced whole or not
        at all."""
        with self._turns.reading:
            written(self._handle, sequence, to, lib.ggufx_session_save,
                    lib.ggufx_session_save_path)

    def load(self, source: Union[Path, BinaryIO], sequence: int = 0) -> None:
        """Replace a sequence, or all, by a snapshot; whole or not at all."""
        with self._turns.changing:
            loaded(self._handle, sequence, source, lib.ggufx_session_load,
                   lib.ggufx_session_load_path)
