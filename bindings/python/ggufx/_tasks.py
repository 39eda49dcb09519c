"""The tasks of a call, as an executor of the program's runs them.

The library trusts its executor: a task that runs after the call has ended, twice, or beside another
one of the same worker would write where it must not. Here that is an error of the executor's.
SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import threading
from ctypes import CFUNCTYPE, c_uint32, c_void_p
from typing import Any

from ._error import argument
from .errors import StateError

_TASK = CFUNCTYPE(None, c_void_p, c_uint32, c_uint32)


class Tasks:
    """Tasks 0 .. n - 1 of one call."""

    def __init__(self, n: int, workers: int, task: int, ctx: int) -> None:
        self._begun, self._busy = bytearray(n), [False] * workers
        self._left, self._running, self._open = n, 0, True
        self._run, self._ctx = _TASK(task), ctx
        self._changed = threading.Condition()

    def run(self, index: int, worker: int) -> None:
        """Callback of the executor."""
        with self._changed:
            if not self._open:
                raise StateError("STATE: the call whose task it was has ended")
            if not 0 <= index < len(self._begun) or self._begun[index]:
                raise argument(f"task {index} of {len(self._begun)} is not there, or was run")
            if not 0 <= worker < len(self._busy) or self._busy[worker]:
                raise argument(f"worker {worker} of {len(self._busy)} is not there, or runs a task")
            self._begun[index], self._busy[worker] = 1, True
            self._running += 1
        try:
            self._run(self._ctx, index, worker)
        finally:
            with self._changed:
                self._busy[worker] = False
                self._running -= 1
                self._left -= 1
                self._changed.notify_all()

    def run_all(self, executor: Any) -> bool:
        """Let the executor run them. Whatever it does, none runs any more afterwards."""
        try:
            executor.parallel_for(len(self._begun), self.run)
        finally:
            self._end()
        if self._left:
            raise StateError(f"STATE: the executor left {self._left} tasks of {len(self._begun)}")
        return True

    def _end(self) -> None:
        interrupted: BaseException | None = None
        while True:
            try:
                with self._changed:
                    self._open = False
                    while self._running:
                        self._changed.wait()
                break
            except BaseException as e:  # KeyboardInterrupt: the tasks still use the call's memory
                interrupted = e
        if interrupted is not None:
            raise interrupted
