"""Texts to vectors, and scores of rerankers.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref, c_uint64, sizeof
from dataclasses import dataclass
from typing import Iterable, Sequence

import numpy as np

from . import _raw
from ._buffers import I32, Buffer, Floats, Ints, address, numbers, result
from ._callbacks import Following, Progress
from ._facts import asked, made
from ._handle import EmbedderHandle, Object, Turns
from ._library import lib
from .adapter import AdapterUse, uses_of
from .errors import check
from .file import File
from .ids import EmbedFlags, Pooling
from .model import Model
from .runtime import Runtime


@dataclass(frozen=True)
class EmbedOptions:
    """Options of an embedder; 0 is the default."""

    n_context: int = 0
    """Maximum tokens of a text; 0: the trained context, at most 8,192."""
    n_batch: int = 0
    """Tokens computed at once; 0: 512, or n_context."""
    pooling: int = Pooling.DEFAULT
    dimensions: int = 0
    """Values of a result that are kept, the first ones; 0: all."""
    normalize: bool = False
    """Results have length 1."""
    cut: bool = False
    """A longer text is truncated to its first n_context tokens."""
    matmul_flags: int = 0

    def _filled(self) -> _raw.ggufx_embed_options:
        flags = (EmbedFlags.NORMALIZE if self.normalize else 0) | (
            EmbedFlags.CUT if self.cut else 0)
        return _raw.ggufx_embed_options(
            struct_size=sizeof(_raw.ggufx_embed_options), flags=flags, n_context=self.n_context,
            n_batch=self.n_batch, pooling=self.pooling, dimensions=self.dimensions,
            matmul_flags=self.matmul_flags)


@dataclass(frozen=True)
class EmbedderInfo:
    """Facts of an embedder."""

    n_context: int
    n_batch: int
    pooling: Pooling
    dimensions: int
    """Values of a result; for RANK, the file's classes."""
    full_dimensions: int
    """Before the first of them are kept."""


class Embedder(Object):
    """Computes embeddings. A concurrent call raises StateError."""

    def __init__(self, model: Model, options: EmbedOptions | None = None) -> None:
        o, own, e = (options or EmbedOptions())._filled(), EmbedderHandle(), _raw.ggufx_error()
        check(lib.ggufx_embedder_create(byref(own), model._handle, byref(o), byref(e)), e)
        self._own, self._turns = own, Turns()
        self._info = self.info

    @property
    def info(self) -> EmbedderInfo:
        """Facts of the embedder."""
        o = asked(_raw.ggufx_embedder_facts, lib.ggufx_embedder_info, self._handle)
        return made(EmbedderInfo, o, pooling=Pooling(o.pooling))

    def set_adapters(self, adapters: Iterable[AdapterUse]) -> None:
        """Set the adapters for all inputs from now on, in this order: each an Adapter, or
        (Adapter, scale)."""
        uses, n, kept = uses_of(adapters)
        e = _raw.ggufx_error()
        with self._turns.changing:
            check(lib.ggufx_embedder_set_adapters(self._handle, byref(uses), n, byref(e)), e)
        del kept

    def embed(self, texts: Sequence[Ints], out: Buffer | None = None, *,
              progress: Progress | None = None) -> Floats:
        """One row per text, a list of ids, with the special tokens of the model's training; with
        Pooling.NONE a row for each token."""
        parts = [numbers(text, I32, "texts").reshape(-1) for text in texts]
        lengths = np.array([part.size for part in parts], np.uintp)
        tokens = np.concatenate(parts) if parts else np.empty(0, I32)
        rows = len(parts)
        if self._info.pooling == Pooling.NONE:
            rows = sum(min(part.size, self._info.n_context) for part in parts)
        to, e = result(out, (rows, self._info.dimensions)), _raw.ggufx_error()
        with self._turns.changing, Following(progress) as call:
            call.end(lib.ggufx_embed(address(to), to.size, self._handle, address(tokens),
                                     tokens.size, address(lengths), len(parts), call.progress,
                                     byref(e)), e)
        return to


def embedder_estimate(rt: Runtime, file: File, options: EmbedOptions | None = None) -> int:
    """Memory of an Embedder for this file in bytes, without its model."""
    o, out, e = (options or EmbedOptions())._filled(), c_uint64(), _raw.ggufx_error()
    check(lib.ggufx_embedder_estimate(byref(out), rt._handle, file._handle, byref(o), byref(e)), e)
    return out.value
