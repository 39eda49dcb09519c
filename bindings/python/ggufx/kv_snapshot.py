"""Snapshots of sequences, in streams and files.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref
from typing import BinaryIO, Callable, Union

from . import _callbacks, _raw
from ._callbacks import Following
from ._facts import Path, path_bytes
from ._handle import Handle, Object, Turns
from ._library import lib
from .errors import check
from .file import _whole
from .ids import KV_ALL_SEQUENCES


def written(handle: Handle, sequence: int, to: Union[Path, BinaryIO],
            save: Callable[..., int], save_path: Callable[..., int]) -> None:
    """Write a snapshot by one of two functions: to a stream, or to a file."""
    e = _raw.ggufx_error()
    if not hasattr(to, "write"):
        check(save_path(handle, sequence, path_bytes(to), byref(e)), e)
        return

    def write(part: int, data: bytes) -> None:
        to.write(data)  # type: ignore[union-attr]

    with Following(on=write) as call:
        call.end(save(handle, sequence, _callbacks.WRITE, call.user, byref(e)), e)


def loaded(handle: Handle, sequence: int, source: Union[Path, BinaryIO],
           load: Callable[..., int], load_path: Callable[..., int]) -> None:
    """Read a snapshot by one of two functions: from a stream, or from a file."""
    e = _raw.ggufx_error()
    if not hasattr(source, "read"):
        check(load_path(handle, sequence, path_bytes(source), byref(e)), e)
        return

    def read(to: int, n: int) -> None:
        data = _whole(source, n)  # type: ignore[arg-type]
        _callbacks.fill(to, n, data, "the stream")

    with Following(on=read) as call:
        call.end(load(handle, sequence, _callbacks.READ, call.user, byref(e)), e)


class Snapshots(Object):
    """Saves and loads a cache."""

    _turns: Turns

    def save(self, to: Union[Path, BinaryIO], sequence: int = KV_ALL_SEQUENCES) -> None:
        """Write a snapshot of a sequence, or of all, to a stream, or to a file, which is replaced
        whole or not at all."""
        with self._turns.reading:
            written(self._handle, sequence, to, lib.ggufx_kv_save, lib.ggufx_kv_save_path)

    def load(self, source: Union[Path, BinaryIO], sequence: int = KV_ALL_SEQUENCES) -> None:
        """Replace a sequence, or all, by a snapshot; whole or not at all."""
        with self._turns.changing:
            loaded(self._handle, sequence, source, lib.ggufx_kv_load, lib.ggufx_kv_load_path)
