"""GGUF files.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import POINTER, byref, c_size_t, cast, sizeof
from dataclasses import dataclass
from typing import Any, BinaryIO, Callable, Iterator, Sequence, overload

from . import _callbacks, _raw
from ._buffers import Buffer, address, raw_bytes
from ._callbacks import Following, Progress
from ._facts import Path, asked, made, path_bytes, text, to_bytes
from ._handle import FileHandle, Object, RuntimeHandle
from ._library import lib
from .errors import NotFoundError, argument, check, present
from .ids import IoMode, LogLevel, OpenFlags, Status, ValidateFlags
from .meta import Metas
from .runtime import Runtime
from .tensor import Tensor


@dataclass(frozen=True)
class FileInfo:
    """Facts of a file."""

    version: int
    big_endian: bool
    alignment: int
    n_parts: int
    meta_end: int
    data_offset: int
    file_size: int
    n_meta: int
    n_tensors: int
    n_values: int
    n_bytes: int
    n_missing: int


@dataclass(frozen=True)
class Finding:
    """Finding of a validation; status is the code that open would return."""

    severity: LogLevel
    status: Status
    offset: int | None
    index: int | None
    text: str
    name: str


class Tensors(Sequence[Tensor]):
    """The tensors of a file in its order, by number and by name."""

    def __init__(self, runtime: RuntimeHandle, file: FileHandle) -> None:
        self._runtime, self._file = runtime, file

    def __len__(self) -> int:
        return lib.ggufx_file_tensor_count(self._file)

    @overload
    def __getitem__(self, which: int | str) -> Tensor: ...

    @overload
    def __getitem__(self, which: slice) -> list[Tensor]: ...

    def __getitem__(self, which: int | str | slice) -> Tensor | list[Tensor]:
        if isinstance(which, slice):
            return [self[i] for i in range(*which.indices(len(self)))]
        if isinstance(which, str):
            which = self.find(which)
        elif which < 0:
            which += len(self)
        at = lib.ggufx_file_tensor(self._file, which) if 0 <= which < len(self) else None
        if at is None:
            raise IndexError(f"tensor {which} of {len(self)}")
        return Tensor._of(self._runtime, self._file, at)

    def find(self, name: str) -> int:
        """Number of a tensor."""
        o, e, key = c_size_t(), _raw.ggufx_error(), to_bytes(name)
        check(lib.ggufx_file_tensor_find(byref(o), self._file, key, len(key), byref(e)), e)
        return o.value

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and self.find(name) >= 0
        except NotFoundError:
            return False

    def names(self) -> Iterator[str]:
        """The names in the file's order."""
        return (tensor.name for tensor in self)


class File(Object):
    """An opened GGUF, one file or a split set; immutable. Tensors, keys and arrays that were taken
    from it stay valid after close(): the last one of them lets go of the memory."""

    def __init__(self, rt: Runtime, start: Callable[..., int], *, flags: int = 0,
                 io: IoMode = IoMode.AUTO, max_metadata_bytes: int = 0, max_keys: int = 0,
                 max_tensors: int = 0, max_string_bytes: int = 0,
                 progress: Progress | None = None) -> None:
        """Not for programs, which call one of the methods open."""
        o = _raw.ggufx_open_options(
            struct_size=sizeof(_raw.ggufx_open_options), flags=flags, io=io,
            max_metadata_bytes=max_metadata_bytes, max_keys=max_keys, max_tensors=max_tensors,
            max_string_bytes=max_string_bytes)
        own, e = FileHandle(), _raw.ggufx_error()
        runtime = rt._handle
        assert isinstance(runtime, RuntimeHandle)
        self._runtime = runtime
        with Following(progress) as call:
            o.progress = call.progress
            call.end(start(byref(own), self._runtime, byref(o), byref(e)), e)
        self._own = own

    @classmethod
    def open(cls, rt: Runtime, path: Path, **options: Any) -> File:
        """Open a path; any name of a split set opens the whole set. Options: flags (OpenFlags), io
        (IoMode), max_metadata_bytes, max_keys, max_tensors, max_string_bytes, progress."""
        name = path_bytes(path)
        return cls(rt, lambda out, r, o, e: lib.ggufx_open(out, r, name, o, e), **options)

    @classmethod
    def open_fd(cls, rt: Runtime, fd: int, offset: int = 0, length: int = 0,
                **options: Any) -> File:
        """Open bytes at an offset of a descriptor, which stays the caller's; 0: to the end."""
        return cls(rt, lambda out, r, o, e: lib.ggufx_open_fd(out, r, fd, offset, length, o, e),
                   **options)

    @classmethod
    def open_memory(cls, rt: Runtime, data: Buffer, **options: Any) -> File:
        """Open a buffer without a copy: it is kept until the last user of the file is gone, and
        must not change meanwhile. With OpenFlags.COPY it is copied."""
        bytes_ = raw_bytes(data, "data")

        def start(out: object, r: object, o: object, e: object) -> int:
            return lib.ggufx_open_memory(out, r, address(bytes_), bytes_.nbytes, _callbacks.DESTROY,
                                         _callbacks.keep(bytes_), o, e)
        return cls(rt, start, **options)

    @classmethod
    def open_stream(cls, rt: Runtime, stream: BinaryIO, **options: Any) -> File:
        """Open a seekable stream from its start; it is read during this call only and stays the
        caller's."""
        def read(offset: int, n: int) -> bytes:
            stream.seek(offset)
            return _whole(stream, n)

        source = _callbacks.Source(read, stream.seek(0, 2))
        struct = _raw.ggufx_io(
            struct_size=sizeof(_raw.ggufx_io), user=_callbacks.keep(source), size=_callbacks.SIZE,
            read_at=_callbacks.READ_AT, close=_callbacks.DESTROY)
        try:
            return cls(rt, lambda out, r, o, e: lib.ggufx_open_io(out, r, byref(struct), o, e),
                       **options)
        except Exception as error:
            if source.caught is None or source.caught is error:
                raise
            raise source.caught from error

    @property
    def info(self) -> FileInfo:
        """Facts of the file."""
        o = asked(_raw.ggufx_file_facts, lib.ggufx_file_info, self._handle)
        return made(FileInfo, o, big_endian=o.big_endian != 0)

    @property
    def meta(self) -> Metas:
        """The keys, a mapping: file.meta["general.name"].value."""
        return Metas(self._file_handle)

    @property
    def tensors(self) -> Tensors:
        """The tensors, by number and by name: file.tensors["output.weight"]."""
        return Tensors(self._runtime, self._file_handle)

    @property
    def _file_handle(self) -> FileHandle:
        own = self._handle
        assert isinstance(own, FileHandle)
        return own

    def tensor(self, name: str) -> Tensor:
        """A tensor by its name."""
        return self.tensors[name]

    def validate(self, flags: int = ValidateFlags.DEEP,
                 report: Callable[[Finding], bool | None] | None = None,
                 progress: Progress | None = None) -> list[Finding]:
        """Check the file beyond what open refuses. The findings; report receives each one
        before, and returns False to stop."""
        found: list[Finding] = []

        def one(at: int) -> bool | None:
            finding = _finding(cast(at, POINTER(_raw.ggufx_finding)).contents)
            found.append(finding)
            return report(finding) if report is not None else None

        e = _raw.ggufx_error()
        with Following(progress, one) as call:
            call.end(lib.ggufx_validate(self._handle, flags, _callbacks.POINTER, call.user,
                                        call.progress, byref(e)), e)
        return found


def _finding(f: _raw.ggufx_finding) -> Finding:
    return made(Finding, f, severity=LogLevel(f.severity), status=Status(f.status),
                offset=present(f.offset), index=present(f.index), text=text(f.text),
                name=text(f.name, f.name_length))


def _whole(stream: BinaryIO, n: int) -> bytes:
    """Exactly n bytes of a stream."""
    parts, left = [], n
    while left > 0:
        part = stream.read(left)
        if not part:
            raise EOFError(f"the stream ended {left} bytes before")
        parts.append(part)
        left -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


