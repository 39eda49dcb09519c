# Generated from include/ggufx by python3 bindings/raw.py --write; a test compares them.
# SPDX-License-Identifier: MIT
from ._error import Error, FileError, ModelError
from .ids import Status

__all__ = [
    "ArgumentError",
    "OutOfMemoryError",
    "IoError",
    "TruncatedError",
    "MagicError",
    "VersionError",
    "EndianError",
    "MalformedError",
    "LimitError",
    "TensorTypeError",
    "UnsupportedError",
    "NotFoundError",
    "CapacityError",
    "CancelledError",
    "ChecksumError",
    "MismatchError",
    "StateError",
    "InternalError",
    "DeviceError",
    "CountError",
    "LengthError",
    "FileKeyError",
    "ValueTypeError",
    "FileValueError",
    "DuplicateError",
    "AlignmentError",
    "FileNameError",
    "NdimsError",
    "ShapeError",
    "FileOverflowError",
    "OffsetError",
    "BoundsError",
    "SplitError",
    "VocabError",
    "HyperparameterError",
    "MissingError",
]


class ArgumentError(Error, ValueError):
    """The call breaks its contract: NULL, length, type, range."""

    code = Status.ARGUMENT


class OutOfMemoryError(Error, MemoryError):
    """The allocator returned NULL."""

    code = Status.MEMORY


class IoError(Error, OSError):
    """The system failed to open, read, map or write; system_error."""

    code = Status.IO


class TruncatedError(FileError):
    """The file ends inside a field."""

    code = Status.TRUNCATED


class MagicError(FileError):
    """Not a GGUF file."""

    code = Status.MAGIC


class VersionError(FileError):
    """A GGUF version or an option struct that this library does not know."""

    code = Status.VERSION


class EndianError(FileError):
    """Byte order not usable here."""

    code = Status.ENDIAN


class MalformedError(FileError):
    """Any other fault of the file."""

    code = Status.MALFORMED


class LimitError(Error):
    """Over a documented limit."""

    code = Status.LIMIT


class TensorTypeError(Error, ValueError):
    """Unknown, removed or unsuitable tensor type."""

    code = Status.TYPE


class UnsupportedError(Error, NotImplementedError):
    """Well-formed, but not implemented by this library."""

    code = Status.UNSUPPORTED


class NotFoundError(Error, KeyError):
    """No such key, tensor, type or file."""

    code = Status.NOT_FOUND


class CapacityError(Error):
    """Full, or the buffer is too small; nothing was changed."""

    code = Status.CAPACITY


class CancelledError(Error):
    """A callback asked to stop; nothing was changed."""

    code = Status.CANCELLED


class ChecksumError(FileError):
    """Stored and computed checksum differ."""

    code = Status.CHECKSUM


class MismatchError(Error):
    """Two objects do not fit together."""

    code = Status.MISMATCH


class StateError(Error, RuntimeError):
    """Not allowed now: calls in the wrong order."""

    code = Status.STATE


class InternalError(Error, RuntimeError):
    """A fault of this library: please report it."""

    code = Status.INTERNAL


class DeviceError(Error, RuntimeError):
    """A device failed or is lost; system_error: its driver's number."""

    code = Status.DEVICE


class CountError(FileError):
    """A count larger than the file can hold."""

    code = Status.COUNT


class LengthError(FileError):
    """A string length larger than the file can hold."""

    code = Status.LENGTH


class FileKeyError(FileError):
    """Empty or unusable key."""

    code = Status.KEY


class ValueTypeError(FileError):
    """Unknown value type, or not the type that the key must have."""

    code = Status.VALUE_TYPE


class FileValueError(FileError):
    """A value outside of its range."""

    code = Status.VALUE


class DuplicateError(FileError):
    """The same key or tensor name twice."""

    code = Status.DUPLICATE


class AlignmentError(FileError):
    """General.alignment is unusable, or not a power of two."""

    code = Status.ALIGNMENT


class FileNameError(FileError):
    """Unusable tensor name."""

    code = Status.NAME


class NdimsError(FileError):
    """More than 4 dimensions."""

    code = Status.NDIMS


class ShapeError(FileError):
    """Negative dimension, or a row that is not whole blocks."""

    code = Status.SHAPE


class FileOverflowError(FileError):
    """A product or sum of sizes exceeds 2^63."""

    code = Status.OVERFLOW


class OffsetError(FileError):
    """Tensor offset unaligned, out of order or overlapping."""

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


class HyperparameterError(ModelError):
    """Unusable hyper-parameter."""

    code = Status.HYPERPARAMETER


class MissingError(ModelError):
    """A tensor or key that the model needs is absent."""

    code = Status.MISSING
