# Shared by the tests of convert: writing and reading files of other formats.
# SPDX-License-Identifier: MIT
import json
import math
import os
import random
import struct

import tool

TINY = ["gemma2", "gemma3", "llama3", "mixtral", "phi3", "qwen2", "qwen3"]
PAGES = {"F32": "f", "F16": "e"}
LLAMA = {"model_type": "llama", "num_hidden_layers": 1, "num_attention_heads": 2,
         "num_key_value_heads": 1, "hidden_size": 32, "intermediate_size": 32,
         "max_position_embeddings": 64, "rms_norm_eps": 1e-5}


def safetensors(tensors, metadata=None):
    """Returns a file of (name, dtype, shape, bytes)."""
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, dtype, shape, content in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def read_safetensors(path):
    with open(path, "rb") as file:
        raw = file.read()
    n = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + n])
    data = raw[8 + n:]
    metadata = header.pop("__metadata__", {})
    return {name: (t["dtype"], t["shape"], data[t["data_offsets"][0]:t["data_offsets"][1]])
            for name, t in header.items()}, metadata


def floats(n, seed, code="f"):
    """Returns values that every float type of 16 bits or more represents, away from 0."""
    source = random.Random(seed)
    return struct.pack("<%d%s" % (n, code), *[source.choice([-1, 1]) * source.randrange(64, 128) / 128
                                               for _ in range(n)])


def bf16(values):
    """Converts f32 bytes to bf16, for values that bf16 represents."""
    return b"".join(values[i + 2:i + 4] for i in range(0, len(values), 4))


def llama_tensors(dtype="F32", dim=32, heads=2, kv=1, ffn=32, vocab=12, layers=1):
    make = {"F32": lambda n, s: floats(n, s), "F16": lambda n, s: floats(n, s, "e"),
            "BF16": lambda n, s: bf16(floats(n, s))}[dtype]
    head = dim // heads
    shapes = [("model.embed_tokens.weight", [vocab, dim]), ("model.norm.weight", [dim]),
              ("lm_head.weight", [vocab, dim])]
    for l in range(layers):
        p = "model.layers.%d." % l
        shapes += [(p + "input_layernorm.weight", [dim]), (p + "self_attn.q_proj.weight", [dim, dim]),
                   (p + "self_attn.k_proj.weight", [kv * head, dim]),
                   (p + "self_attn.v_proj.weight", [kv * head, dim]),
                   (p + "self_attn.o_proj.weight", [dim, dim]),
                   (p + "post_attention_layernorm.weight", [dim]),
                   (p + "mlp.gate_proj.weight", [ffn, dim]), (p + "mlp.up_proj.weight", [ffn, dim]),
                   (p + "mlp.down_proj.weight", [dim, ffn])]
    return [(n, dtype, s, make(math.prod(s), i)) for i, (n, s) in enumerate(shapes)]


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, wire, content):
    return varint(number << 3 | wire) + (varint(len(content)) + content if wire == 2 else content)


def piece(text, score, kind):
    return field(1, 2, field(1, 2, text.encode()) + field(2, 5, struct.pack("<f", score)) +
                 field(3, 0, varint(kind)))


class Convert(tool.Case):
    def folder_of(self, tensors, config=LLAMA, name="hf", **files):
        folder = self.path(name)
        os.mkdir(folder)
        for file, content in files.items():
            file = {"model": "tokenizer.model", "bpe": "tokenizer.json",
                    "settings": "tokenizer_config.json"}[file]
            content = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.path(os.path.join(name, file), content)
        if config is not None:
            self.path(os.path.join(name, "config.json"), json.dumps(config).encode())
        if tensors is not None:
            self.path(os.path.join(name, "model.safetensors"), safetensors(tensors))
        return folder

    def exported(self, model, name="source"):
        """Returns a folder converted from a GGUF."""
        folder = self.path(name)
        self.ok("convert", model, "--to", "safetensors", "-o", folder)
        return folder

    def write_text(self, folder, name, text):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())

    def add_rows(self, folder, n):
        """Adds n rows of zeros to the embedding, for tokens beyond the vocabulary."""
        path = os.path.join(folder, "model.safetensors")
        tensors, metadata = read_safetensors(path)
        out = []
        for name, (dtype, shape, content) in tensors.items():
            if name in ("model.embed_tokens.weight", "lm_head.weight"):
                content += bytes(n * len(content) // shape[0])
                shape = [shape[0] + n, shape[1]]
            out.append((name, dtype, shape, content))
        with open(path, "wb") as file:
            file.write(safetensors(out, metadata))
        self.change_json(folder, "config.json", lambda c: c.update(vocab_size=c["vocab_size"] + n))

    def token_ids(self, model, text):
        """Returns the ids of a text with its special tokens."""
        return [int(i) for i in self.ok("tokenize", model, "--only-ids", "--parse-special", "-p", text).split(b",")]

    def change_json(self, folder, name, change=None, **members):
        """Rewrites a JSON file with members set, and changed by a function."""
        path = os.path.join(folder, name)
        value = tool.read_json(path) if os.path.exists(path) else {}
        value.update(members)
        if change:
            change(value)
        self.write_text(folder, name, json.dumps(value))

    def converted(self, folder, *options):
        """Returns the path, the keys and the warnings of a conversion to GGUF."""
        out = self.path("converted%d.gguf" % len(os.listdir(self.folder)))
        result = tool.run("convert", folder, "-o", out, "--json", *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        warnings = result.stderr.decode().splitlines()
        for line in warnings:
            self.assertTrue(line.startswith("ggufx: warning: "), line)
        warnings = [line.removeprefix("ggufx: warning: ") for line in warnings]
        self.assertEqual(json.loads(result.stdout)["warnings"], warnings)
        return out, {k: v[1] for k, v in self.keys(out).items()}, warnings

    def keys(self, path):
        return {e["key"]: (e["type"], e["value"])
                for e in self.json("info", path, "--array-full")["kv"]}

    def raw(self, path):
        """Returns name, type, shape and bytes of each tensor."""
        return [(t["name"], t["type"], t["ne"], content) for t, content in self.tensor_bytes(path)]
