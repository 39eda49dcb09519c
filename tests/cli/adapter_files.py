# Generates a LoRA adapter and a control vector for the demo model.
# SPDX-License-Identifier: MIT
import struct

import tool
from tool import string


def built(keys, tensors):
    """Returns a file of string keys and F32 tensors {name: (dimensions, values)}."""
    entries, data = [], b""
    for name, (dimensions, values) in tensors.items():
        entries.append((name, dimensions, 0, len(data)))
        data += struct.pack("<%df" % len(values), *values)
        data += bytes(-len(data) % 32)
    return tool.gguf([(key, 8, string(value)) for key, value in keys.items()], entries, data)


WIDTH = 256
KEYS = {"general.architecture": "llama", "general.type": "adapter", "adapter.type": "lora"}
A, B = "blk.0.attn_q.weight.lora_a", "blk.0.attn_q.weight.lora_b"
VALUES = [((i * 7919) % 2003 - 1001) / 20000 for i in range(2 * WIDTH)]
PAIR = {A: ([WIDTH, 2], VALUES), B: ([2, WIDTH], [((i * 104729) % 1999 - 999) / 2000 for i in range(2 * WIDTH)])}


def lora():
    return built(KEYS, PAIR)


def control():
    return built({"general.architecture": "controlvector"}, {f"direction.{i}": ([WIDTH], VALUES[:WIDTH]) for i in (1, 2)})
