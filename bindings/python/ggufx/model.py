"""Weights bound to a graph.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref
from dataclasses import dataclass

from . import _raw
from ._facts import asked, made, text
from ._handle import ModelHandle, Object
from ._library import lib
from .errors import check
from .file import File
from .runtime import Runtime


@dataclass(frozen=True)
class ModelInfo:
    """Facts of a model."""

    architecture: str
    n_parameters: int
    weight_bytes: int
    n_vocab: int
    n_context: int
    n_embedding: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int


class Model(Object):
    """Weights bound to a graph; immutable, keeps its file's data alive."""

    def __init__(self, rt: Runtime, file: File) -> None:
        own, e = ModelHandle(), _raw.ggufx_error()
        self._runtime = rt._handle
        check(lib.ggufx_model_create(byref(own), self._runtime, file._handle, None, byref(e)), e)
        self._own = own

    @property
    def info(self) -> ModelInfo:
        """Facts of the model."""
        o = asked(_raw.ggufx_model_facts, lib.ggufx_model_info, self._handle)
        return made(ModelInfo, o, architecture=text(o.architecture))
