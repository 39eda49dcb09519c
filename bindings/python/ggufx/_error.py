"""What all failures of the library have in common.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from .ids import Status

NONE = 2**64 - 1  # marks absent numbers


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
    value: int = 0
    """The number that was too large, for CAPACITY and LIMIT."""
    limit: int = 0
    """The most that it may be."""
    system_error: int = 0
    """errno of the system call that failed, else 0."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else self.code.name


class FileError(Error, ValueError):
    """A fault of a file; the classes below tell which."""

    code = Status.MALFORMED


class ModelError(FileError):
    """A fault of a model inside of a well-formed file."""


def argument(text: str) -> Error:
    """Error that the library would return for an argument checked in Python."""
    from ._codes import ArgumentError  # which needs the classes here
    return ArgumentError("ARGUMENT: " + text)
