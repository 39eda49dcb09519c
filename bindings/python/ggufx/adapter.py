"""LoRA adapters and control vectors.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import byref, sizeof
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterable, Tuple, Union

from . import _raw
from ._buffers import F32, Buffer, address, writes
from ._facts import asked, made
from ._handle import AdapterHandle, Object
from ._library import lib
from .errors import argument, check
from .file import File
from .ids import AdapterKind

if TYPE_CHECKING:
    from .model import Model


@dataclass(frozen=True)
class AdapterInfo:
    """Facts of an adapter."""

    kind: AdapterKind
    n_targets: int
    """Tensors of the model, or layers, that something is added to."""
    rank: int
    """Largest rank; 0 for a control vector."""
    alpha: float
    fingerprint: int
    """Equal for adapters with equal content and options."""
    memory_bytes: int


class Adapter(Object):
    """LoRA adapter or control vector bound to a model. Immutable; keeps its file and the model
    alive."""

    def __init__(self, model: Model, file: File, *, first_layer: int = 0,
                 last_layer: int = 0) -> None:
        o = _raw.ggufx_adapter_options(struct_size=sizeof(_raw.ggufx_adapter_options),
                                       first_layer=first_layer, last_layer=last_layer)
        own, e = AdapterHandle(), _raw.ggufx_error()
        check(lib.ggufx_adapter_create(byref(own), model._handle, file._handle, byref(o),
                                       byref(e)), e)
        self._own = own

    @property
    def info(self) -> AdapterInfo:
        """Facts of it."""
        o = asked(_raw.ggufx_adapter_facts, lib.ggufx_adapter_info, self._handle)
        return made(AdapterInfo, o, kind=AdapterKind(o.kind))

    def has_tensor(self, tensor: int) -> bool:
        """Whether it adds something to a tensor of the model's file, by its number."""
        return lib.ggufx_adapter_has_tensor(self._handle, tensor) == 1

    def add_rows(self, rows: Buffer, tensor: int, first_row: int = 0, scale: float = 1) -> None:
        """Add to rows, f32 [n][ne0], of a tensor of the model's file, from first_row on, the
        adapter's delta, as when the adapter is merged into the model."""
        of, e = writes(rows, F32, "rows"), _raw.ggufx_error()
        if of.ndim != 2:
            raise argument(f"rows has the shape {of.shape}, not [n][ne0]")
        check(lib.ggufx_adapter_add_rows(address(of), of.size, self._handle, tensor, first_row,
                                         of.shape[0], scale, byref(e)), e)


# An adapter with the scale 1, or another one.
AdapterUse = Union[Adapter, Tuple[Adapter, float]]


def uses_of(adapters: Iterable[AdapterUse]) -> tuple[Any, int, list[Any]]:
    """C array of uses, its length, and the handles that it points to."""
    pairs = [use if isinstance(use, tuple) else (use, 1.0) for use in adapters]
    out, kept = (_raw.ggufx_adapter_use * max(len(pairs), 1))(), []
    for to, (adapter, scale) in zip(out, pairs):
        kept.append(adapter._handle)
        to.adapter, to.scale = kept[-1].value, scale
    return out, len(pairs), kept
