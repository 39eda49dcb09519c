"""Quantizes a whole model by the recipe Q4_K_M, to the same bytes as the reference quantizer.

usage: quantize_file.py MODEL.gguf OUT.gguf
SPDX-License-Identifier: MIT
"""
import sys

import ggufx

with ggufx.Runtime() as rt, ggufx.File.open(rt, sys.argv[1]) as file:
    # The demo's model is Q8_0 already.
    with ggufx.Quantizer(rt, file, ggufx.file_type_find("Q4_K_M"),
                                  flags=ggufx.QuantizerFlags.ALLOW_REQUANTIZE) as job:
        plan = job.info
        job.run(sys.argv[2])
        print(f"{plan.n_tensors} tensors, {plan.bytes_in} bytes become {plan.bytes_out}")
