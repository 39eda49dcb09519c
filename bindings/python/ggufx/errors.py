"""Failures of the library as exceptions, a class for each code.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import os
import threading

from . import _codes, _signals
from ._codes import *  # noqa: F403
from ._codes import NotFoundError, StateError
from ._error import Error, FileError, ModelError, argument, present
from ._library import lib
from ._raw import ggufx_error
from .ids import Status

__all__ = ["Error", "FileError", "ModelError", "NoFileError", "ClosedError"]
__all__ += _codes.__all__
thrown = threading.local()  # by_hook: exception of a hook that this thread's call ran


class NoFileError(NotFoundError, FileNotFoundError):
    """No such file."""


class ClosedError(StateError):
    """The object was closed."""


_BY_CODE: dict[int, type[Error]] = {kind.code: kind for kind in (getattr(_codes, n) for n in _codes.__all__)}


def class_of(code: int) -> type[Error]:
    """The class of a code; Error for one of a newer library."""
    return _BY_CODE.get(code, Error)


def failure(status: int, record: ggufx_error) -> Error:
    """The exception of a failed call."""
    kind = class_of(status)
    if status == Status.NOT_FOUND and record.system_error:
        kind = NoFileError
    name = (lib.ggufx_status_name(status) or b"").decode()
    error = kind(f"{name}: {record.message.decode(errors='replace')}")
    error.code = Status(status)
    error.offset, error.index = present(record.offset), present(record.index)
    error.value, error.limit = record.value, record.limit
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
