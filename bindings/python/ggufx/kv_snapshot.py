"""Snapshots of a cache.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref
from typing import BinaryIO, Union

from . import _callbacks, _raw
from ._callbacks import Following
from ._facts import Path, path_bytes
from ._handle import Object, Turns
from ._library import lib
from .errors import check
from .file import _whole
from .ids import KV_ALL_SEQUENCES


class Snapshots(Object):
    """Saves and loads a cache."""

    _turns: Turns

    def save(self, to: Union[Path, BinaryIO], sequence: int = KV_ALL_SEQUENCES) -> None:
        """Write a snapshot of a sequence, or of all, to a stream, or to a file, which is replaced
        whole or not at all."""
        e = _raw.ggufx_error()
        with self._turns.reading:
            if not hasattr(to, "write"):
                name = path_bytes(to)
                check(lib.ggufx_kv_save_path(self._handle, sequence, name, byref(e)), e)
                return

            def write(part: int, data: bytes) -> None:
                to.write(data)  # type: ignore[union-attr]

            with Following(on=write) as call:
                call.end(lib.ggufx_kv_save(self._handle, sequence, _callbacks.WRITE, call.user,
                                           byref(e)), e)

    def load(self, source: Union[Path, BinaryIO], sequence: int = KV_ALL_SEQUENCES) -> None:
        """Replace a sequence, or all, by a snapshot; whole or not at all."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            if not hasattr(source, "read"):
                name = path_bytes(source)
                check(lib.ggufx_kv_load_path(self._handle, sequence, name, byref(e)), e)
                return

            def read(to: int, n: int) -> None:
                data = _whole(source, n)  # type: ignore[arg-type]
                _callbacks.fill(to, n, data, "the stream")

            with Following(on=read) as call:
                call.end(lib.ggufx_kv_load(self._handle, sequence, _callbacks.READ, call.user,
                                           byref(e)), e)
