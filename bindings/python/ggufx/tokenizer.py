"""Text to ids and back.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref, c_size_t, create_string_buffer, string_at
from dataclasses import dataclass

import numpy as np

from . import _raw
from ._buffers import I32, Array, Ints, address, numbers
from ._facts import asked, made, text, to_bytes
from ._handle import Object, TokenizerHandle
from ._library import lib
from .errors import check
from .file import File
from .ids import SpecialToken, Status, TokenFlags, TokenizerFlags


@dataclass(frozen=True)
class TokenizerInfo:
    """Facts of a tokenizer; ids are -1 when there is none."""

    kind: str
    n_tokens: int
    bos: int
    eos: int
    unknown: int
    flags: TokenizerFlags
    pre: str
    """Pre-tokenizer of byte-level BPE, "llama-bpe"; else empty."""


@dataclass(frozen=True)
class TokenInfo:
    """Facts of a token."""

    id: int
    flags: TokenFlags
    score: float
    text: bytes


class Tokenizer(Object):
    """Text to ids and back; immutable, keeps its file's data alive."""

    def __init__(self, file: File) -> None:
        own, e = TokenizerHandle(), _raw.ggufx_error()
        check(lib.ggufx_tokenizer_create(byref(own), file._handle, byref(e)), e)
        self._own = own

    @property
    def info(self) -> TokenizerInfo:
        """Facts of the tokenizer."""
        o = asked(_raw.ggufx_tokenizer_facts, lib.ggufx_tokenizer_info, self._handle)
        return made(TokenizerInfo, o, kind=text(o.kind), flags=TokenizerFlags(o.flags),
                    pre=text(o.pre))

    def __len__(self) -> int:
        return self.info.n_tokens

    def token(self, id: int) -> TokenInfo:
        """Describe a token."""
        own = self._handle  # keeps the text
        o = asked(_raw.ggufx_token_facts, lib.ggufx_token_info, own, id)
        of = string_at(o.text, o.text_length) if o.text and o.text_length else b""
        return made(TokenInfo, o, flags=TokenFlags(o.flags), text=of)

    def special(self, which: SpecialToken | int) -> int | None:
        """Id of a special token, by its key, else by its text."""
        id = lib.ggufx_tokenizer_special(self._handle, which)
        return None if id < 0 else id

    def encode(self, text: str | bytes, flags: int = 0) -> Array:
        """Token ids of a text, i32. flags: TokenizeFlags."""
        of = to_bytes(text)
        ids, needed, e = np.empty(len(of) + 2, I32), c_size_t(), _raw.ggufx_error()
        while True:
            status = lib.ggufx_tokenize(address(ids), ids.size, byref(needed), self._handle, of,
                                        len(of), flags, byref(e))
            if status != Status.CAPACITY or needed.value <= ids.size:
                check(status, e)
                return ids[: needed.value].copy()
            ids = np.empty(needed.value, I32)

    def decode_bytes(self, ids: Ints, flags: int = 0) -> bytes:
        """Bytes of ids; one id may be part of a character. flags: DetokenizeFlags."""
        of = numbers(ids, I32, "ids")
        out, needed, e = create_string_buffer(8 * of.size + 1), c_size_t(), _raw.ggufx_error()
        while True:
            status = lib.ggufx_detokenize(out, len(out), byref(needed), self._handle, address(of),
                                          of.size, flags, byref(e))
            if status != Status.CAPACITY or needed.value <= len(out):
                check(status, e)
                return out.raw[: needed.value]
            out = create_string_buffer(needed.value)

    def decode(self, ids: Ints, flags: int = 0) -> str:
        """Text of ids; invalid UTF-8 is replaced."""
        return self.decode_bytes(ids, flags).decode("utf-8", "replace")
