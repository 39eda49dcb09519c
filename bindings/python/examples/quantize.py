"""Dequantizes the rows of a tensor to f32, quantizes them to Q4_K and back; prints sizes
and errors.

SPDX-License-Identifier: MIT
"""
import sys

import ggufx

with ggufx.Runtime() as rt, ggufx.File.open(rt, sys.argv[1]) as file:
    tensor = file.tensors["token_embd.weight"]
    before = tensor.dequantize()
    blocks = ggufx.quantize(rt, ggufx.TensorType.Q4_K, before)
    after = ggufx.dequantize(rt, ggufx.TensorType.Q4_K, blocks)
    error = ((after.astype(float) - before) ** 2).sum()
    print(f"{tensor.n_bytes} bytes, as q4_K {blocks.nbytes}, squared error {error:.6f}")
