"""Functions of the program that the library calls: during one call, or as long as an object lives.

No exception crosses the library. What a function of one call raises ends that call and is raised
behind it; a hook of a runtime that raises has failed: see _hook.
SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import itertools
import threading
from ctypes import (
    CFUNCTYPE, addressof, c_int32, c_size_t, c_uint32, c_uint64, c_void_p, cast, memmove, py_object,
    pythonapi)
from typing import Any, Callable, Optional

from . import _raw, _signals
from ._buffers import address, raw_bytes
from ._keep import Keep
from ._tasks import Tasks
from ._error import argument
from .errors import check, thrown
from .ids import Status

# Receives the progress of a long call; the total is 0 when unknown. False ends it with
# CancelledError.
Progress = Callable[[int, int], Optional[bool]]

_live: dict[int | None, Any] = {}  # objects that the library references by a number
_numbers = itertools.count(1)


def lend(thing: object) -> int:
    """Keep something until the library calls DESTROY with this number."""
    number = next(_numbers)
    _live[number] = thing
    return number


def release(number: int) -> None:
    """Let go of what lend() keeps."""
    _live.pop(number, None)


class Catcher:
    """Runs functions of the program, and keeps what one raises until the call has ended."""

    caught: BaseException | None = None
    _pending: Any = _signals  # whose handlers run first

    def run(self, function: Callable[..., Any], *arguments: Any) -> bool:
        """Call a function of the program; False: end the call."""
        if self.caught is not None:
            return False
        try:
            self._pending.handle()
            return function(*arguments) is not False
        except BaseException as e:
            self.caught = e
            return False

    def rethrow(self) -> None:
        """Raise the exception of a function."""
        caught, self.caught = self.caught, None
        if caught is not None:
            try:
                raise caught
            finally:
                del caught


class Following(Catcher, Keep):
    """A with-statement around a call that can be followed, ended, and interrupted by Ctrl-C.

    In the main thread, signal handlers run when the call polls, so that their exception (a
    KeyboardInterrupt) ends the call; other threads run no handlers."""

    def __init__(self) -> None:
        super().__init__()
        self._users: list[int] = []

    def __enter__(self) -> Following:
        self._pending = _signals.Waiting()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        super().__exit__(kind, error, trace)
        for user in self._users:
            del _live[user]
        self._pending.end()
        self._pending.handle()

    def _user(self, thing: object) -> int:
        self._users.append(lend(thing))
        return self._users[-1]

    def follow(self, report: Progress | None) -> int:
        """Address of the struct of a progress function; without one it polls for signals."""
        self._report = report or (lambda done, total: None)
        o = _raw.ggufx_progress(user=self._user(self), report=PROGRESS)
        self._kept.append(o)
        return addressof(o)

    def on(self, thunk: int, function: Callable[..., Any] | None, convert: Callable[..., Any]
           ) -> tuple[int | None, int | None]:
        """Address of a function of the call, and its first argument. convert calls the program's
        function with what C has passed."""
        if function is None:
            return None, None
        return thunk, self._user((self, function, convert))

    def end(self, status: int, record: _raw.ggufx_error) -> None:
        """Raise the exception of a callback, else the error in the record."""
        self.rethrow()
        check(status, record)


def _progress(user: int, done: int, total: int) -> int:
    call: Following = _live[user]
    return 0 if call.run(call._report, done, total) else 1


def _goes_on(user: int, *raw: Any) -> int:
    """A function whose result says whether the call goes on."""
    call, function, convert = _live[user]
    if call.run(convert, function, *raw):
        return Status.OK
    return Status.TRUNCATED if isinstance(call.caught, EOFError) else Status.CANCELLED


def _is_told(user: int, *raw: Any) -> None:
    """A function without a result."""
    call, function, convert = _live[user]
    call.run(convert, function, *raw)


def fill(to: int, n: int, data: Any, what: str) -> None:
    """Copy exactly n bytes of a program's to an address."""
    array = raw_bytes(data, what)
    if array.nbytes != n:
        raise argument(f"{what} gave {array.nbytes} bytes, not {n}")
    if n:
        memmove(to, address(array), n)


def fill_whole(to: int, n: int, read: Callable[[int], Any]) -> None:
    """Fill n bytes with parts that a function gives."""
    while n:
        part = raw_bytes(read(n), "the read function")
        if not part.nbytes:
            raise EOFError(f"the stream ended {n} bytes before")
        if part.nbytes > n:
            raise argument(f"the read function gave {part.nbytes} bytes, not {n}")
        memmove(to, address(part), part.nbytes)
        to, n = to + part.nbytes, n - part.nbytes


class Hosted(Catcher, threading.local):
    """Callback kept by an object and its clones. Its exception ends the call that runs it, in
    the same thread."""


class Kept:
    """A function of the program that is called until the last object which has it is gone."""

    def __init__(self, function: Callable[..., Any], convert: Callable[..., Any]) -> None:
        self.host = Hosted()
        self.user = lend((self.host, function, convert))
        self.rethrow = self.host.rethrow

    def __del__(self, release: Callable[[int], None] = release) -> None:
        release(self.user)


class Source(Catcher):
    """Byte source that the library reads while an object lives. A source is read in calls of
    several objects; its exception is the cause of that call's error."""

    def __init__(self, read: Callable[[int, int, int], None], size: int = 0) -> None:
        """read(offset, to, n) puts bytes to an address."""
        self.read, self.size = read, size


def _read_at(user: int, offset: int, to: int, n: int) -> int:
    source: Source = _live[user]
    try:
        source.read(offset, to, n)
        return Status.OK
    except BaseException as e:
        source.caught = e
        return Status.IO


def _size(user: int, out: int) -> int:
    c_uint64.from_address(out).value = _live[user].size
    return Status.OK


def _destroy(user: int) -> None:
    _live.pop(user, None)


def _log(user: int, level: int, text: int, n: int) -> None:
    _told(_live[user], level, text, n)


class _Unraisable:
    """Python has no other way to call sys.unraisablehook."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __del__(self) -> None:
        raise self.error


def _hook(function: Callable[..., Any], *arguments: Any) -> Any:
    """Result of a runtime hook, None if it raised. The exception goes to sys.unraisablehook and
    is the cause of a failure of this thread's call; KeyboardInterrupt is raised after the
    call."""
    try:
        _signals.handle()
        return function(*arguments)
    except BaseException as e:
        _failed(e)
        return None


def _told(function: Callable[..., Any], *arguments: Any) -> None:
    """The same for a hook without a result, which runs also with pending exceptions."""
    try:
        function(*arguments)
    except BaseException as e:
        _failed(e)


def _failed(error: BaseException) -> None:
    thrown.by_hook = error
    if isinstance(error, Exception):
        _Unraisable(error)
    else:
        _signals.interrupt(error)


def _jobs(user: int, n: int, task: int, ctx: int) -> int:
    return Status.OK if _hook(_run_jobs, _live[user], n, task, ctx) else Status.INTERNAL


def _run_jobs(kept: tuple[Any, int], n: int, task: int, ctx: int) -> bool:
    executor, workers = kept
    return Tasks(n, workers, task, ctx).run_all(executor)


def _alloc(user: int, size: int, align: int) -> int:
    return _hook(_allocated, _live[user], size, align) or 0


def _allocated(allocator: Any, size: int, align: int) -> int:
    at = int(allocator.alloc(size, align) or 0)
    if at % align:
        raise argument(f"alloc gave {at:#x}, not aligned to {align}")
    return at


def _free(user: int, at: int, size: int, align: int) -> None:
    _told(_live[user].free, at, size, align)


_BETWEEN: list[Callable[..., Any]] = [_hook, _told, _failed, _Unraisable.__init__, _signals.interrupt, Catcher.run]
for _function in _BETWEEN:
    _signals.entry(_function)


def _address(result: Any, function: Callable[..., Any], *arguments: Any) -> int:
    made = CFUNCTYPE(result, c_void_p, *arguments)(function)
    _signals.entry(function)
    pythonapi.Py_IncRef(py_object(made))  # they live as long as the process
    return cast(made, c_void_p).value or 0


def callback(result: Any, *arguments: Any) -> int:
    """The address of a function for Following.on, by its types in C after the first argument."""
    return _address(result, _is_told if result is None else _goes_on, *arguments)


PROGRESS = _address(c_int32, _progress, c_uint64, c_uint64)
READ_AT = _address(c_int32, _read_at, c_uint64, c_void_p, c_size_t)
SIZE = _address(c_int32, _size, c_void_p)
DESTROY = _address(None, _destroy)
LOG = _address(None, _log, c_int32, c_void_p, c_size_t)
JOBS = _address(c_int32, _jobs, c_uint32, c_void_p, c_void_p)
ALLOC = _address(c_void_p, _alloc, c_size_t, c_size_t)
FREE = _address(None, _free, c_void_p, c_size_t, c_size_t)
