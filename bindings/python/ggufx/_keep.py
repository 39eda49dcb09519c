"""Memory that a call reads and writes, besides arrays: it must stay alive until the call ends.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import json
from ctypes import Structure, addressof, c_char_p, c_size_t, c_void_p, cast
from typing import Any, Callable, Protocol, Sequence, TypeVar

import numpy as np

from ._buffers import F16, F32, U16, Array, Buffer, address, numbers, raw_bytes, reads
from ._error import argument
from ._facts import Path, Text, path_bytes, terminated, to_bytes
from ._handle import CLASSES, Object
from .ids import Status, TensorType

T = TypeVar("T")
S = TypeVar("S", bound=Structure)
FLOATS: dict[int, np.dtype[Any]] = {TensorType.F32: F32, TensorType.F16: F16, TensorType.BF16: U16}


class Fills(Protocol):
    """A value that goes into a struct of C."""

    def _fill(self, o: Any, keep: Any) -> None: ...


class Keep:
    """A with-statement around a call whose structs have pointers."""

    def __init__(self) -> None:
        self._kept: list[object] = []
        self.callbacks: list[Any] = []  # that the object of the call keeps

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._kept.clear()

    def _bytes(self, of: bytes) -> int | None:
        self._kept.append(of)
        return cast(c_char_p(of), c_void_p).value

    def string(self, value: Text | None) -> int | None:
        """Address of a NUL-terminated string."""
        return None if value is None else self._bytes(terminated(value))

    def path(self, value: Path | None) -> int | None:
        """Address of the name of a file."""
        return None if value is None else self._bytes(path_bytes(value))

    def text(self, value: Text | None) -> tuple[int | None, int]:
        """Address and length."""
        of = None if value is None else to_bytes(value)
        return (None, 0) if of is None else (self._bytes(of), len(of))

    def json(self, value: Any) -> tuple[int | None, int]:
        """A JSON text, or a value that is written as one."""
        if value is None or isinstance(value, (str, bytes)):
            return self.text(value)
        return self.text(json.dumps(value, ensure_ascii=False))

    def bytes(self, value: Buffer | None, what: str) -> tuple[int | None, int]:
        """Address and length of any bytes."""
        if value is None:
            return None, 0
        of = raw_bytes(value, what)
        self._kept.append(of)
        return address(of), of.nbytes

    def array(self, values: Any, dtype: np.dtype[Any], what: str, n: int | None = None) -> tuple[int | None, int]:
        """Address and length of numbers."""
        if values is None:
            return None, 0
        of: Array = (reads if dtype.kind == "f" else numbers)(values, dtype, what, n)
        self._kept.append(of)
        return address(of), of.size

    def values(self, values: Buffer | None, type: int, what: str) -> tuple[int | None, int]:
        """Address and number of floats of a type of files; those of BF16 are given as their bits."""
        if values is None:
            return None, 0
        if type not in FLOATS:
            raise argument(f"the type of {what} is {type}, not F32, F16 or BF16")
        of = reads(values, FLOATS[type], what)
        self._kept.append(of)
        return address(of), of.size

    def object(self, of: Object | None, kind: str) -> int | None:
        """Address of an object of the library, by its name in C."""
        if of is None:
            return None
        if not isinstance(of, Object) or of._kind != kind:
            raise argument(f"a {type(of).__name__} is no {CLASSES[kind].__name__}")
        handle = of._handle
        self._kept.append(handle)
        self.callbacks += of._callbacks
        return handle.value

    def objects(self, of: Sequence[Object] | None, kind: str) -> tuple[int | None, int]:
        """Addresses of objects."""
        if of is None:
            return None, 0
        found = [self.object(x, kind) for x in of]
        array = (c_void_p * max(len(found), 1))(*found)
        self._kept.append(array)
        return addressof(array), len(found)

    def made(self, kind: type[S], value: Fills) -> S:
        """A struct."""
        o = kind()
        value._fill(o, self)
        self._kept.append(o)
        return o

    def struct(self, kind: type[Structure], value: Fills | None) -> int | None:
        """Address of a struct."""
        return None if value is None else addressof(self.made(kind, value))

    def structs(self, kind: type[Structure], values: Sequence[Fills] | None) -> tuple[int | None, int]:
        """Address of structs one after the other, and their number."""
        if values is None:
            return None, 0
        of = (kind * max(len(values), 1))()
        for o, value in zip(of, values):
            value._fill(o, self)
        self._kept.append(of)
        return addressof(of), len(values)

    def stays(self, thunk: int, function: Callable[..., Any] | None, convert: Callable[..., Any]
              ) -> tuple[int | None, int | None]:
        """Address of a function that is called after the call, too, and its first argument."""
        from ._callbacks import Kept  # which needs this module
        if function is None:
            return None, None
        self.callbacks.append(Kept(function, convert))
        return thunk, self.callbacks[-1].user

    def texts(self, values: Sequence[Text]) -> tuple[int, int]:
        """Addresses of texts, and their lengths."""
        of = [to_bytes(v) for v in values]
        at, lengths = (c_char_p * max(len(of), 1))(*of), (c_size_t * max(len(of), 1))(*map(len, of))
        self._kept += [of, at, lengths]
        return addressof(at), addressof(lengths)

    def addressed(self, kind: type[Structure], made: Callable[[T], tuple[int | None, int]],
                  values: Sequence[T] | None) -> tuple[int | None, int]:
        """Address of structs that have an address and a length, and their number."""
        if values is None:
            return None, 0
        of: Any = (kind * max(len(values), 1))(*map(made, values))  # type: ignore[misc]
        self._kept.append(of)
        return addressof(of), len(values)


class Room:
    """A buffer of a call that says how much it needs."""

    def __init__(self, dtype: np.dtype[Any], n: int) -> None:
        self._make(lambda size: np.empty(size, dtype), n)

    def _make(self, made: Callable[[int], Any], n: int) -> None:
        self.needed, self._made, self.of = c_size_t(), made, made(n)

    @property
    def n(self) -> int:
        return len(self.of)

    @property
    def at(self) -> int:
        return address(self.of)

    def grow(self) -> bool:
        """More room, if more is needed."""
        if self.needed.value <= self.n:
            return False
        self.of = self._made(self.needed.value)
        return True

    def array(self) -> Array:
        return self.of[: self.needed.value].copy()  # type: ignore[no-any-return]

    def bytes(self) -> bytes:
        return bytes(self.of[: self.needed.value])

    def text(self) -> str:
        return self.bytes().decode("utf-8", "surrogateescape")


class Structs(Room):
    """The same for structs."""

    def __init__(self, kind: type[Structure], n: int) -> None:
        self._make(lambda size: (kind * size)(), n)

    @property
    def at(self) -> int:
        return addressof(self.of)

    def structs(self, made: Callable[[Any], T]) -> tuple[T, ...]:
        return tuple(made(o) for o in self.of[: self.needed.value])


def asked_twice(call: Callable[[], int], *rooms: Room) -> int:
    """Status of a call that is made again with more room, if it needs that."""
    while True:
        status = call()
        if status != Status.CAPACITY or not [room for room in rooms if room.grow()]:
            return status
