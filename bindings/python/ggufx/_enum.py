"""Numbers of the library with names, also those that a newer library adds.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from enum import IntEnum


class Id(IntEnum):
    """A number whose name may be unknown: it is then UNKNOWN_41."""

    @classmethod
    def _missing_(cls, value: object) -> "Id | None":
        if not isinstance(value, int):
            return None
        member = int.__new__(cls, value)
        member._name_ = f"UNKNOWN_{value}"
        member._value_ = value
        return member
