"""What attention computes.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

from ctypes import POINTER, addressof, c_float, c_int32, c_size_t, c_uint32, c_uint64, c_void_p, cast, sizeof

import numpy as np

from . import _raw, _safe
from ._buffers import F32, Floats
from ._callbacks import Following, callback
from ._safe import LayerFacts, Model
from ._shapes import AttentionHook
from .errors import StateError
from .ids import LayerFlags

_LAYER = callback(c_int32, c_uint32, c_uint64, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p)


class AttentionView:
    """Inputs and outputs of a layer's attention. Each array is copied on access, which is valid
    only during the callback."""

    def __init__(self, facts: LayerFacts, layer: int, first_token: int, n_tokens: int, at: tuple[int, ...]) -> None:
        self.layer, self.first_token, self.n_tokens = layer, first_token, n_tokens
        self._facts, self._pointers = facts, at
        self._open = True

    def _copy(self, which: int, heads: int, dim: int) -> Floats:
        if not self._open:
            raise StateError("STATE: the function that was shown the attention has ended")
        shape = (self.n_tokens, heads, dim)
        if dim == 0:
            return np.empty(shape, F32)
        return np.ctypeslib.as_array(cast(self._pointers[which], POINTER(c_float)), shape).copy()

    @property
    def q(self) -> Floats:
        """Queries, [n_tokens][heads][head_dim_k], with their positions turned in."""
        return self._copy(0, self._facts.n_heads, self._facts.head_dim_k)

    @property
    def k(self) -> Floats:
        """Keys, [n_tokens][KV heads][head_dim_k], with their positions turned in."""
        return self._copy(1, self._facts.n_kv_heads, self._facts.head_dim_k)

    @property
    def v(self) -> Floats:
        """Values, [n_tokens][KV heads][head_dim_v]; empty if values are part of the keys."""
        own = not self._facts.flags & LayerFlags.V_IN_K
        return self._copy(2, self._facts.n_kv_heads, self._facts.head_dim_v if own else 0)

    @property
    def out(self) -> Floats:
        """Output of attention, [n_tokens][heads][head_dim_v]."""
        return self._copy(3, self._facts.n_heads, self._facts.head_dim_v)


class Session(_safe.Session):
    """Session: KV caches and tokens of one sequence, or of n_sequences. A concurrent call that
    changes it raises StateError."""

    def _begin(self, model: Model, options: object) -> None:
        info = model.info
        self._layers = [model.layer_info(i) for i in range(info.n_layers)]
        self.n_vocab, self.n_context, self.n_embedding = info.n_vocab, self.info.n_context, info.n_embedding

    def __len__(self) -> int:
        """Tokens in the first sequence."""
        return self.length(0)

    def _attention(self, hook: AttentionHook | None, keep: Following) -> int | None:
        if hook is None:
            return None
        o = _raw.ggufx_attention_hook(struct_size=sizeof(_raw.ggufx_attention_hook))
        o.layer, o.user = keep.on(_LAYER, hook, self._show)
        keep._kept.append(o)
        return addressof(o)

    def _show(self, hook: AttentionHook, layer: int, first: int, n: int, *at: int) -> object:
        view = AttentionView(self._layers[layer], layer, first, n, at)
        try:
            return hook(view)
        finally:
            view._open = False
