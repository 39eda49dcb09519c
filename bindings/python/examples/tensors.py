"""Open a file and list its tensors: name, type, values per row and rows.

SPDX-License-Identifier: MIT
"""
import sys

import ggufx

with ggufx.Runtime() as rt, ggufx.File.open(rt, sys.argv[1]) as file:
    for tensor in file.tensors:
        name = ggufx.type_info(tensor.type).name
        print(f"{tensor.name} {name} {tensor.ne[0]} x {tensor.n_rows}")
