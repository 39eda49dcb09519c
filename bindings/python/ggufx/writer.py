"""New files.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref, c_char_p, c_size_t, c_uint32, sizeof
from dataclasses import dataclass
from typing import Any, BinaryIO, Callable, Sequence, Union

import numpy as np

from . import _callbacks, _raw
from ._buffers import Buffer, address, dimensions, raw_bytes
from ._callbacks import Following, Progress, Source
from ._facts import Path, asked, made, path_bytes, to_bytes
from ._handle import Turns, WriterHandle
from ._library import lib
from .edit import Editing
from .errors import argument, check
from .file import File
from .ids import GroupOptionsFlags, MetaType, WriterFlags, WriteFlags
from .runtime import Runtime
from .tensor import Tensor

_ELEMENTS = {
    "u1": MetaType.U8, "i1": MetaType.I8, "u2": MetaType.U16, "i2": MetaType.I16,
    "u4": MetaType.U32, "i4": MetaType.I32, "u8": MetaType.U64, "i8": MetaType.I64,
    "f4": MetaType.F32, "f8": MetaType.F64, "b1": MetaType.BOOL,
}


@dataclass(frozen=True)
class WriterInfo:
    """Result of a write."""

    n_meta: int
    n_tensors: int
    n_parts: int
    n_bytes: int


class Writer(Editing):
    """A file to be: keys and tensors in the order they were added."""

    def __init__(self, rt: Runtime, *, big_endian: bool = False, version: int = 0,
                 reserve_bytes: int = 0) -> None:
        o = _raw.ggufx_writer_options(
            struct_size=sizeof(_raw.ggufx_writer_options), version=version,
            flags=WriterFlags.BIG_ENDIAN if big_endian else 0, reserve_bytes=reserve_bytes)
        own, e = WriterHandle(), _raw.ggufx_error()
        check(lib.ggufx_writer_create(byref(own), rt._handle, byref(o), byref(e)), e)
        self._own, self._turns = own, Turns()
        self._sources: list[Source] = []

    def set(self, key: str, value: Any, type: MetaType | None = None) -> None:
        """Set a key: to a bool, str or bytes; an int, of a type (U64 without one, I64 where it is
        negative); a float, of F64 or of a type; an array of numbers, of the type of its elements; a
        list of str, or of numbers, as NumPy makes an array of them."""
        name, e = to_bytes(key), _raw.ggufx_error()
        with self._turns.changing:
            if isinstance(value, (bool, np.bool_)) and type in (None, MetaType.BOOL):
                check(lib.ggufx_writer_set_bool(self._handle, name, len(name), int(value),
                                                byref(e)), e)
            elif isinstance(value, (str, bytes)):
                text = to_bytes(value)
                check(lib.ggufx_writer_set_string(self._handle, name, len(name), text, len(text),
                                                  byref(e)), e)
            elif isinstance(value, (int, float, np.integer, np.floating)):
                check(self._number(name, value, type, e), e)
            elif len(value) and all(isinstance(v, (str, bytes)) for v in value):
                check(self._texts(name, [to_bytes(v) for v in value], e), e)
            else:
                check(self._array(name, value, e), e)

    def _number(self, name: bytes, value: Any, type: MetaType | None, e: _raw.ggufx_error) -> int:
        if isinstance(value, (float, np.floating)) or type in (MetaType.F32, MetaType.F64):
            return lib.ggufx_writer_set_f64(self._handle, name, len(name),
                                            MetaType.F64 if type is None else type, float(value),
                                            byref(e))
        number = int(value)
        if not -2**63 <= number < 2**64:
            raise argument(f"{number} has no type of 64 bits")
        if number < 0:
            return lib.ggufx_writer_set_i64(self._handle, name, len(name),
                                            MetaType.I64 if type is None else type, number,
                                            byref(e))
        return lib.ggufx_writer_set_u64(self._handle, name, len(name),
                                        MetaType.U64 if type is None else type, number, byref(e))

    def _texts(self, name: bytes, texts: list[bytes], e: _raw.ggufx_error) -> int:
        at = (c_char_p * len(texts))(*texts)
        lengths = (c_size_t * len(texts))(*map(len, texts))
        return lib.ggufx_writer_set_array_string(self._handle, name, len(name), byref(at),
                                                 byref(lengths), len(texts), byref(e))

    def _array(self, name: bytes, value: Any, e: _raw.ggufx_error) -> int:
        array = np.asarray(value)
        kind = _ELEMENTS.get(array.dtype.str[1:])
        if kind is None or not array.dtype.isnative or not array.flags.c_contiguous:
            raise argument(f"no array of numbers that files have: {array.dtype.str}, strides "
                           f"{array.strides}")
        return lib.ggufx_writer_set_array(self._handle, name, len(name), kind, address(array),
                                          array.size, byref(e))

    def set_value(self, key: str, type: MetaType, value: Buffer) -> None:
        """Set a key to a value of any type, given as bytes of a little-endian file."""
        name, of, e = to_bytes(key), raw_bytes(value, "value"), _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_writer_set_value(self._handle, name, len(name), type, address(of),
                                             of.nbytes, byref(e)), e)

    def unset(self, key: str) -> None:
        """Remove a key."""
        name, e = to_bytes(key), _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_writer_unset(self._handle, name, len(name), byref(e)), e)

    def rename(self, key: str, new_key: str) -> None:
        """Rename a key."""
        name, to, e = to_bytes(key), to_bytes(new_key), _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_writer_rename(self._handle, name, len(name), to, len(to), byref(e)), e)

    def copy_meta(self, file: File) -> None:
        """Set all keys of a file."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_writer_copy_meta(self._handle, file._handle, byref(e)), e)

    def add(self, tensor: Tensor, name: str | None = None) -> None:
        """Add a tensor under a name; None: its own. Its data are kept alive."""
        title, e = None if name is None else to_bytes(name), _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_writer_add_tensor(self._handle, tensor._handle, title,
                                              0 if title is None else len(title), byref(e)), e)

    def copy_tensors(self, file: File) -> None:
        """Add all tensors of a file, or none."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_writer_copy_tensors(self._handle, file._handle, byref(e)), e)

    def copy_rank(self, file: File, rank: int, n_ranks: int,
                  speeds: Sequence[int] | None = None, layers: bool = False) -> None:
        """Set the keys and add the tensors of a file for one of n_ranks ranks of a group: the rows that
        it reads, or its layers where the group has whole ones. Speeds of all ranks; None: all the same."""
        if speeds is not None and len(speeds) != n_ranks:
            raise argument(f"{len(speeds)} speeds of {n_ranks} ranks")
        numbers = None if speeds is None else (c_uint32 * n_ranks)(*speeds)
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_writer_copy_rank(self._handle, file._handle, rank, n_ranks, numbers,
                                             GroupOptionsFlags.LAYERS if layers else 0, byref(e)), e)

    def add_stream(self, name: str, type: int, ne: Sequence[int],
                   read: Callable[[int, int], Buffer]) -> None:
        """Add a tensor whose data are generated while the file is written: read(offset, n)
        returns the next n bytes, little-endian blocks."""
        source, title, dims, e = Source(read), to_bytes(name), dimensions(ne), _raw.ggufx_error()
        stream = _raw.ggufx_tensor_stream(
            struct_size=sizeof(_raw.ggufx_tensor_stream), user=_callbacks.keep(source),
            read=_callbacks.READ_AT, destroy=_callbacks.DESTROY)
        with self._turns.changing:
            check(lib.ggufx_writer_add_stream(self._handle, title, len(title), type, len(ne),
                                              byref(dims), byref(stream), byref(e)), e)
            self._sources.append(source)

    @staticmethod
    def _options(max_part_bytes: int, max_part_tensors: int,
                 replace: bool = True) -> _raw.ggufx_write_options:
        return _raw.ggufx_write_options(
            struct_size=sizeof(_raw.ggufx_write_options), max_part_bytes=max_part_bytes,
            max_part_tensors=max_part_tensors, flags=0 if replace else WriteFlags.NO_REPLACE)

    def info(self, *, max_part_bytes: int = 0, max_part_tensors: int = 0) -> WriterInfo:
        """Describes the result of a write with these options."""
        o = self._options(max_part_bytes, max_part_tensors)
        with self._turns.reading:
            return made(WriterInfo, asked(_raw.ggufx_writer_facts, lib.ggufx_writer_info,
                                          self._handle, byref(o)))

    def write(self, to: Union[Path, BinaryIO, Callable[[int, bytes], object]], *,
              max_part_bytes: int = 0, max_part_tensors: int = 0, replace: bool = True,
              progress: Progress | None = None) -> None:
        """Write to a path, whole or not at all; or give the parts in order, each one's bytes in
        order, to a function (part, bytes), or to a stream."""
        o, e = self._options(max_part_bytes, max_part_tensors, replace), _raw.ggufx_error()
        sink: Any = to if callable(to) else None
        if hasattr(to, "write"):
            stream: Any = to

            def sink(part: int, data: bytes) -> None:
                stream.write(data)
        with self._turns.changing, Following(progress, sink) as call:
            o.progress = call.progress
            if sink is not None:
                status = lib.ggufx_writer_write_stream(self._handle, _callbacks.PART, call.user,
                                                       byref(o), byref(e))
            else:
                name = path_bytes(to)  # type: ignore[arg-type]
                status = lib.ggufx_writer_write(self._handle, name, byref(o), byref(e))
            self._end(call, status, e)

    def _end(self, call: Following, status: int, e: _raw.ggufx_error) -> None:
        """An exception of a source takes precedence."""
        for source in self._sources:
            caught, source.caught = source.caught, None
            if caught is not None and call.caught is None:
                call.caught = caught
        call.end(status, e)
