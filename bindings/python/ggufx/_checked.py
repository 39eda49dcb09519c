"""Numbers that C takes in fewer bits than Python has: ctypes would cut them silently.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import Structure, c_int32, c_int64, c_uint32, c_uint64
from typing import Any, Callable

LIMITS: dict[Any, tuple[int, int]] = {
    c_uint32: (0, 2**32 - 1), c_int32: (-2**31, 2**31 - 1),
    c_uint64: (0, 2**64 - 1), c_int64: (-2**63, 2**63 - 1),
}


def refuse(what: str, value: Any, low: int, high: int) -> None:
    """Raise the error that the library would return for the number."""
    from ._error import argument  # which needs the structs
    raise argument(f"{what} is {value}, not within {low} .. {high}")


class Checked(Structure):
    """A struct that a program's numbers go into."""

    _limits: dict[str, tuple[int, int]] = {}

    def __init_subclass__(cls) -> None:
        fields = cls.__dict__["_fields_"]
        cls._limits = {name: LIMITS[kind] for name, kind in fields if kind in LIMITS}

    def __setattr__(self, name: str, value: Any) -> None:
        limits = self._limits.get(name)
        if limits is not None and not limits[0] <= value <= limits[1]:
            refuse(name, value, *limits)
        super().__setattr__(name, value)


def checked(name: str, function: Callable[..., Any], types: list[Any]) -> Callable[..., Any]:
    """Wraps a function with range checks of its integer arguments. Arguments of size_t are not
    checked: they are lengths or indices, which the library checks."""
    limits = [(i, *LIMITS[t]) for i, t in enumerate(types) if t in LIMITS]
    if not limits:
        return function

    def looking(*arguments: Any) -> Any:
        for i, low, high in limits:
            if not low <= arguments[i] <= high:
                refuse(f"argument {i + 1} of {name}", arguments[i], low, high)
        return function(*arguments)
    return looking
