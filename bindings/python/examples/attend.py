"""A KV cache of 4 bits a value: append 300 tokens, attend over them with one query.

SPDX-License-Identifier: MIT
"""
import numpy as np
from numpy.typing import NDArray

import ggufx

TOKENS, KV_HEADS, Q_HEADS, DIM = 300, 2, 4, 64


def numbers(*shape: int) -> NDArray[np.float32]:
    n = np.arange(np.prod(shape))
    return ((n * 7919 + 13) % 2003 / np.float32(1001) - 1).astype(np.float32).reshape(shape)


with ggufx.Runtime() as rt, ggufx.KvCache(
        rt, n_layers=1, n_kv_heads=KV_HEADS, n_q_heads=Q_HEADS, head_dim_k=DIM,
        type_k=ggufx.TensorType.GX4, type_v=ggufx.TensorType.GX4) as kv:
    k = numbers(TOKENS, KV_HEADS, DIM)
    kv.append(0, 0, k, v=k)
    out = kv.attend(0, 0, numbers(1, Q_HEADS, DIM)).reshape(-1)
    print(f"{TOKENS} tokens, out[0] = {out[0]:.6f}, out[255] = {out[255]:.6f}")
