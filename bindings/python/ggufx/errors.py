"""Failures of the library as exceptions, a class for each code.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import os
import threading

from . import _signals
from ._library import lib
from ._raw import ggufx_error
from .ids import Status

__all__ = [
    "Error", "ArgumentError", "OutOfMemoryError", "IoError", "LimitError", "TensorTypeError",
    "UnsupportedError", "NotFoundError", "NoFileError", "CapacityError", "CancelledError",
    "MismatchError", "StateError", "ClosedError", "InternalError", "DeviceError", "FileError",
    "MalformedError", "ModelError", "VersionError", "TruncatedError", "MagicError",
    "EndianError", "ChecksumError", "CountError", "LengthError", "FileKeyError", "KvtypeError",
    "FileValueError", "DuplicateError", "AlignmentError", "FileNameError", "NdimsError",
    "ShapeError", "FileOverflowError", "OffsetError", "BoundsError", "SplitError", "VocabError",
    "HparamError", "MissingError",
]

NONE = 2**64 - 1  # marks absent members
thrown = threading.local()  # by_hook: exception of a hook that this thread's call ran


def present(value: int) -> int | None:
    """A number that may be absent."""
    return None if value == NONE else value


class Error(Exception):
    """Error of a failed call, which changed nothing."""

    code: Status = Status.INTERNAL
    offset: int | None = None
    """Byte offset in the file of the field at fault."""
    index: int | None = None
    """Number of the key, tensor, row, token or argument at fault."""
    system_error: int = 0
    """errno of the system call that failed, else 0."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else self.code.name


class ArgumentError(Error, ValueError):
    """The call breaks its contract: length, type, range."""

    code = Status.ARGUMENT


class OutOfMemoryError(Error, MemoryError):
    """The allocator has no memory left."""

    code = Status.MEMORY


class IoError(Error, OSError):
    """The system failed to open, read, map or write."""

    code = Status.IO


class LimitError(Error):
    """Over a documented limit."""

    code = Status.LIMIT


class TensorTypeError(Error, ValueError):
    """Unknown, removed or unsuitable tensor type."""

    code = Status.TYPE


class UnsupportedError(Error, NotImplementedError):
    """Well-formed, but not something the library does."""

    code = Status.UNSUPPORTED


class NotFoundError(Error, KeyError):
    """No such key, tensor, type or file."""

    code = Status.NOT_FOUND


class NoFileError(NotFoundError, FileNotFoundError):
    """No such file."""


class CapacityError(Error):
    """Full, or the buffer is too small."""

    code = Status.CAPACITY


class CancelledError(Error):
    """A progress function asked to stop."""

    code = Status.CANCELLED


class MismatchError(Error):
    """Two objects do not fit together."""

    code = Status.MISMATCH


class StateError(Error, RuntimeError):
    """Not allowed now: wrong order of calls, or another call uses the object."""

    code = Status.STATE


class ClosedError(StateError):
    """The object was closed."""


class InternalError(Error, RuntimeError):
    """A fault of the library, or of a hook of a runtime."""

    code = Status.INTERNAL


class DeviceError(Error, RuntimeError):
    """A device (GPU) failed or is lost."""

    code = Status.DEVICE


class FileError(Error, ValueError):
    """A fault of a file; the classes below tell which."""

    code = Status.MALFORMED


class MalformedError(FileError):
    """Error without its own code."""


class ModelError(FileError):
    """A fault of a model inside of a well-formed file."""


class VersionError(FileError):
    """A version that the library does not know."""

    code = Status.VERSION


class TruncatedError(FileError):
    """The file ends inside a field."""

    code = Status.TRUNCATED


class MagicError(FileError):
    """Not a GGUF file."""

    code = Status.MAGIC


class EndianError(FileError):
    """Byte order not usable here."""

    code = Status.ENDIAN


class ChecksumError(FileError):
    """Stored and computed checksum differ."""

    code = Status.CHECKSUM


class CountError(FileError):
    """A count larger than the file can hold."""

    code = Status.COUNT


class LengthError(FileError):
    """A string length larger than the file can hold."""

    code = Status.LENGTH


class FileKeyError(FileError):
    """Empty or unusable key."""

    code = Status.KEY


class KvtypeError(FileError):
    """Unknown value type, or not the type a key must have."""

    code = Status.KVTYPE


class FileValueError(FileError):
    """A value outside of its range."""

    code = Status.VALUE


class DuplicateError(FileError):
    """The same key or tensor name twice."""

    code = Status.DUPLICATE


class AlignmentError(FileError):
    """general.alignment is unusable."""

    code = Status.ALIGNMENT


class FileNameError(FileError):
    """Unusable tensor name."""

    code = Status.NAME


class NdimsError(FileError):
    """More than 4 dimensions."""

    code = Status.NDIMS


class ShapeError(FileError):
    """A negative dimension, or a row that is not whole blocks."""

    code = Status.SHAPE


class FileOverflowError(FileError):
    """A product or sum of sizes over 2^63."""

    code = Status.OVERFLOW


class OffsetError(FileError):
    """A tensor offset unaligned, out of order or overlapping."""

    code = Status.OFFSET


class BoundsError(FileError):
    """Tensor data end after the file."""

    code = Status.BOUNDS


class SplitError(FileError):
    """The parts of a split model do not fit together."""

    code = Status.SPLIT


class VocabError(ModelError):
    """Unusable vocabulary."""

    code = Status.VOCAB


class HparamError(ModelError):
    """Unusable hyper-parameter."""

    code = Status.HPARAM


class MissingError(ModelError):
    """A tensor or key the model needs is absent."""

    code = Status.MISSING


def _classes(of: type[Error]) -> list[type[Error]]:
    return [c for kind in of.__subclasses__() for c in (kind, *_classes(kind))]


# Those left out share a code, and are chosen otherwise.
_BY_CODE: dict[int, type[Error]] = {
    kind.code: kind for kind in _classes(Error)
    if kind not in (FileError, ModelError, NoFileError, ClosedError)}


def class_of(code: int) -> type[Error]:
    """The class of a code; Error for one of a newer library."""
    return _BY_CODE.get(code, Error)


def failure(status: int, record: ggufx_error) -> Error:
    """The exception of a failed call."""
    kind = class_of(status)
    if status == Status.NOT_FOUND and record.system_error:
        kind = NoFileError
    name = (lib.ggufx_status_name(status) or b"").decode()
    text = f"{name}: {record.message.decode(errors='replace')}"
    return _made(kind, Status(status), text, record)


def _made(kind: type[Error], code: Status, text: str, record: ggufx_error) -> Error:
    error = kind(text)
    error.code = code
    error.offset, error.index = present(record.offset), present(record.index)
    error.system_error = record.system_error
    if isinstance(error, OSError) and os.name == "posix" and record.system_error:
        error.errno = record.system_error
    return error


def check(status: int, record: ggufx_error) -> None:
    """Raises the error in the record if a call failed."""
    if _signals.waiting:
        _signals.handle()
    if status:
        error = failure(status, record)
        cause, thrown.by_hook = getattr(thrown, "by_hook", None), None
        if status not in (Status.INTERNAL, Status.MEMORY) or cause is None:
            raise error
        if not isinstance(cause, Exception):
            raise cause  # KeyboardInterrupt
        raise error from cause


def argument(text: str) -> ArgumentError:
    """Error that the library would return for an argument checked in Python."""
    return ArgumentError("ARGUMENT: " + text)

