"""Texts that fit a grammar, and the tokens with which a model can write one.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import json
from ctypes import byref, c_char_p, c_void_p, cast, sizeof
from dataclasses import dataclass
from typing import Any, Mapping

import numpy as np

from . import _raw
from ._buffers import I32, U32, Array, Buffer, Ints, address, numbers, writes
from ._facts import asked, made, to_bytes
from ._handle import GrammarHandle, MatcherHandle, Object, Turns
from ._library import lib
from .errors import check
from .ids import GrammarFlags, GrammarKind, MatcherFlags
from .runtime import Runtime
from .tokenizer import Tokenizer


class Grammar(Object):
    """A grammar over a vocabulary, immutable: of GBNF, or of a JSON schema (json_schema)."""

    def __init__(self, rt: Runtime, tokenizer: Tokenizer, gbnf: str | bytes) -> None:
        self._make(rt, tokenizer, GrammarKind.GBNF, gbnf, 0)

    @classmethod
    def json_schema(cls, rt: Runtime, tokenizer: Tokenizer,
                    schema: Mapping[str, Any] | bool | str | bytes, *,
                    flags: GrammarFlags = GrammarFlags(0)) -> Grammar:
        """JSON that a schema (a dictionary or JSON text) accepts."""
        text = schema if isinstance(schema, (str, bytes)) else json.dumps(schema, ensure_ascii=False)
        made = cls.__new__(cls)
        made._make(rt, tokenizer, GrammarKind.JSON_SCHEMA, text, int(flags))
        return made

    def _make(self, rt: Runtime, tokenizer: Tokenizer, kind: int, text: str | bytes,
              flags: int) -> None:
        of = to_bytes(text)
        o = _raw.ggufx_grammar_options(
            struct_size=sizeof(_raw.ggufx_grammar_options), flags=flags, kind=kind,
            text=cast(c_char_p(of), c_void_p).value, text_length=len(of))
        own, e = GrammarHandle(), _raw.ggufx_error()
        check(lib.ggufx_grammar_create(byref(own), rt._handle, tokenizer._handle, byref(o),
                                       byref(e)), e)
        self._own = own


@dataclass(frozen=True)
class MatcherInfo:
    """State of a matcher."""

    whole: bool
    """The text is complete: it may end here."""
    ended: bool
    """A token that ends a generation was accepted."""
    n_tokens: int
    n_vocab: int
    n_words: int
    """Words of a mask."""


class Matcher(Object):
    """State of a text in a grammar, initially empty. A concurrent call raises StateError."""

    def __init__(self, grammar: Grammar) -> None:
        own, e = MatcherHandle(), _raw.ggufx_error()
        check(lib.ggufx_matcher_create(byref(own), grammar._handle, byref(e)), e)
        self._own, self._turns = own, Turns()

    def clone(self) -> Matcher:
        """Copy in the same state, with the same rollback depth."""
        own, e = MatcherHandle(), _raw.ggufx_error()
        with self._turns.reading:
            check(lib.ggufx_matcher_clone(byref(own), self._handle, byref(e)), e)
        other = Matcher.__new__(Matcher)
        other._own, other._turns = own, Turns()
        return other

    @property
    def info(self) -> MatcherInfo:
        """Current state."""
        with self._turns.reading:
            o = asked(_raw.ggufx_matcher_facts, lib.ggufx_matcher_info, self._handle)
        return made(MatcherInfo, o, whole=bool(o.flags & MatcherFlags.WHOLE),
                    ended=bool(o.flags & MatcherFlags.ENDED))

    def accept(self, ids: Ints) -> None:
        """Advance by tokens, all of them or none: a ValueError names the first that does not
        fit."""
        of, e = numbers(ids, I32, "ids"), _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_matcher_accept(self._handle, address(of), of.size, byref(e)), e)

    def rollback(self, n_tokens: int) -> None:
        """Roll back the last tokens."""
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_matcher_rollback(self._handle, n_tokens, byref(e)), e)

    def mask(self, out: Buffer | None = None) -> Array:
        """Which tokens fit now, u32: bit id % 32 of word id // 32."""
        of = np.zeros(self.info.n_words, U32) if out is None else writes(out, U32, "out")
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_matcher_mask(address(of), of.size, self._handle, byref(e)), e)
        return of

    def allowed(self) -> Array:
        """Ids of the tokens that fit now, in ascending order."""
        bits = np.unpackbits(self.mask().astype("<u4", copy=False).view(np.uint8),
                             bitorder="little")
        return np.flatnonzero(bits).astype(I32)
