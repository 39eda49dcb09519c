"""What fits into memory: bytes of weights, caches and sessions, and the recipe that loses least.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import addressof, byref, c_void_p, sizeof
from dataclasses import dataclass, field
from typing import Callable, Sequence

from . import _raw
from ._facts import asked, made
from ._library import lib
from .file import File
from .ids import EstimateFlags, KvType
from .job import FileType, QuantizerOptions
from .runtime import Runtime


@dataclass
class EstimateOptions:
    """Options of an estimate; the default is the unchanged file with the context of a session."""

    recipe: FileType | None = None
    """As this recipe would make it; None: as it is, or left to recommend."""
    quantizer: QuantizerOptions = field(default_factory=QuantizerOptions)
    """How the recipe would be used."""
    with_imatrix: bool = False
    """An imatrix with an entry for every tensor will be there."""
    n_context: int = 0
    n_batch: int = 0
    n_sessions: int = 0
    type_k: KvType = KvType.DEFAULT
    """Type of the keys; DEFAULT, for the values too, leaves both to recommend."""
    type_v: KvType = KvType.DEFAULT
    memory_bytes: int = 0
    """Memory limit in bytes; 0: no limit."""
    bandwidth: float = 0
    """Bytes that all threads read from memory per second; 0: no speeds."""
    n_checkpoints: int = 0
    n_sequences: int = 0
    n_context_total: int = 0
    """Per session, as Session takes them."""
    adapters: Sequence[File] = ()
    """LoRA adapters and control vectors that all sessions use together."""


@dataclass(frozen=True)
class Estimate:
    """Memory of a model, in bytes; see ggufx/estimate.h."""

    flags: EstimateFlags
    file_type: int
    """Recipe, or ESTIMATE_AS_IS."""
    n_context: int
    n_batch: int
    n_sessions: int
    type_k: KvType
    type_v: KvType
    max_context: int
    n_parameters: int
    weight_bytes: int
    file_bytes: int
    runtime_bytes: int
    model_bytes: int
    kv_bytes: int
    session_bytes: int
    total_bytes: int
    token_weight_bytes: int
    token_kv_bytes: int
    bits_per_weight: float
    weight_error: float
    loss: float
    tokens_per_second: float
    tokens_per_second_full: float
    adapter_file_bytes: int
    adapter_bytes: int


def estimate(rt: Runtime, file: File, options: EstimateOptions | None = None) -> Estimate:
    """Memory of a model: of the unchanged file, or after quantization by a recipe."""
    return _ask(lib.ggufx_estimate, rt, file, options or EstimateOptions())


def recommend(rt: Runtime, file: File, options: EstimateOptions | None = None) -> Estimate:
    """The recipe and the types of cache that lose least among those that fit; CapacityError when
    nothing does."""
    return _ask(lib.ggufx_recommend, rt, file, options or EstimateOptions())


def _ask(function: Callable[..., int], rt: Runtime, file: File,
         asking: EstimateOptions) -> Estimate:
    job, kept = asking.quantizer._filled()
    o = _raw.ggufx_estimate_options(
        struct_size=sizeof(_raw.ggufx_estimate_options), n_context=asking.n_context,
        n_batch=asking.n_batch, n_sessions=asking.n_sessions, type_k=asking.type_k,
        type_v=asking.type_v, job=addressof(job), memory_bytes=asking.memory_bytes,
        bandwidth=asking.bandwidth, n_checkpoints=asking.n_checkpoints,
        n_sequences=asking.n_sequences, n_context_total=asking.n_context_total)
    handles = [file._handle for file in asking.adapters]
    files = (c_void_p * max(len(handles), 1))(*(handle.value for handle in handles))
    o.adapters, o.n_adapters = addressof(files), len(handles)
    if asking.recipe is not None:
        o.flags |= EstimateFlags.FILE_TYPE
        o.file_type = asking.recipe.file_type
    if asking.with_imatrix:
        o.flags |= EstimateFlags.IMATRIX
    facts = asked(_raw.ggufx_estimate_facts, function, rt._handle, file._handle, byref(o))
    del kept, handles
    return made(Estimate, facts, flags=EstimateFlags(facts.flags), type_k=KvType(facts.type_k),
                type_v=KvType(facts.type_v))
