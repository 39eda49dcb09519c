"""Importance matrices: what each column of a weight is worth.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import POINTER, byref, c_char_p, c_float, c_size_t, c_void_p, cast, sizeof
from dataclasses import dataclass
from typing import Callable, Iterator

import numpy as np

from . import _raw
from ._buffers import I32, Buffer, Floats, Ints, address, numbers, raw_bytes
from ._callbacks import Following, Progress
from ._facts import Path, asked, made, path_bytes, terminated, text, to_bytes
from ._handle import ImatrixHandle, Object, Turns
from ._library import lib
from .errors import NotFoundError, check
from .ids import CollectFlags, ImatrixFormat
from .runtime import Runtime
from .session import Session


@dataclass(frozen=True)
class ImatrixInfo:
    """Facts of an importance matrix."""

    n_entries: int
    n_datasets: int
    n_chunks: int
    chunk_tokens: int
    format: ImatrixFormat


@dataclass(frozen=True)
class ImatrixEntry:
    """A copy of what one weight tensor's columns are worth."""

    name: str
    sums: Floats
    """Squared activations, [matrices][columns]."""
    counts: Floats
    """Tokens, [matrices]."""
    values: Floats
    """Sums over counts, [matrices][columns]: the imatrix of quantize()."""


class Imatrix(Object):
    """Entries in the order of their file, by number and by name."""

    def __init__(self, rt: Runtime, start: Callable[[object, object, object, object], int],
                 progress: Progress | None = None) -> None:
        """Not for programs, which call open or open_memory."""
        own, e = ImatrixHandle(), _raw.ggufx_error()
        with Following(progress) as call:
            call.end(start(byref(own), rt._handle, call.progress, byref(e)), e)
        self._own, self._turns = own, Turns()

    @classmethod
    def open(cls, rt: Runtime, path: Path, progress: Progress | None = None) -> Imatrix:
        """Read a file of either format."""
        name = path_bytes(path)
        return cls(rt, lambda out, r, p, e: lib.ggufx_imatrix_open(out, r, name, p, e), progress)

    @classmethod
    def open_memory(cls, rt: Runtime, data: Buffer) -> Imatrix:
        """Read bytes, which are not needed afterwards."""
        of = raw_bytes(data, "data")
        return cls(rt, lambda out, r, p, e: lib.ggufx_imatrix_open_memory(
            out, r, address(of), of.nbytes, e))

    @classmethod
    def collect(cls, session: Session, tokens: Ints, n_context: int, *, bos: int = -1,
                output: bool = False, dataset: str | None = None,
                progress: Progress | None = None) -> Imatrix:
        """Run a session's model over tokens in chunks of n_context, bos (unless -1) first in
        each, and sum the squares of the inputs of its matrices; output: the matrix of the
        logits, too. The session must be empty; it is empty again afterwards."""
        of, e = numbers(tokens, I32, "tokens"), _raw.ggufx_error()
        name = None if dataset is None else terminated(dataset)
        o = _raw.ggufx_imatrix_options(
            struct_size=sizeof(_raw.ggufx_imatrix_options), flags=CollectFlags.OUTPUT if output else 0)
        if name is not None:
            o.dataset = cast(c_char_p(name), c_void_p).value
        own = ImatrixHandle()
        with session._turns.changing, Following(progress) as call:
            o.progress = call.progress
            call.end(lib.ggufx_imatrix_collect(byref(own), session._handle, address(of), of.size,
                                               n_context, bos, byref(o), byref(e)), e)
        made = cls.__new__(cls)
        made._own, made._turns = own, Turns()
        return made

    @property
    def info(self) -> ImatrixInfo:
        """Facts of the matrix."""
        with self._turns.reading:
            o = asked(_raw.ggufx_imatrix_facts, lib.ggufx_imatrix_info, self._handle)
        return made(ImatrixInfo, o, format=ImatrixFormat(o.format))

    def __len__(self) -> int:
        return self.info.n_entries

    def __iter__(self) -> Iterator[ImatrixEntry]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and self.find(name) >= 0
        except NotFoundError:
            return False

    def find(self, name: str) -> int:
        """Number of the entry of a weight tensor."""
        o, e, key = c_size_t(), _raw.ggufx_error(), to_bytes(name)
        with self._turns.reading:
            check(lib.ggufx_imatrix_find(byref(o), self._handle, key, len(key), byref(e)), e)
        return o.value

    def __getitem__(self, which: int | str) -> ImatrixEntry:
        if isinstance(which, str):
            which = self.find(which)
        n = len(self)
        if not -n <= which < n:
            raise IndexError(f"entry {which} of {n}")
        own = self._handle  # keeps the entry's data alive, also during a concurrent close
        with self._turns.reading:
            o = asked(_raw.ggufx_imatrix_entry, lib.ggufx_imatrix_at, own, which % n)
            shape = (o.n_matrices, o.n_columns)
            return ImatrixEntry(text(o.name, o.name_length), _copy(o.sums, shape),
                                _copy(o.counts, shape[:1]), _copy(o.values, shape))

    def dataset(self, i: int) -> str:
        """Name of a data set it was computed from."""
        at, n, e = c_void_p(), c_size_t(), _raw.ggufx_error()
        own = self._handle  # keeps the text
        with self._turns.reading:
            check(lib.ggufx_imatrix_dataset(byref(at), byref(n), own, i, byref(e)), e)
            return text(at.value, n.value)

    def select(self, keep: Buffer) -> None:
        """Keep the entries whose element of keep, bytes or bools, is not 0."""
        of, e = raw_bytes(keep, "keep"), _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_imatrix_select(self._handle, address(of), of.size, byref(e)), e)

    def merge(self, other: Imatrix) -> None:
        """Add another one."""
        e = _raw.ggufx_error()
        with self._turns.changing, other._turns.reading:
            check(lib.ggufx_imatrix_merge(self._handle, other._handle, byref(e)), e)

    def write(self, path: Path, format: int = ImatrixFormat.GGUF, *, replace: bool = True,
              progress: Progress | None = None) -> None:
        """Write a file, whole or not at all."""
        how = format if replace else format | ImatrixFormat.NO_REPLACE
        e, name = _raw.ggufx_error(), path_bytes(path)
        with self._turns.reading, Following(progress) as call:
            call.end(lib.ggufx_imatrix_write(self._handle, name, how, call.progress, byref(e)), e)


def _copy(at: int | None, shape: tuple[int, ...]) -> Floats:
    if not at or 0 in shape:
        return np.empty(shape, np.float32)
    return np.ctypeslib.as_array(cast(at, POINTER(c_float)), shape).copy()
