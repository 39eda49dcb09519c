"""Objects of the library and how long they live.

A handle is destroyed when nothing refers to it any more. A call that runs refers to its handles, as
do arrays over an object's memory and what was made from it: close() lets go of one reference, and
the last one, in whatever thread, destroys. So a close beside a call waits for that call.
SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import sys
import threading
from ctypes import c_void_p
from types import TracebackType
from typing import TypeVar

from ._library import lib
from .errors import ClosedError, StateError

Self = TypeVar("Self", bound="Object")


class Handle(c_void_p):
    """The address of an object; owner is what it borrows from, if it is borrowed."""

    destroy = ""  # name of the function
    owner: Handle | None = None

    def __del__(self, finalizing=sys.is_finalizing) -> None:  # type: ignore[no-untyped-def]
        # When the interpreter ends, so does the process: nothing is torn down under its threads.
        if self.value and self.owner is None and not finalizing():
            getattr(lib, self.destroy)(self.value)


    def __reduce_ex__(self, protocol: object) -> str:
        raise TypeError("an object of the library cannot be copied or pickled")


class RuntimeHandle(Handle):
    destroy = "ggufx_runtime_destroy"


class FileHandle(Handle):
    destroy = "ggufx_file_destroy"


class TensorHandle(Handle):
    destroy = "ggufx_tensor_destroy"


class KvHandle(Handle):
    destroy = "ggufx_kv_destroy"


class TokenizerHandle(Handle):
    destroy = "ggufx_tokenizer_destroy"


class ModelHandle(Handle):
    destroy = "ggufx_model_destroy"


class AdapterHandle(Handle):
    destroy = "ggufx_adapter_destroy"


class SessionHandle(Handle):
    destroy = "ggufx_session_destroy"


class EmbedderHandle(Handle):
    destroy = "ggufx_embedder_destroy"


class ChatHandle(Handle):
    destroy = "ggufx_chat_destroy"


class ChatParserHandle(Handle):
    destroy = "ggufx_chat_parser_destroy"


class GrammarHandle(Handle):
    destroy = "ggufx_grammar_destroy"


class MatcherHandle(Handle):
    destroy = "ggufx_matcher_destroy"


class SamplerHandle(Handle):
    destroy = "ggufx_sampler_destroy"


class SpeculatorHandle(Handle):
    destroy = "ggufx_speculator_destroy"


class StopHandle(Handle):
    destroy = "ggufx_stop_destroy"


class ImatrixHandle(Handle):
    destroy = "ggufx_imatrix_destroy"


class WriterHandle(Handle):
    destroy = "ggufx_writer_destroy"


class JobHandle(Handle):
    destroy = "ggufx_job_destroy"


KINDS: dict[str, type[Handle]] = {
    kind.destroy.replace("_destroy", ""): kind for kind in Handle.__subclasses__()}


class Object:
    """Base of all objects: close, and with-statements."""

    _own: Handle | None = None

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
        self._readers = 0
        self._alone = False
        self.reading = _Turn(self, False)
        self.changing = _Turn(self, True)

    def begin(self, alone: bool) -> None:
        with self._lock:
            if self._alone or (alone and self._readers):
                raise StateError("STATE: another call is using the object")
            if alone:
                self._alone = True
            else:
                self._readers += 1

    def end(self, alone: bool) -> None:
        with self._lock:
            if alone:
                self._alone = False
            else:
                self._readers -= 1


class _Turn:
    """A with-statement around one call."""

    def __init__(self, turns: Turns, alone: bool) -> None:
        self._turns, self._alone = turns, alone

    def __enter__(self) -> None:
        self._turns.begin(self._alone)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._turns.end(self._alone)
