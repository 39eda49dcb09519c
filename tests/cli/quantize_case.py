# Shared by the tests of quantize: a model with random weights, its importance matrix, digests.
# SPDX-License-Identifier: MIT
import atexit
import functools
import hashlib
import math
import os
import random
import struct
import tempfile

import tool
from tool import shared

STORIES = ("data", "stories260K")
N_LAYERS, N_EMBEDDING, N_VOCAB = 5, 256, 512
# Weights of a layer by name: columns, rows.
LAYER = {"attn_q": (256, 256), "attn_k": (256, 128), "attn_v": (256, 128), "attn_output": (256, 256),
         "ffn_gate": (256, 256), "ffn_up": (256, 256), "ffn_down": (256, 256)}
KEYS = {"context_length": 512, "embedding_length": N_EMBEDDING, "block_count": N_LAYERS, "feed_forward_length": 256,
        "attention.head_count": 8, "attention.head_count_kv": 4, "rope.dimension_count": 32, "vocab_size": N_VOCAB}


def read(path):
    with open(path, "rb") as file:
        return file.read()


def digest(path):
    return hashlib.sha256(read(path)).hexdigest()


def u32(n):
    return struct.pack("<I", n)


def kv(key, n):
    return (key, 4, u32(n))


def model_tensors():
    """Yields (name, shape) of the generated model: 48 tensors, every row of 256 values."""
    yield "token_embd.weight", (N_EMBEDDING, N_VOCAB)
    for i in range(N_LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            yield f"blk.{i}.{name}.weight", (N_EMBEDDING,)
        for name, ne in LAYER.items():
            yield f"blk.{i}.{name}.weight", ne
    yield "output_norm.weight", (N_EMBEDDING,)
    yield "output.weight", (N_EMBEDDING, N_VOCAB)


@functools.lru_cache(None)
def folder():
    made = tempfile.TemporaryDirectory(prefix="ggufx-quantize-")
    atexit.register(made.cleanup)
    return made.name


@functools.lru_cache(None)
def made_model():
    """Returns a llama model with normally distributed matrices in F16 and norms in F32."""
    source = random.Random(9)
    values = struct.pack("<65536e", *(source.gauss(0, 0.05) for _ in range(65536)))
    tensors, data = [], b""
    for i, (name, ne) in enumerate(model_tensors()):
        if len(ne) == 1:
            content = struct.pack("<%df" % ne[0], *(source.gauss(1, 0.1) for _ in range(ne[0])))
        else:
            size, start = 2 * math.prod(ne), 2 * (7919 * i % 65536)
            content = (values * (2 + size // len(values)))[start:start + size]
        tensors.append((name, ne, 0 if len(ne) == 1 else 1, len(data)))
        data += content + bytes(-len(content) % 32)
    keys = [tool.ARCHITECTURE, ("general.name", 8, tool.string("made")), kv("general.file_type", 1)]
    keys += [kv("llama." + key, n) for key, n in KEYS.items()]
    keys.append(("llama.attention.layer_norm_rms_epsilon", 6, struct.pack("<f", 1e-5)))
    path = os.path.join(folder(), "made.gguf")
    with open(path, "wb") as file:
        file.write(tool.gguf(keys, tensors, data))
    return path


@functools.lru_cache(None)
def made_imatrix():
    """Returns sums of the generated model's layers, of 57 chunks, as ggml's tools write them."""
    source = random.Random(10)
    tensors, data = [], b""
    for i in range(N_LAYERS):
        for name, ne in LAYER.items():
            sums = [source.lognormvariate(0, 1) for _ in range(ne[0])]
            for end, values in (("in_sum2", sums), ("counts", [57.0 * 512])):
                content = struct.pack("<%df" % len(values), *values)
                tensors.append((f"blk.{i}.{name}.weight.{end}", (len(values),), 0, len(data)))
                data += content + bytes(-len(content) % 32)
    names = struct.pack("<IQ", 8, 1) + tool.string("made text")
    keys = [("general.type", 8, tool.string("imatrix")), ("imatrix.datasets", 9, names), kv("imatrix.chunk_count", 57),
            kv("imatrix.chunk_size", 512)]
    path = os.path.join(folder(), "made-imatrix.gguf")
    with open(path, "wb") as file:
        file.write(tool.gguf(keys, tensors, data))
    return path


class Quantize(tool.Case):
    def source(self):
        return made_model()

    def stories(self):
        """Returns the model whose quantized bytes another program stored."""
        return shared(*STORIES, "stories260K-w256-f16.gguf")

    def tensors(self, path):
        """Returns name -> (type, sha256 of its bytes)."""
        return {t["name"]: (t["type"], t["nbytes"], hashlib.sha256(content).hexdigest())
                for t, content in self.tensor_bytes(path)}

    def files(self):
        return sorted(os.listdir(self.folder))
