"""Handlers of signals beside functions that the library calls.

CPython runs a handler in the main thread before the first instruction of the next function. Where
the library called that function, what the handler raises would end it without a result, and ctypes
would give the library whatever stands in a register. So handlers wait until the function can catch.
SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import signal
import threading
from types import CodeType, FrameType
from typing import Any, Callable

WATCHED = [getattr(signal, name) for name in (
    "SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)]

Handler = Callable[[int, "FrameType | None"], Any]
_previous: dict[int, Handler] = {}
waiting: list[int | BaseException] = []  # signals, and what left a hook and is no failure of it
_entries: set[CodeType] = set()


def handlers() -> dict[int, Handler]:
    """The handlers in Python; none in another thread, where they do not run."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    found = {number: signal.getsignal(number) for number in WATCHED}
    return {number: h for number, h in found.items() if callable(h)}


def entry(function: Callable[..., Any]) -> None:
    """Note a function that the library calls, or one between that and where it catches."""
    _entries.add(function.__code__)


def stand_before() -> None:
    """From now on handlers wait where the library calls a hook of a runtime."""
    for number, handler in handlers().items():
        if handler is not _deliver:
            _previous[number] = handler
            signal.signal(number, _deliver)


def _deliver(number: int, frame: FrameType | None) -> None:
    if frame is not None and frame.f_code in _entries:
        waiting.append(number)
    else:
        _previous[number](number, frame)


entry(_deliver)  # for a signal that follows at once


def handle() -> None:
    """Run the pending handlers, and raise pending exceptions, when they are caught or a call
    ends."""
    while waiting and threading.current_thread() is threading.main_thread():
        first = waiting.pop(0)
        if isinstance(first, BaseException):
            raise first
        _previous[first](first, None)


def interrupt(error: BaseException) -> None:
    """Raise something at the end of the call in the main thread."""
    if threading.current_thread() is threading.main_thread():
        waiting.append(error)


class Waiting:
    """In one call all handlers wait until it asks."""

    def __init__(self) -> None:
        self._noted: list[int] = []
        self._handlers: dict[int, Handler] = {}
        try:
            for number, handler in handlers().items():
                self._handlers[number] = handler
                signal.signal(number, self._note)
        except BaseException:  # of a handler that was not pending
            self.end()
            raise

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._noted.append(number)

    def handle(self) -> None:
        """Run the pending handlers."""
        while self._noted:
            number = self._noted.pop(0)
            self._handlers[number](number, None)

    def end(self) -> None:
        """Put the handlers back."""
        _put_back(list(self._handlers.items()))


def _put_back(left: list[tuple[int, Handler]]) -> None:
    try:
        while left:
            number, handler = left.pop()
            signal.signal(number, handler)
    finally:
        if left:  # a handler that is back ran and raised
            _put_back(left)
