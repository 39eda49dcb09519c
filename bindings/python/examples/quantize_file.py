"""Quantizes a whole model by the recipe Q4_K_M, to the same bytes as the reference quantizer.

usage: quantize_file.py MODEL.gguf OUT.gguf
SPDX-License-Identifier: MIT
"""
import sys

import ggufx

# The demo's model is Q8_0 already.
options = ggufx.QuantizerOptions(flags=ggufx.JobFlags.ALLOW_REQUANTIZE)
with ggufx.Runtime() as rt, ggufx.File.open(rt, sys.argv[1]) as file:
    with ggufx.Quantizer(rt, file, ggufx.FileType.from_name("Q4_K_M"), options) as job:
        plan = job.info
        job.run(sys.argv[2])
        print(f"{plan.n_tensors} tensors, {plan.bytes_in} bytes become {plan.bytes_out}")
