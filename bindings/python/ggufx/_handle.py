"""Objects of the library and how long they live.

A handle is destroyed when nothing refers to it any more. A call that runs refers to its handles, as
do arrays over an object's memory and what was made from it: close() lets go of one reference, and
the last one, in whatever thread, destroys. So a close beside a call waits for that call.
SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import sys
import threading
from contextlib import nullcontext
from ctypes import c_void_p
from types import TracebackType
from typing import Any, Protocol, Sequence, TypeVar

from ._library import lib
from ._raw import PROTOTYPES, ggufx_error
from .errors import ClosedError, StateError, check

Self = TypeVar("Self", bound="Object")


class Handle(c_void_p):
    """The address of an object; owner is what it borrows from, if it is borrowed."""

    destroy = ""  # name of the function
    owner: Handle | None = None
    keeps: Sequence[Handle] = ()  # what must live as long

    def __del__(self, finalizing=sys.is_finalizing) -> None:  # type: ignore[no-untyped-def]
        # When the interpreter ends, so does the process: nothing is torn down under its threads.
        if self.value and self.owner is None and not finalizing():
            getattr(lib, self.destroy)(self.value)


    def __reduce_ex__(self, protocol: object) -> str:
        raise TypeError("an object of the library cannot be copied or pickled")


# The handle of each object by its name in C, and its class.
KINDS: dict[str, type[Handle]] = {
    name.replace("_destroy", ""): type(name.replace("_destroy", ""), (Handle,), {"destroy": name})
    for name in PROTOTYPES if name.endswith("_destroy")}
CLASSES: dict[str, type[Object]] = {}


class Rethrows(Protocol):
    """A callback that an object keeps."""

    def rethrow(self) -> None:
        """Raise the exception that it raised in a call of this thread."""


class Object:
    """Base of all objects: close, and with-statements."""

    _kind = ""  # its name in C
    _mutable = False  # calls that change it are exclusive
    _together = ""  # name in C of the object whose lock it shares
    _own: Handle | None = None
    _turns: Turns
    _callbacks: Sequence[Rethrows] = ()  # that it keeps

    def __init_subclass__(cls) -> None:
        CLASSES[cls._kind] = cls  # the last one: a class by hand extends a generated one

    @classmethod
    def _made(cls: type[Self], own: Handle, parent: Object | None, callbacks: Sequence[Rethrows] = ()) -> Self:
        made = cls.__new__(cls)
        made._take(own, parent, callbacks=callbacks)
        return made

    def _take(self, own: Handle, parent: Object | None, options: Any = None, callbacks: Sequence[Rethrows] = ()) -> None:
        self._own = own
        if self._together and parent is not None:
            self._turns = parent._turns
        elif self._mutable:
            self._turns = Turns()
        self._callbacks = [*parent._callbacks, *callbacks] if isinstance(parent, type(self)) else callbacks
        self._begin(parent, options)

    def _begin(self, parent: Any, options: Any) -> None:
        """Called with a new object, the first one that it was made from, and its options."""

    def _check(self, status: int, record: ggufx_error, call: Any = None) -> None:
        """The end of a call that may have run callbacks which the object keeps."""
        for kept in self._callbacks:
            kept.rethrow()
        (check if call is None else call.end)(status, record)

    @property
    def _handle(self) -> Handle:
        own = self._own
        if own is None:
            raise ClosedError(f"STATE: the {type(self).__name__} is closed")
        return own

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._own is None

    def close(self) -> None:
        """Close the object; may be called again. Running calls, arrays over its memory and
        objects made from it stay valid: the last of them frees it."""
        self._own = None

    def __reduce_ex__(self, protocol: object) -> str:
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled: open it again")

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


class Turns:
    """Lock of an object's calls: a call that changes it is exclusive."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0  # calls; -1: one that changes it
        self.reading = _Turn(self, False)
        self.changing = _Turn(self, True)

    def begin(self, alone: bool) -> None:
        with self._lock:
            if self._running < 0 or (alone and self._running):
                raise StateError("STATE: another call is using the object")
            self._running += -1 if alone else 1

    def end(self, alone: bool) -> None:
        with self._lock:
            self._running += 1 if alone else -1


class _Turn:
    """A with-statement around one call."""

    def __init__(self, turns: Turns, alone: bool) -> None:
        self._turns, self._alone = turns, alone

    def __enter__(self) -> None:
        self._turns.begin(self._alone)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._turns.end(self._alone)


class _NoTurns:
    """Lock of no object."""

    reading = changing = nullcontext()


_NO_TURNS = _NoTurns()


def turns_of(object: Object | None) -> Turns | _NoTurns:
    """Lock of an object that may be absent."""
    return _NO_TURNS if object is None else object._turns


def borrowed(kind: str, at: int | None, owner: Handle, parent: Object) -> Any:
    """An object that belongs to another one, which lives as long; None if there is none."""
    if at is None:
        return None
    own = KINDS[kind](at)
    own.owner = owner
    return CLASSES[kind]._made(own, parent)
