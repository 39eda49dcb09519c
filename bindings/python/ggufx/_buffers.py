"""NumPy arrays and other buffers as the library takes them: in place, or not at all.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import math
from ctypes import Structure, addressof, c_char, c_uint64, string_at
from typing import Any, Callable, Sequence, TypeVar, Union

import numpy as np
from numpy.typing import NDArray

from ._error import argument
from .ids import MAX_DIMS

Array = NDArray[Any]
S = TypeVar("S", bound=Structure)
T = TypeVar("T")
Floats = NDArray[np.float32]
Ints32 = NDArray[np.int32]
Doubles = NDArray[np.float64]
# An array, or anything with the buffer protocol: bytes, bytearray, memoryview, array.array, mmap.
Buffer = Any
# A list of numbers is copied, an array is not.
Ints = Union[Sequence[int], Array]

F32 = np.dtype(np.float32)
F64 = np.dtype(np.float64)
F16 = np.dtype(np.float16)
U16 = np.dtype(np.uint16)
I32 = np.dtype(np.int32)
U32 = np.dtype(np.uint32)
U8 = np.dtype(np.uint8)
I64 = np.dtype(np.int64)
U64 = np.dtype(np.uint64)
SIZE = np.dtype(np.uintp)


def _array(buffer: Buffer, what: str) -> Array:
    if isinstance(buffer, np.ndarray):
        return buffer
    try:
        return np.asarray(memoryview(buffer))
    except (TypeError, ValueError):
        raise argument(f"{what} is no buffer: {type(buffer).__name__}") from None


def _typed(array: Array, dtype: np.dtype[Any], what: str) -> None:
    if array.dtype == dtype:
        return
    if array.dtype.newbyteorder() == dtype:
        raise argument(f"{what} has the other byte order: {array.dtype.str}, not {dtype.str}")
    raise argument(f"{what} has the type {array.dtype}, not {dtype}")


def reads(buffer: Buffer, dtype: np.dtype[Any], what: str, n: int | None = None) -> Array:
    """A buffer of numbers that is read; n is how many there must be."""
    array = buffer if isinstance(buffer, np.ndarray) else _array(buffer, what)
    if array.dtype is not dtype:
        _typed(array, dtype, what)
    flags = array.flags
    if not flags.carray:  # which most are, at one look
        if not flags.c_contiguous:
            raise argument(f"{what} is not C-contiguous: strides {array.strides} of shape "
                           f"{array.shape}")
        if not flags.aligned:
            raise argument(f"{what} is not aligned to its {array.itemsize} bytes")
    if n is not None and array.size != n:
        raise argument(f"{what} has {array.size} values of shape {array.shape}, not {n}")
    return array


def writes(buffer: Buffer, dtype: np.dtype[Any], what: str, n: int | None = None) -> Array:
    """A buffer of numbers that is written."""
    array = reads(buffer, dtype, what, n)
    if not array.flags.writeable:
        raise argument(f"{what} is read-only")
    return array


def room_for(out: Buffer | None, shape: tuple[int, ...], dtype: np.dtype[Any] = F32,
           what: str = "out") -> Array:
    """Destination of a result: a new array of a shape, or a buffer of so many values."""
    if out is None:
        return np.empty(shape, dtype)
    n = 1
    for d in shape:
        n *= d
    array = writes(out, dtype, what)
    if array.size != n:
        raise argument(f"{what} has the shape {array.shape}, {shape} are wanted")
    return array


def fresh(n: int, dtype: np.dtype[Any]) -> Array:
    """A new array for n numbers of a result."""
    if not 0 <= n < 2**63:
        raise argument(f"{n} numbers are no array")
    return np.empty(n, dtype)


def copied(at: int | None, shape: tuple[int, ...], dtype: np.dtype[Any], optional: bool = False) -> Any:
    """A copy of numbers of the library."""
    if at is None:
        return None if optional else np.empty((0,) * len(shape), dtype)
    n = math.prod(shape) * dtype.itemsize
    return np.frombuffer(string_at(at, n), dtype).copy().reshape(shape)


def structs_at(kind: type[S], at: int | None, n: int, made: Callable[[S], T]) -> tuple[T, ...]:
    """Copies of structs of the library."""
    return tuple(made(o) for o in (kind * n).from_address(at)) if at and n else ()


def records(struct: type[Structure], at: int, n: int) -> Array:
    """Structs of the library as an array that changes them; valid only during a callback."""
    kind: Any = np.dtype(struct)
    memory: Any = (struct * n).from_address(at) if n else b""
    return np.frombuffer(memory, kind)


def count(*arrays: Array | None) -> int:
    """The number of elements of arrays that are equally long, if they are there."""
    sizes = {array.size for array in arrays if array is not None}
    if len(sizes) > 1:
        raise argument(f"arrays of {sorted(sizes)} values must be equally long")
    return sizes.pop() if sizes else 0


def equal(*lists: Any) -> int:
    """The same for lists of numbers."""
    return count(*(None if of is None else np.asarray(of) for of in lists))


def raw_bytes(buffer: Buffer, what: str) -> Array:
    """A buffer of bytes that is read."""
    array = _array(buffer, what)
    if array.itemsize != 1:
        raise argument(f"{what} has the type {array.dtype}, not bytes")
    return reads(array, array.dtype, what)


def numbers(values: Ints, dtype: np.dtype[Any], what: str, n: int | None = None) -> Array:
    """A list of numbers, copied, or a buffer of them."""
    if isinstance(values, (list, tuple, range)):
        array, limits = np.array(values), np.iinfo(dtype)
        if array.size and array.dtype.kind not in "iu":
            raise argument(f"{what} is no list of integers of 64 bits")
        if array.size and not limits.min <= array.min() <= array.max() <= limits.max:
            raise argument(f"{what} has {array.min()} .. {array.max()}, not within {limits.min} .. "
                           f"{limits.max}")
        values = array.astype(dtype)
    return reads(values, dtype, what, n)


def dimensions(ne: Sequence[int]) -> Any:
    """Values per dimension as a C array."""
    if len(ne) > MAX_DIMS:
        raise argument(f"ne has {len(ne)} dimensions, at most {MAX_DIMS}")
    for n in ne:
        if not 0 <= n < 2**63:
            raise argument(f"ne has {n}, not within 0 .. 2^63 - 1")
    return (c_uint64 * MAX_DIMS)(*ne)


def address(array: Array) -> int:
    """Address of the first value; the array must stay alive while the address is used."""
    memory: Any = array
    try:
        return addressof(c_char.from_buffer(memory))  # a third of the time of the next
    except (TypeError, ValueError, BufferError):
        return int(array.ctypes.data)


def address_or_none(array: Array | None) -> int | None:
    """The same; None for no values."""
    return None if array is None or not array.size else address(array)


def columns(buffer: Buffer, dtype: np.dtype[Any], n: int, what: str) -> tuple[Array, int, int]:
    """Vectors of n values: one, or rows of a matrix, which may be apart. The array, how many values
    from one to the next, and how many vectors."""
    array = _array(buffer, what)
    _typed(array, dtype, what)
    if array.ndim == 1 and array.size == n:
        array = array.reshape(1, n)
    if array.ndim != 2 or array.shape[1] != n:
        raise argument(f"{what} has the shape {array.shape}, not ({n},) or (columns, {n})")
    apart, inner = array.strides
    if array.size and ((n > 1 and inner != array.itemsize) or
                       (len(array) > 1 and (apart < n * array.itemsize or apart % array.itemsize))):
        raise argument(f"{what} has the strides {array.strides}: values of a row are not together, "
                       "or rows not one after the other")
    if not array.flags.aligned:
        raise argument(f"{what} is not aligned to its {array.itemsize} bytes")
    ld = apart // array.itemsize if len(array) > 1 else n
    return array, ld, len(array)


class View:
    """Memory of the library as NumPy takes it: read-only; its owner lives as long as the array."""

    def __init__(self, owner: object, at: int, shape: tuple[int, ...], strides: tuple[int, ...],
                 typestr: str) -> None:
        self.owner = owner
        self.__array_interface__ = {"version": 3, "data": (at, True), "shape": shape,
                                    "strides": strides, "typestr": typestr}

    def array(self) -> Array:
        return np.asarray(self)


