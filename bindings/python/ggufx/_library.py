"""The shared library: looked for at its first use, and asked for its binary interface.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import ctypes
import os
import sys
import threading
from pathlib import Path
from typing import Any

from . import _raw, ids
from ._checked import checked

# Library names for the system's loader. The second name on Linux is that of a bundled library.
NAMES = {
    "win32": ["ggufx.dll", "libggufx-0.dll"],
    "darwin": ["libggufx.0.dylib", "libggufx.dylib"],
}.get(sys.platform, ["libggufx.so.0", "libggufx.so"])


class LibraryError(ImportError):
    """The library is not found, or is none that this package fits."""


class _Functions(_raw.Functions):
    """The functions by their names; the first one that is asked for loads the library."""

    def __getattr__(self, name: str) -> object:
        if name not in _raw.PROTOTYPES:
            raise AttributeError(name)
        load()
        return self.__dict__[name]


lib = _Functions()
_lock = threading.Lock()
_loaded: ctypes.CDLL | None = None


def load(path: str | os.PathLike[str] | None = None) -> None:
    """Load the library now: from a path, from that in GGUFX_LIBRARY, or where the system has it.
    Not needed, but to choose a path; once loaded it stays."""
    global _loaded
    with _lock:
        if _loaded is not None:
            if path is None or os.fspath(path) == _loaded._name:
                return
            raise LibraryError(f"{_loaded._name} is loaded already, not {os.fspath(path)}")
        chosen = path if path is not None else os.environ.get("GGUFX_LIBRARY")
        found = _find([os.fspath(chosen)] if chosen else NAMES)
        functions = {n: _declared(found, n, p) for n, p in _raw.PROTOTYPES.items()}
        _check(found)
        lib.__dict__.update(functions)
        _loaded = found


def _find(names: list[str]) -> ctypes.CDLL:
    faults = []
    for name in names:
        try:
            return ctypes.CDLL(name)  # which releases the interpreter's lock in each call
        except OSError as e:
            faults.append(str(e))
    raise LibraryError("; ".join(faults) + ": install libggufx, or name its file in GGUFX_LIBRARY")


def _declared(found: ctypes.CDLL, name: str, prototype: tuple[Any, list[Any]]) -> object:
    try:
        function = getattr(found, name)
    except AttributeError:
        raise LibraryError(f"{found._name} has no {name}: it is older than this package") from None
    result, parameters = prototype
    function.restype = result
    function.argtypes = [_kind(p) if isinstance(p, str) else p for p in parameters]
    return checked(name, function, parameters)


def _kind(name: str) -> Any:
    from ._handle import KINDS  # which needs the functions
    return KINDS.get(name, ctypes.c_void_p)


def _check(found: ctypes.CDLL) -> None:
    abi = found.ggufx_abi_version()
    record = found.ggufx_struct_size(b"ggufx_error")
    if abi != ids.ABI_VERSION or record != ctypes.sizeof(_raw.ggufx_error):
        raise LibraryError(f"{found._name} has ABI {abi} and errors of {record} bytes, not "
                           f"{ids.ABI_VERSION} and {ctypes.sizeof(_raw.ggufx_error)}")


def library_path() -> Path:
    """The file that was loaded, by the name it was found under."""
    load()
    assert _loaded is not None
    return Path(_loaded._name)
