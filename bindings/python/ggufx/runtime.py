"""The runtime: hooks and the chosen kernels, shared by everything made from it.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import Structure, addressof, byref, sizeof, string_at
from typing import Callable, Protocol

from . import _callbacks, _raw, _safe, _signals
from ._handle import KINDS
from ._library import lib
from .errors import check
from .ids import Isa, LogLevel


class Executor(Protocol):
    """Runs the library's tasks where the program wants."""

    max_workers: int
    """Workers there may be, at least 1."""

    def parallel_for(self, n: int, task: Callable[[int, int], None]) -> None:
        """Call task(index, worker) for each index below n, in any order, on any threads, and return
        when all have run; no two tasks at once with one worker."""


class Allocator(Protocol):
    """Allocator of the library; may be called on any thread."""

    def alloc(self, size: int, align: int) -> int:
        """The address of so many bytes; 0: there are none."""

    def free(self, address: int, size: int, align: int) -> None:
        """Free memory from alloc."""


class Runtime(_safe.Runtime):
    """Log, executor, memory and the chosen kernels; objects made from it keep them alive."""

    def __init__(self, threads: int = 0, *, isa: Isa = Isa.BEST, workspace_bytes: int = 0,
                 log: Callable[[LogLevel, str], object] | None = None,
                 executor: Executor | None = None, allocator: Allocator | None = None) -> None:
        o = _raw.ggufx_runtime_options(
            struct_size=sizeof(_raw.ggufx_runtime_options), threads=threads, isa=isa,
            workspace_bytes=workspace_bytes)
        hooks: list[object] = []  # read by the call only; the library destroys what they keep
        if log is not None:
            o.log = _filled(hooks, _log(log))
        if executor is not None:
            o.executor = _filled(hooks, _executor(executor))
        if allocator is not None:
            o.allocator = _filled(hooks, _raw.ggufx_allocator(
                struct_size=sizeof(_raw.ggufx_allocator), user=_callbacks.lend(allocator),
                alloc=_callbacks.ALLOC, free=_callbacks.FREE, destroy=_callbacks.DESTROY))
        if hooks:
            _signals.stand_before()
        own, e = KINDS["ggufx_runtime"](), _raw.ggufx_error()
        check(lib.ggufx_runtime_create(byref(own), byref(o), byref(e)), e)
        self._take(own, None)


def _log(log: Callable[[LogLevel, str], object]) -> _raw.ggufx_log:
    def write(level: int, at: int, n: int) -> None:
        log(LogLevel(level), string_at(at, n).decode("utf-8", "replace"))

    return _raw.ggufx_log(struct_size=sizeof(_raw.ggufx_log), user=_callbacks.lend(write),
                          write=_callbacks.LOG, destroy=_callbacks.DESTROY)


def _executor(executor: Executor) -> _raw.ggufx_executor:
    workers = executor.max_workers
    return _raw.ggufx_executor(
        struct_size=sizeof(_raw.ggufx_executor), max_workers=workers,
        user=_callbacks.lend((executor, workers)), parallel_for=_callbacks.JOBS, destroy=_callbacks.DESTROY)


def _filled(hooks: list[object], struct: Structure) -> int:
    hooks.append(struct)
    return addressof(struct)
