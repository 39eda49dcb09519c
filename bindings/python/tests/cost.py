"""What a call costs: nanoseconds of the smallest product and of a 4096 x 4096 one of Q4_K, the
best of several rounds. Used by ../../cost.py.

SPDX-License-Identifier: MIT
"""
from __future__ import annotations

import time

import numpy as np

import ggufx
from ggufx import Runtime, Tensor, TensorType


def best(rounds: int, calls: int, type: TensorType, rows: int, columns: int) -> float:
    rt = Runtime(threads=1)
    values = (np.arange(rows * columns) % 17 - 8).astype(np.float32).reshape(rows, columns)
    w = Tensor.wrap(rt, type, (columns, rows), ggufx.quantize(rt, type, values), "w")
    x, y, least = np.ones(columns, np.float32), np.empty(rows, np.float32), float("inf")
    for _ in range(rounds):
        start = time.perf_counter_ns()
        for _ in range(calls):
            w.matvec(x, y)
        least = min(least, (time.perf_counter_ns() - start) / calls)
    return least


if __name__ == "__main__":
    print(f"{best(20, 20000, TensorType.Q8_0, 1, 32):.1f} "
          f"{best(100, 5, TensorType.Q4_K, 4096, 4096):.0f}")
