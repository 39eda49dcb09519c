"""How byte-level BPE cuts texts before it merges.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import string_at
from dataclasses import dataclass

from . import _raw
from ._facts import asked, text
from ._library import lib
from .ids import PreFlags


@dataclass(frozen=True)
class PreTokenizer:
    """A pre-tokenizer that the library knows."""

    name: str
    """tokenizer.ggml.pre, "llama-bpe"."""
    rules: str
    """Name of its split rules; equal for equal rules."""
    flags: PreFlags
    steps: tuple[str, ...] | None
    """Its steps in tokenizer.json: S and the pattern of a Split, D single digits, G GPT-2's pattern
    and bytes, B bytes; None where they are not known."""


def pre_tokenizers() -> list[PreTokenizer]:
    """Every one that the library knows."""
    return [_at(i) for i in range(lib.ggufx_tokenizer_pre_count())]


def _at(index: int) -> PreTokenizer:
    o = asked(_raw.ggufx_pre_facts, lib.ggufx_tokenizer_pre, index)
    steps = None
    if o.steps:  # NUL-terminated
        steps = tuple(string_at(o.steps, o.steps_length).decode("utf-8").split("\0")[:-1])
    return PreTokenizer(text(o.name), text(o.rules), PreFlags(o.flags), steps)


def unicode_version() -> str:
    """Unicode version of the split rules, "15.0.0"."""
    return (lib.ggufx_tokenizer_unicode() or b"").decode()
