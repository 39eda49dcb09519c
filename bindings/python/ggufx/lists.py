"""Objects that are lists, by number and by name.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from typing import Callable, Sequence, TypeVar, overload

from .errors import NotFoundError

T = TypeVar("T")


class Listed(Sequence[T]):
    """A list of the library, in its order."""

    def __init__(self, count: Callable[[], int], at: Callable[[int], T], find: Callable[[str], int] | None = None) -> None:
        self._count, self._at, self._find = count, at, find

    def __len__(self) -> int:
        return self._count()

    @overload
    def __getitem__(self, which: int | str) -> T: ...

    @overload
    def __getitem__(self, which: slice) -> list[T]: ...

    def __getitem__(self, which: int | str | slice) -> T | list[T]:
        n = len(self)
        if isinstance(which, slice):
            return [self[i] for i in range(*which.indices(n))]
        if isinstance(which, str):
            return self._at(self.find(which))
        if not -n <= which < n:
            raise IndexError(f"number {which} of {n}")
        return self._at(which % n)

    def find(self, name: str) -> int:
        """Number of the one with this name."""
        if self._find is None:
            raise TypeError("these have no names")
        return self._find(name)

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and self.find(name) >= 0
        except NotFoundError:
            return False
