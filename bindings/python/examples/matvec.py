"""y = W x, straight from the quantized blocks of a file.

SPDX-License-Identifier: MIT
"""
import sys

import numpy as np

import ggufx

with ggufx.Runtime() as rt, ggufx.File.open(rt, sys.argv[1]) as file:
    w = file.tensors["token_embd.weight"]
    x = (np.arange(w.ne[0]) % 7 - 3).astype(np.float32)
    y = w.matvec(x)
    print(f"{len(y)} rows, y[0] = {y[0]:.6f}, y[{len(y) - 1}] = {y[-1]:.6f}")
