"""Output of models as answer, reasoning and tool calls.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref, sizeof
from dataclasses import dataclass
from typing import Any

from . import _callbacks, _raw, _safe
from ._facts import Text
from ._handle import KINDS
from ._keep import Keep
from ._library import lib
from .errors import check
from .ids import ChatEventKind
from .runtime import Runtime


@dataclass(frozen=True)
class ChatEvent:
    """Event of the output parser."""

    kind: ChatEventKind
    call: int
    """Number of the tool call, from 0."""
    text: str


class ChatParser(_safe.ChatParser):
    """Splits a model's output as it comes into answer, reasoning and tool calls. A concurrent
    call raises StateError.

    Uses the template's format; without one all output is answer. `prompt` is the rendered
    text or its end."""

    def __init__(self, rt: Runtime, chat: _safe.Chat | None, prompt: Text = "", tools: Any = None, *,
                 flags: int = 0) -> None:
        self._events: list[tuple[int, int, str]] = []
        self._number = _callbacks.keep(self._events)
        own, e = KINDS["ggufx_chat_parser"](), _raw.ggufx_error()
        o = _raw.ggufx_chat_parser_options(
            struct_size=sizeof(_raw.ggufx_chat_parser_options), flags=flags, user=self._number,
            event=_callbacks.EVENT)
        with Keep() as keep:
            o.chat = keep.object(chat)
            o.prompt, o.prompt_length = keep.text(prompt)
            o.tools, o.tools_length = keep.json(tools)
            check(lib.ggufx_chat_parser_create(byref(own), rt._handle, byref(o), byref(e)), e)
        self._take(own, rt)

    def __del__(self) -> None:
        _callbacks.release(self._number)

    def poll(self) -> list[ChatEvent]:
        """The events of what was fed since the last poll."""
        with self._turns.changing:
            told = [ChatEvent(ChatEventKind(kind), call, text) for kind, call, text in self._events]
            self._events.clear()
        return told
