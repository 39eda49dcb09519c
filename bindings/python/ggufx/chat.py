"""Conversations as the template of a model writes them; output of models as answer, reasoning and tool calls.

Messages, tools and their like are lists of dictionaries as the json module writes them.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import json
from ctypes import byref, c_char_p, c_size_t, c_void_p, cast, create_string_buffer, sizeof
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

import numpy as np

from . import _callbacks, _raw
from ._buffers import I32, Array, address
from ._facts import asked, made, text as read, to_bytes
from ._handle import ChatHandle, ChatParserHandle, Object, Turns
from ._library import lib
from .errors import argument, check
from .file import File
from .ids import (ChatCallForm, ChatFeatures, ChatFlags, ChatNotation, ChatParserFlags, ChatParserStateFlags, Status)
from .runtime import Runtime
from .tokenizer import Tokenizer

Messages = Sequence[Mapping[str, Any]]


def chat_formats() -> list[str]:
    """Names of the built-in formats."""
    names: list[str] = []
    while True:
        name = lib.ggufx_chat_format_name(len(names))
        if name is None:
            return names
        names.append(name.decode())


@dataclass(frozen=True)
class ChatText:
    """Rendered conversation."""

    text: str
    runs: tuple[tuple[int, bool], ...]
    """Source of its bytes: the end of each run, and whether it is user text."""


@dataclass(frozen=True)
class ChatRequest:
    """Conversation with template variables; None: not defined."""

    messages: Messages
    tools: Sequence[Any] | None = None
    documents: Sequence[Any] | None = None
    variables: Mapping[str, Any] | None = None
    reasoning_effort: str | None = None
    generate: bool = True
    """Open the assistant's turn."""
    continues: bool = False
    """Continue the last message, which ends the text; not with `generate`."""
    thinking: bool | None = None
    clock: int | None = None
    """Seconds since 1970 in the time of day to be shown."""

    def _filled(self) -> tuple[_raw.ggufx_chat_request, list[bytes]]:
        flags = ChatFlags.GENERATE if self.generate else ChatFlags(0)
        if self.continues:
            flags |= ChatFlags.CONTINUE
        if self.thinking is not None:
            flags |= ChatFlags.THINK if self.thinking else ChatFlags.NO_THINK
        if self.clock is not None:
            flags |= ChatFlags.CLOCK
        raw = _raw.ggufx_chat_request(
            struct_size=sizeof(_raw.ggufx_chat_request), flags=flags, clock=self.clock or 0)
        kept: list[bytes] = []
        for name, value in (
                ("messages_json", list(self.messages)), ("tools", self.tools),
                ("documents", self.documents), ("variables", self.variables)):
            if value is not None:
                kept.append(_set(raw, name, json.dumps(value, ensure_ascii=False)))
        if self.reasoning_effort is not None:
            kept.append(_set(raw, "reasoning_effort", self.reasoning_effort))
        return raw, kept


def _set(raw: Any, name: str, text: str | bytes) -> bytes:
    """String member of a struct, kept alive by the caller."""
    of = to_bytes(text)
    setattr(raw, name, cast(c_char_p(of), c_void_p).value)
    setattr(raw, name + "_length", len(of))
    return of


@dataclass(frozen=True)
class ChatInfo:
    """How the models of a template write reasoning and tool calls; see ggufx_chat_facts."""

    takes_tools: bool
    """The template reads the tools of a request."""
    calls: bool
    """Tool calls that its models write are recognized."""
    reasons: bool
    """So is reasoning."""
    channels: bool
    """End-of-generation tokens separate the channels of an answer."""
    call_form: ChatCallForm
    call_notation: ChatNotation
    reasoning_open: str
    """The first pair of markers, or empty."""
    reasoning_close: str
    call_prefix: str
    """Before the name; "ggufxid01" is a placeholder for the call id."""
    call_middle: str
    call_end: str
    call_before_key: str
    call_after_key: str
    call_after_key_other: str
    """Before a value that is no string; empty: as call_after_key."""
    call_after_value: str
    call_quote: str


class Chat(Object):
    """A compiled template, immutable: `text`, a built-in `format`, else that of the file, whose name
    may be given ("tool_use")."""

    def __init__(self, rt: Runtime, file: File | None = None, *, text: str | None = None,
                 format: str | None = None, name: str | None = None, bos: str | None = None,
                 eos: str | None = None) -> None:
        o = _raw.ggufx_chat_options(struct_size=sizeof(_raw.ggufx_chat_options))
        given = {"text": text, "format": format, "name": name, "bos_token": bos, "eos_token": eos}
        kept = [_set(o, key, value) for key, value in given.items() if value is not None]
        own, e = ChatHandle(), _raw.ggufx_error()
        of = None if file is None else file._handle
        check(lib.ggufx_chat_create(byref(own), rt._handle, of, byref(o), byref(e)), e)
        self._own = own
        del kept  # lived until here

    @property
    def info(self) -> ChatInfo:
        """Format of the reasoning and the tool calls that the template's models write."""
        own = self._handle  # keeps the texts
        o = asked(_raw.ggufx_chat_facts, lib.ggufx_chat_info, own)
        texts = {name: read(getattr(o, name)) for name, kind in o._fields_ if kind is c_void_p}
        return made(ChatInfo, o, takes_tools=bool(o.flags & ChatFeatures.TAKES_TOOLS),
                    calls=bool(o.flags & ChatFeatures.CALLS), reasons=bool(o.flags & ChatFeatures.REASONS),
                    channels=bool(o.flags & ChatFeatures.CHANNELS), call_form=ChatCallForm(o.call_form),
                    call_notation=ChatNotation(o.call_notation), **texts)

    def render(self, request: ChatRequest | Messages) -> ChatText:
        """Rendered text of a conversation, and the source of each byte."""
        raw, kept = _request(request)._filled()
        text, runs = create_string_buffer(4096), (_raw.ggufx_chat_run * 64)()
        needed, n_runs, e = c_size_t(), c_size_t(), _raw.ggufx_error()
        while True:
            status = lib.ggufx_chat_render(text, len(text), byref(needed), runs, len(runs),
                                           byref(n_runs), self._handle, byref(raw), byref(e))
            if status != Status.CAPACITY:
                check(status, e)
                del kept
                return ChatText(text.raw[: needed.value].decode(),
                                tuple((r.end, bool(r.user)) for r in runs[: n_runs.value]))
            text = create_string_buffer(max(needed.value, 1))
            runs = (_raw.ggufx_chat_run * max(n_runs.value, 1))()

    def tokenize(self, tokenizer: Tokenizer, request: ChatRequest | Messages,
                 flags: int = 0) -> Array:
        """Token ids of a conversation, i32; user text never becomes a control token. flags:
        TokenizeFlags.ADD_SPECIAL."""
        raw, kept = _request(request)._filled()
        ids, needed, e = np.empty(1024, I32), c_size_t(), _raw.ggufx_error()
        while True:
            status = lib.ggufx_chat_tokenize(address(ids), ids.size, byref(needed), self._handle,
                                             tokenizer._handle, byref(raw), flags, byref(e))
            if status != Status.CAPACITY:
                check(status, e)
                del kept
                return ids[: needed.value].copy()
            ids = np.empty(needed.value, I32)


def _request(request: ChatRequest | Messages) -> ChatRequest:
    return request if isinstance(request, ChatRequest) else ChatRequest(request)


@dataclass(frozen=True)
class ChatEvent:
    """Event of the output parser."""

    kind: int
    """ChatEventKind.ANSWER, REASONING, CALL_NAME, CALL_ID or CALL_ARGUMENTS."""
    call: int
    """Number of the tool call, from 0."""
    text: str


@dataclass(frozen=True)
class ChatParserInfo:
    """Position of a parser in the output."""

    reasoning: bool
    """The output is within reasoning."""
    n_calls: int
    """Tool calls so far."""
    reasoning_close: str
    """Marker that ends that reasoning, or empty."""


class ChatParser(Object):
    """Splits a model's output as it comes into answer, reasoning and tool calls. A concurrent
    call raises StateError.

    Uses the template's format; without one all output is answer. `prompt` is the rendered
    text or its end. Tools that a template's models call in an unknown format are UNSUPPORTED,
    unless `no_calls` leaves tool calls as text of the answer."""

    def __init__(self, rt: Runtime, chat: Chat | None, prompt: str = "",
                 tools: Sequence[Any] | None = None, *, no_calls: bool = False) -> None:
        self._events: list[tuple[int, int, str]] = []
        self._number = _callbacks.keep(self._events)
        of = None if chat is None else chat._handle
        o = _raw.ggufx_chat_parser_options(
            struct_size=sizeof(_raw.ggufx_chat_parser_options), chat=of and of.value,
            flags=ChatParserFlags.NO_CALLS if no_calls else 0, user=self._number,
            event=_callbacks.EVENT)
        kept = [_set(o, "prompt", prompt)]
        if tools is not None:
            kept.append(_set(o, "tools", json.dumps(tools, ensure_ascii=False)))
        own, e = ChatParserHandle(), _raw.ggufx_error()
        try:
            check(lib.ggufx_chat_parser_create(byref(own), rt._handle, byref(o), byref(e)), e)
        except BaseException:
            _callbacks.release(self._number)
            raise
        del kept, of
        self._own, self._turns = own, Turns()

    def __del__(self) -> None:
        _callbacks.release(self._number)

    @property
    def info(self) -> ChatParserInfo:
        """Position in the output."""
        with self._turns.reading:
            o = asked(_raw.ggufx_chat_parser_facts, lib.ggufx_chat_parser_info, self._handle)
            return made(ChatParserInfo, o, reasoning=bool(o.flags & ChatParserStateFlags.REASONING),
                        reasoning_close=read(o.reasoning_close))

    def _told(self) -> list[ChatEvent]:
        told = [ChatEvent(*event) for event in self._events]
        self._events.clear()
        return told

    def feed(self, text: str | bytes) -> list[ChatEvent]:
        """Parse more output, with special tokens as text; returns its events."""
        if not isinstance(text, (str, bytes)):
            raise argument(f"text is a {type(text).__name__}")
        of, e = to_bytes(text), _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_chat_parser_feed(self._handle, of, len(of), byref(e)), e)
            return self._told()

    def finish(self) -> list[ChatEvent]:
        """End the output; returns the events of withheld text."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_chat_parser_finish(self._handle, byref(e)), e)
            return self._told()
