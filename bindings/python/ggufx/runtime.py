"""The runtime: hooks and the chosen kernels, shared by everything made from it.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import Structure, addressof, byref, sizeof, string_at
from dataclasses import dataclass
from typing import Callable, Protocol

from . import _callbacks, _raw, _signals
from ._facts import asked, made, terminated, text
from ._handle import Object, RuntimeHandle
from ._library import lib
from .errors import check
from .ids import CpuFeatures, Isa, LogLevel


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


@dataclass(frozen=True)
class RuntimeInfo:
    """Facts of a runtime."""

    isa: Isa
    isa_name: str
    allocator_name: str
    threads: int
    features: CpuFeatures
    workspace_bytes: int


class Runtime(Object):
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
                struct_size=sizeof(_raw.ggufx_allocator), user=_callbacks.keep(allocator),
                alloc=_callbacks.ALLOC, free=_callbacks.FREE, destroy=_callbacks.DESTROY))
        if hooks:
            _signals.stand_before()
        own, e = RuntimeHandle(), _raw.ggufx_error()
        check(lib.ggufx_runtime_create(byref(own), byref(o), byref(e)), e)
        self._own = own

    @property
    def info(self) -> RuntimeInfo:
        """Facts of the runtime."""
        o = asked(_raw.ggufx_runtime_facts, lib.ggufx_runtime_info, self._handle)
        return made(RuntimeInfo, o, isa=Isa(o.isa), isa_name=text(o.isa_name),
                    allocator_name=text(o.allocator_name), features=CpuFeatures(o.features))

    def kernel_name(self, type: int) -> str | None:
        """Instruction set that serves a tensor type; None for an unknown type."""
        name = lib.ggufx_runtime_kernel_name(self._handle, type)
        return None if name is None else name.decode()


def _log(log: Callable[[LogLevel, str], object]) -> _raw.ggufx_log:
    def write(level: int, at: int, n: int) -> None:
        log(LogLevel(level), string_at(at, n).decode("utf-8", "replace"))

    return _raw.ggufx_log(struct_size=sizeof(_raw.ggufx_log), user=_callbacks.keep(write),
                          write=_callbacks.LOG, destroy=_callbacks.DESTROY)


def _executor(executor: Executor) -> _raw.ggufx_executor:
    workers = executor.max_workers
    return _raw.ggufx_executor(
        struct_size=sizeof(_raw.ggufx_executor), max_workers=workers,
        user=_callbacks.keep((executor, workers)), parallel_for=_callbacks.JOBS, destroy=_callbacks.DESTROY)


def _filled(hooks: list[object], struct: Structure) -> int:
    hooks.append(struct)
    return addressof(struct)


def library_version() -> str:
    """Version of the library, "0.1.0"."""
    return (lib.ggufx_version() or b"").decode()


def has(feature: str) -> bool:
    """Whether the library has a feature: "type:q4_K", "kv:f16", "arch:llama"."""
    return lib.ggufx_has(terminated(feature)) != 0


def abi_layout(struct: str) -> int:
    """Bytes of a struct in the library; 0 for an unknown one."""
    return lib.ggufx_abi_layout(terminated(struct))
