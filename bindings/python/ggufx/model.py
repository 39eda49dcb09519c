"""Weights bound to a graph.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import (
    POINTER, addressof, byref, c_float, c_size_t, cast, create_string_buffer, sizeof)
from dataclasses import dataclass
from typing import Mapping, Union

import numpy as np

from . import _raw
from ._buffers import Floats
from ._callbacks import Following, Progress
from ._facts import asked, made, terminated, text
from ._handle import ModelHandle, Object
from ._library import lib
from .errors import check
from .file import File
from .ids import LayerFlags, LayerKind, ModelFlags, Status
from .runtime import Runtime

# The value of a key, as another one.
Override = Union[str, int, float, bool]


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
    flags: ModelFlags = ModelFlags(0)


@dataclass(frozen=True)
class LayerInfo:
    """Facts of a layer; for attention, the shapes that an attention hook receives."""

    kind: LayerKind
    flags: LayerFlags
    n_heads: int
    n_kv_heads: int
    head_dim_k: int
    head_dim_v: int
    window: int
    reads_layer: int
    scale: float
    softcap: float
    state_bytes: int
    sinks: Floats | None


class Model(Object):
    """Weights bound to a graph; immutable, keeps its file's data alive.

    overrides has keys of the file as if they had other values, {"llama.rope.freq_base": 50000};
    progress sees layers."""

    def __init__(self, rt: Runtime, file: File, *,
                 overrides: Mapping[str, Override] | None = None,
                 progress: Progress | None = None) -> None:
        own, e = ModelHandle(), _raw.ggufx_error()
        self._runtime = rt._handle
        o = _raw.ggufx_model_options(struct_size=sizeof(_raw.ggufx_model_options))
        kept = [(create_string_buffer(terminated(key)),
                 create_string_buffer(terminated(_written(value))))
                for key, value in (overrides or {}).items()]
        listed = (_raw.ggufx_model_override * len(kept))(
            *[_raw.ggufx_model_override(key=addressof(key), value=addressof(value))
              for key, value in kept])
        o.overrides, o.n_overrides = addressof(listed) if kept else None, len(kept)
        with Following(progress) as call:
            o.progress = call.progress
            call.end(lib.ggufx_model_create(byref(own), self._runtime, file._handle, byref(o),
                                            byref(e)), e)
        self._own = own

    def layer(self, layer: int) -> LayerInfo:
        """Describe a layer."""
        o, e = _raw.ggufx_layer_facts(struct_size=sizeof(_raw.ggufx_layer_facts)), \
            _raw.ggufx_error()
        check(lib.ggufx_model_layer(byref(o), self._handle, layer, byref(e)), e)
        sinks = None
        if o.sinks:
            sinks = np.ctypeslib.as_array(cast(o.sinks, POINTER(c_float)), (o.n_heads,)).copy()
        return made(LayerInfo, o, kind=LayerKind(o.kind), flags=LayerFlags(o.flags), sinks=sinks)

    @property
    def info(self) -> ModelInfo:
        """Facts of the model."""
        o = asked(_raw.ggufx_model_facts, lib.ggufx_model_info, self._handle)
        return made(ModelInfo, o, architecture=text(o.architecture),
                    flags=ModelFlags(o.flags))


def _written(value: Override) -> str:
    """As the library reads it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def graph(file: File) -> str:
    """Readable description of the model's graph: one line per operation."""
    out, needed, e = create_string_buffer(4096), c_size_t(), _raw.ggufx_error()
    while True:
        status = lib.ggufx_file_graph(out, len(out), byref(needed), file._handle, byref(e))
        if status != Status.CAPACITY or needed.value <= len(out):
            check(status, e)
            return out.raw[: needed.value].decode()
        out = create_string_buffer(needed.value)
