"""GGUF files: tensors and keys by name, and files that are no path.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref, sizeof
from typing import Any, BinaryIO

from . import _callbacks, _raw, _safe
from ._callbacks import Following, fill_whole
from ._handle import KINDS, Handle, borrowed
from ._library import lib
from ._safe import OpenOptions
from .lists import Listed
from .meta import Metas
from .runtime import Runtime
from .tensor import Tensor


class File(_safe.File):
    """An opened GGUF, one file or a split set; immutable. Tensors, keys and arrays that were taken
    from it stay valid after close(): the last one of them lets go of the memory."""

    def _begin(self, parent: Any, options: Any) -> None:
        self._runtime: Handle = parent._runtime if isinstance(parent, File) else parent._handle

    @classmethod
    def open_stream(cls, rt: Runtime, stream: BinaryIO, **options: Any) -> File:
        """Open a seekable stream from its start; it is read during this call only and stays the
        caller's. Options: see OpenOptions."""
        def read(offset: int, to: int, n: int) -> None:
            stream.seek(offset)
            fill_whole(to, n, stream.read)

        source = _callbacks.Source(read, stream.seek(0, 2))
        struct = _raw.ggufx_io(
            struct_size=sizeof(_raw.ggufx_io), user=_callbacks.lend(source), size=_callbacks.SIZE,
            read_at=_callbacks.READ_AT, close=_callbacks.DESTROY)
        own, e = KINDS["ggufx_file"](), _raw.ggufx_error()
        try:
            with Following() as call:
                o = call.struct(_raw.ggufx_open_options, OpenOptions(**options))
                call.end(lib.ggufx_open_io(byref(own), rt._handle, byref(struct), o, byref(e)), e)
            return cls._made(own, rt)
        except Exception as error:
            if source.caught is None or source.caught is error:
                raise
            raise source.caught from error

    @property
    def _shared(self) -> File:
        """The same file, for what outlives a close."""
        return File._made(self._handle, self)

    @property
    def meta(self) -> Metas:
        """The keys, a mapping: file.meta["general.name"].value."""
        return Metas(self._shared)

    @property
    def tensors(self) -> Listed[Tensor]:
        """The tensors, by number and by name: file.tensors["output.weight"]."""
        file = self._shared
        return Listed(file.tensor_count, file._tensor, file.tensor_find)

    def _tensor(self, index: int) -> Tensor:
        own = self._handle
        found: Tensor = borrowed("ggufx_tensor", lib.ggufx_file_tensor(own, index), own, self)
        return found

    def tensor(self, name: str) -> Tensor:
        """A tensor by its name."""
        return self.tensors[name]
