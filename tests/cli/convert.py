# convert: models of other formats to GGUF and back; hostile files of both.
# SPDX-License-Identifier: MIT
import io
import json
import math
import os
import random
import struct
import subprocess
import zipfile

import tool
from compare import read_npy
from tool import MODEL, SOURCE, gguf, run, shared, string

TINY = ["gemma2", "gemma3", "llama3", "mixtral", "phi3", "qwen2", "qwen3"]
PAGES = {"F32": "f", "F16": "e"}
LLAMA = {"model_type": "llama", "num_hidden_layers": 1, "num_attention_heads": 2,
         "num_key_value_heads": 1, "hidden_size": 32, "intermediate_size": 32,
         "max_position_embeddings": 64, "rms_norm_eps": 1e-5}


def safetensors(tensors, metadata=None):
    """A file of (name, dtype, shape, bytes)."""
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
    """Values that every float type of 16 bits and more holds, away from 0."""
    source = random.Random(seed)
    return struct.pack("<%d%s" % (n, code), *[source.choice([-1, 1]) * source.randrange(64, 128) / 128
                                               for _ in range(n)])


def bf16(values):
    """f32 bytes to bf16 of values that it holds."""
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

    def keys(self, path):
        return {e["key"]: (e["type"], e["value"])
                for e in self.json("info", path, "--array-full")["kv"]}

    def raw(self, path):
        """Name, type, shape and bytes of each tensor."""
        return [(t["name"], t["type"], t["ne"], self.ok("extract", path, t["name"], "--raw"))
                for t in self.json("info", path, "--tensors")["tensors"]]


class Llama2c(Convert):
    def test_stories260k_is_the_shared_model(self):
        folder = lambda name: shared("data", "stories260K", name)
        out = self.path("s.gguf")
        result = self.json("convert", folder("stories260K.bin"), "--tokenizer", folder("tok512.bin"),
                           "-o", out)
        self.assertEqual((result["architecture"], result["n_tensors"]), ("llama", 47))
        self.assertEqual(result["bytes"], os.path.getsize(out))
        reference = folder("stories260K-f32.gguf")
        self.assertEqual(self.raw(out), self.raw(reference))
        keys, expected = self.keys(out), self.keys(reference)
        keys.pop("general.type")
        expected.pop("general.license")
        self.assertEqual(keys, expected)
        ids = ["run", "-p", "Once upon a time", "-n", "40", "--temp", "0", "--json"]
        self.assertEqual(self.lines(ids[0], out, *ids[1:]), self.lines(ids[0], reference, *ids[1:]))

    def checkpoint(self, name="c.bin", shape=(4, 6, 1, 2, 1, 5, 3), cut=0, more=b"", untied=False):
        dim, ffn, layers, heads, kv, vocab, ctx = shape
        head = dim // heads
        n = vocab * dim + layers * (2 * dim + 2 * dim * dim + 2 * dim * kv * head + 3 * dim * ffn) + \
            dim + ctx * head + untied * vocab * dim
        data = struct.pack("<7i", dim, ffn, layers, heads, kv, -vocab if untied else vocab, ctx) + floats(n, 1)
        return self.path(name, data[:len(data) - cut] + more), data

    def test_untied_output_and_types(self):
        path, data = self.checkpoint(untied=True)
        out = self.path("c.gguf")
        self.ok("convert", path, "-o", out, "--outtype", "f16", "--name", "n")
        tensors = {t[0]: t for t in self.raw(out)}
        self.assertEqual(tensors["output.weight"][1:3], ("f16", [4, 5]))
        values = struct.unpack("<20f", data[-80:])
        self.assertEqual(tensors["output.weight"][3], struct.pack("<20e", *values))
        self.assertEqual(tensors["blk.0.attn_norm.weight"][1], "f32")
        self.assertEqual(tensors["blk.0.ffn_down.weight"][2], [6, 4])
        keys = self.keys(out)
        self.assertEqual((keys["general.name"][1], keys["general.file_type"][1]), ("n", 1))
        self.assertIn("exists", self.fails(1, "convert", path, "-o", out))

    def test_faults(self):
        out = self.path("o.gguf")
        for arguments, text in (({"cut": 1}, "a checkpoint of this shape"), ({"more": b"x"}, "this shape"),
                                ({"shape": (5, 6, 1, 2, 1, 5, 3)}, "divide"),
                                ({"shape": (4, 0, 1, 2, 1, 5, 3)}, "hidden_dim is 0")):
            path, _ = self.checkpoint("f.bin", **arguments)
            self.assertIn(text, self.fails(3, "convert", path, "-o", out))
        huge = self.path("h.bin", struct.pack("<7i", *[1 << 24] * 7) + bytes(100))
        self.fails(3, "convert", huge, "-o", out)
        self.fails(3, "convert", self.path("e.bin", b""), "-o", out)
        self.fails(4, "convert", self.path("n.bin", b"24ka" + bytes(300)), "-o", out)
        path, _ = self.checkpoint()
        token = struct.pack("<fi", 0, 1) + b"a"
        for content in (b"", bytes(4) + token * 4, bytes(4) + token * 5 + b"x",
                        bytes(4) + struct.pack("<fi", 0, -1) + token * 4):
            self.fails(3, "convert", path, "--tokenizer", self.path("t.bin", content), "-o", out)
        self.assertFalse(os.path.exists(out))


class RoundTrip(Convert):
    def test_shared_models_come_back(self):
        for name in TINY:
            model = shared("data", "tiny", "tiny-%s-f16.gguf" % name)
            folder, back = self.path(name), self.path(name + ".gguf")
            self.ok("convert", model, "--to", "safetensors", "-o", folder)
            self.ok("convert", folder, "-o", back)
            if name.startswith("gemma"):  # 1 is taken from norms and added again: an ulp below 0.5
                self.json("diff", model, back, "--values", "--threshold", "1e-7")
                exact = lambda path: [t for t in self.raw(path) if not t[0].endswith("norm.weight")]
                self.assertEqual(exact(back), exact(model), name)
            else:
                self.assertEqual(self.raw(back), self.raw(model), name)
            keys = self.keys(back)
            self.assertEqual(keys.pop("general.type"), ("str", "model"))
            self.assertEqual(keys, self.keys(model), name)
            again = self.path(name + "-again")
            self.ok("convert", back, "--to", "safetensors", "-o", again)
            for file in os.listdir(folder):
                with open(os.path.join(folder, file), "rb") as a, open(os.path.join(again, file), "rb") as b:
                    if file == "model.safetensors":
                        first, second = a.read(), b.read()
                        n = struct.unpack("<Q", first[:8])[0], struct.unpack("<Q", second[:8])[0]
                        self.assertEqual(first[8 + n[0]:], second[8 + n[1]:], name)
                    else:
                        self.assertEqual(a.read(), b.read(), (name, file))

    def test_every_float_type_comes_back(self):
        for dtype in ("F32", "F16", "BF16"):
            tensors = llama_tensors(dtype, layers=2)
            folder = self.folder_of(tensors, {**LLAMA, "num_hidden_layers": 2}, name=dtype)
            out, back = self.path(dtype + ".gguf"), self.path(dtype + "-back")
            self.ok("convert", folder, "-o", out)
            types = {t["type"] for t in self.json("info", out)["tensors"] if len(t["ne"]) > 1}
            self.assertEqual(types, {dtype.lower()})
            self.ok("convert", out, "--to", "safetensors", "--outtype", dtype.lower(), "-o", back)
            got, _ = read_safetensors(os.path.join(back, "model.safetensors"))
            self.assertEqual(got, {n: (d, s, c) for n, d, s, c in tensors}, dtype)

    def test_demo_model_without_shared_data(self):
        folder, back = self.path("d"), self.path("d.gguf")
        self.ok("convert", MODEL, "--to", "safetensors", "-o", folder, "--outtype", "f32")
        self.ok("convert", folder, "-o", back)
        tensors, original = self.json("info", back)["tensors"], self.json("info", MODEL)["tensors"]
        self.assertEqual({t["name"] for t in tensors}, {t["name"] for t in original})
        self.assertTrue(self.json("diff", MODEL, back, "--values")["equal"])
        keys, expected = self.keys(back), self.keys(MODEL)
        for key in ("general.file_type", "general.quantization_version", "general.languages"):
            keys.pop(key, None), expected.pop(key, None)
        self.assertEqual(keys, expected)
        args = ["-p", "Once", "-n", "20", "--temp", "0", "--json"]
        ids = lambda path: [t["id"] for t in self.lines("run", path, *args) if "id" in t]
        self.assertEqual(len(ids(back)), 20)
        self.ok("convert", folder, "-o", self.path("q.gguf"), "--outtype", "q8_0")
        self.assertEqual(ids(self.path("q.gguf")), ids(MODEL))  # the values of Q8_0 are its own

    def test_shards(self):
        whole, parts, back = self.path("w"), self.path("p"), self.path("b.gguf")
        self.ok("convert", MODEL, "--to", "safetensors", "-o", whole)
        self.ok("convert", MODEL, "--to", "safetensors", "-o", parts, "--max-shard", "1M")
        shards = [f for f in sorted(os.listdir(parts)) if f.endswith(".safetensors")]
        self.assertGreater(len(shards), 3)
        self.assertEqual(shards[0], "model-00001-of-%05d.safetensors" % len(shards))
        index = tool.read_json(os.path.join(parts, "model.safetensors.index.json"))
        everything = {}
        for shard in shards:
            tensors, _ = read_safetensors(os.path.join(parts, shard))
            self.assertEqual({index["weight_map"][n] for n in tensors}, {shard})
            everything.update(tensors)
        self.assertEqual(everything, read_safetensors(os.path.join(whole, "model.safetensors"))[0])
        self.ok("convert", parts, "-o", back)
        self.ok("convert", whole, "-o", self.path("c.gguf"))
        with open(back, "rb") as a, open(self.path("c.gguf"), "rb") as b:
            self.assertEqual(a.read(), b.read())
        self.ok("convert", os.path.join(parts, "model.safetensors.index.json"), "-o", self.path("i.gguf"))


class Heads(Convert):
    """What another program's order means: computed here, value by value."""

    def test_llama_heads_norms_and_config(self):
        tensors = llama_tensors(dim=32, heads=2, kv=1)
        bias = struct.pack("<32f", *range(32))
        tensors += [("model.layers.0.self_attn.q_proj.bias", "F32", [32], bias),
                    ("model.layers.0.self_attn.rotary_emb.inv_freq", "F32", [8], floats(8, 3))]
        config = {**LLAMA, "rope_theta": 5e5, "tie_word_embeddings": False,
                  "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                                   "high_freq_factor": 4.0, "original_max_position_embeddings": 64}}
        out = self.path("o.gguf")
        result = self.json("convert", self.folder_of(tensors, config), "-o", out)
        self.assertEqual(result["remarks"], ["no tokenizer.model or tokenizer.json: no vocabulary"])
        raw = {t[0]: t[3] for t in self.raw(out)}
        source = {t[0]: t[3] for t in tensors}["model.layers.0.self_attn.q_proj.weight"]
        rows = [source[128 * r:128 * (r + 1)] for r in range(32)]
        expected = b"".join(rows[16 * h + 8 * (i % 2) + i // 2] for h in range(2) for i in range(16))
        self.assertEqual(raw["blk.0.attn_q.weight"], expected)
        order = [16 * h + 8 * (i % 2) + i // 2 for h in range(2) for i in range(16)]
        self.assertEqual(raw["blk.0.attn_q.bias"], struct.pack("<32f", *order))
        factors = []
        for i in range(8):
            wave = 2 * math.pi * 5e5 ** (i / 8)
            smooth = (64 / wave - 1) / 3
            factors.append(1 if wave < 16 else 8 if wave > 64 else 1 / ((1 - smooth) / 8 + smooth))
        self.assertEqual(raw["rope_freqs.weight"], struct.pack("<8f", *factors))
        keys = self.keys(out)
        self.assertEqual(keys["llama.rope.dimension_count"], ("u32", 16))
        self.assertEqual(keys["general.name"], ("str", "hf"))
        self.assertNotIn("llama.rope.scaling.type", keys)

    def test_gemma_norms_and_mixture(self):
        config = {**LLAMA, "model_type": "gemma", "head_dim": 16}
        tensors = [t for t in llama_tensors() if t[0] != "lm_head.weight"]
        out = self.path("g.gguf")
        self.ok("convert", self.folder_of(tensors, config, "gemma"), "-o", out)
        raw = {t[0]: t[3] for t in self.raw(out)}
        norm = struct.unpack("<32f", {t[0]: t[3] for t in tensors}["model.norm.weight"])
        self.assertEqual(raw["output_norm.weight"], struct.pack("<32f", *[v + 1 for v in norm]))
        self.assertEqual(raw["blk.0.attn_q.weight"], tensors[3][3])  # gemma rotates halves itself
        experts = [t for t in llama_tensors() if ".mlp." not in t[0]]
        p = "model.layers.0.block_sparse_moe."
        experts.append((p + "gate.weight", "F32", [3, 32], floats(96, 90)))
        for e in (2, 0, 1):
            for w in (1, 2, 3):
                experts.append((p + "experts.%d.w%d.weight" % (e, w), "F32", [32, 32], floats(1024, 10 * e + w)))
        config = {**LLAMA, "model_type": "mixtral", "num_local_experts": 3, "num_experts_per_tok": 2}
        out = self.path("m.gguf")
        self.ok("convert", self.folder_of(experts, config, "mix"), "-o", out)
        tensors = {t[0]: t for t in self.raw(out)}
        self.assertEqual(tensors["blk.0.ffn_up_exps.weight"][2], [32, 32, 3])
        self.assertEqual(tensors["blk.0.ffn_up_exps.weight"][3], b"".join(floats(1024, 10 * e + 3) for e in range(3)))
        self.assertEqual(self.keys(out)["llama.expert_used_count"], ("u32", 2))
        missing = self.folder_of(experts[:-1], config, "missing")
        self.assertIn("2 of 3 experts", self.fails(3, "convert", missing, "-o", self.path("x.gguf")))


class Tokenizers(Convert):
    def tokenizer(self, **files):
        out = self.path("t%d.gguf" % len(os.listdir(self.folder)))
        config = {**LLAMA, "eos_token_id": [2, 9]}
        folder = self.folder_of(llama_tensors(vocab=12), config, name="f" + os.path.basename(out), **files)
        self.ok("convert", folder, "-o", out)
        return {k[15:]: v[1] for k, v in self.keys(out).items() if k.startswith("tokenizer.ggml.")}

    def test_sentencepiece(self):
        model = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) + piece("<0x41>", 0, 6)
        model += b"".join(piece("\u2581" + c, -float(i), 1) for i, c in enumerate("abc"))
        spec = field(3, 0, varint(2)) + field(43, 0, varint((1 << 64) - 1)) + field(17, 5, bytes(4))
        model += field(2, 2, spec) + field(3, 2, field(3, 0, varint(0))) + field(99, 1, bytes(8))
        settings = {"add_bos_token": True, "bos_token": {"content": "<s>"}, "pad_token": "</s>",
                    "chat_template": [{"name": "x", "template": "no"}, {"name": "default", "template": "yes"}],
                    "added_tokens_decoder": {"7": {"content": "<x>", "special": True},
                                             "8": {"content": "<y>", "special": False}}}
        keys = self.tokenizer(model=model, settings=settings)
        self.assertEqual(keys["model"], "llama")
        self.assertEqual(keys["tokens"]["values"], ["<unk>", "<s>", "</s>", "<0x41>", "\u2581a", "\u2581b",
                                                    "\u2581c", "<x>", "<y>", "[PAD9]", "[PAD10]", "[PAD11]"])
        self.assertEqual(keys["token_type"]["values"], [2, 3, 3, 6, 1, 1, 1, 3, 4, 5, 5, 5])
        self.assertEqual([s["v"] for s in keys["scores"]["values"]][4:7], ["-0.0", "-1.0", "-2.0"])
        self.assertEqual((keys["bos_token_id"], keys["eos_token_id"], keys["unknown_token_id"],
                          keys["padding_token_id"]), (1, 2, 0, 2))
        self.assertEqual((keys["add_space_prefix"], keys["add_bos_token"]), (False, True))

    def bpe(self, **model):
        return {"added_tokens": [{"id": 5, "content": "<|end|>", "special": True}],
                "pre_tokenizer": {"type": "ByteLevel", "use_regex": True},
                "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<|end|>"}}]},
                "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 3, "c": 2}, "merges": ["a b"], **model}}

    def test_byte_level(self):
        keys = self.tokenizer(bpe=self.bpe(), settings={"eos_token": "<|end|>"})
        self.assertEqual((keys["model"], keys["pre"]), ("gpt2", "gpt-2"))
        self.assertEqual(keys["tokens"]["values"][:6], ["a", "b", "c", "ab", "[PAD4]", "<|end|>"])
        self.assertEqual(keys["token_type"]["values"][:7], [1, 1, 1, 1, 5, 3, 5])
        self.assertEqual((keys["merges"]["values"], keys["eos_token_id"], keys["add_bos_token"]),
                         (["a b"], 5, True))
        self.assertNotIn("scores", keys)
        pairs = self.tokenizer(bpe=self.bpe(merges=[["a", "b"]]))
        self.assertEqual(pairs["merges"]["values"], ["a b"])

    def test_merges_of_a_sentencepiece_become_scores(self):
        bpe = self.bpe(byte_fallback=True, unk_token="c",
                       vocab={"c": 0, "a": 1, "b": 2, "ab": 3, "aba": 4, "<0x41>": 6}, merges=["a b", "ab a"])
        bpe.pop("pre_tokenizer")
        keys = self.tokenizer(bpe=bpe)
        scores = [float(s["v"]) for s in keys["scores"]["values"]]
        self.assertEqual((scores[3], scores[4], keys["unknown_token_id"]), (0, -1, 0))
        self.assertLess(max(scores[:3]), -1)
        self.assertEqual((keys["token_type"]["values"][0], keys["token_type"]["values"][6]), (2, 6))

    def test_faults(self):
        out = self.path("o.gguf")
        cases = [(3, {"model": b""}), (3, {"model": b"\x0a\x05ab"}), (3, {"model": b"\x0a\xff" + b"\xff" * 9}),
                 (3, {"model": field(1, 2, field(1, 2, b"a") + field(3, 0, varint(9)))}),
                 (3, {"model": b"\x07\x00"}), (3, {"model": field(1, 0, varint(3))}),
                 (4, {"model": piece("a", 0, 1) + field(2, 2, field(3, 0, varint(1)))}),
                 (3, {"model": piece("a", 0, 1) * 13}),
                 (3, {"bpe": b"{"}), (3, {"bpe": b'{"a":1,"a":2}'}), (3, {"bpe": b"[" * 100 + b"]" * 100}),
                 (3, {"bpe": {}}), (4, {"bpe": {"model": {"type": "WordPiece"}}}),
                 (3, {"bpe": self.bpe(vocab={"a": 0, "b": 0})}), (3, {"bpe": self.bpe(vocab={"a": -1})}),
                 (3, {"bpe": self.bpe(vocab={"a": 1 << 40})}), (3, {"bpe": self.bpe(merges=["ab"])}),
                 (3, {"bpe": self.bpe(merges=[["a"]])}),
                 (4, {"bpe": {**self.bpe(), "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                     {"type": "Split", "pattern": {"Regex": "\\w"}}, {"type": "ByteLevel"}]}}})]
        for i, (code, files) in enumerate(cases):
            folder = self.folder_of(llama_tensors(), name="c%d" % i, **files)
            text = self.fails(code, "convert", folder, "-o", out)
            self.assertIn("tokenizer", text, files)
        self.ok("convert", folder, "-o", out, "--pre", "own")
        self.assertEqual(self.keys(out)["tokenizer.ggml.pre"], ("str", "own"))


class Hostile(Convert):
    def refused(self, content, code=3, text=""):
        path = self.path("h%d.safetensors" % len(os.listdir(self.folder)), content)
        self.path("config.json", json.dumps(LLAMA).encode())
        out = self.path("out.gguf")
        message = self.fails(code, "convert", path, "-o", out)
        self.assertIn(text, message)
        self.assertFalse(os.path.exists(out) or os.path.exists(out + ".part"))

    def header(self, entry, data=b"", name="w"):
        text = json.dumps({name: entry}).encode() if isinstance(entry, dict) else entry
        return struct.pack("<Q", len(text)) + text + data

    def test_headers(self):
        good = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
        for content, text in (
                (b"", "0 bytes"), (b"\0" * 7, "7 bytes"), (struct.pack("<Q", 1), "limit is 0"),
                (struct.pack("<Q", 2**64 - 1) + b"{}", "limit is 2"), (self.header(b""), "header"),
                (self.header(b"[]"), "not a JSON object"), (self.header(b"{\"a\":}"), "byte 6"),
                (self.header(b"[" * 1000), "deeper"), (self.header(b'{"a":{},"a":{}}'), "two members"),
                (self.header(b'{"\xff":1}'), "byte"), (self.header({**good, "shape": [3]}, bytes(8)), "12 bytes"),
                (self.header({**good, "shape": [-1]}, bytes(8)), "-1"),
                (self.header({**good, "shape": [1.5]}, bytes(8)), "1.5"),
                (self.header({**good, "shape": [2**40, 2**40]}, bytes(8)), "2^63"),
                (self.header({**good, "shape": [2**64 - 1]}, bytes(8)), "2^63"),
                (self.header({**good, "shape": [1] * 9}, bytes(8)), "limit is 8"),
                (self.header({**good, "data_offsets": [8, 0]}, bytes(8)), "not a range"),
                (self.header({**good, "data_offsets": [0, 8]}, bytes(7)), "7 bytes of data"),
                (self.header({**good, "data_offsets": [0]}, bytes(8)), "pair"),
                (self.header({**good, "data_offsets": [0, 2**64 - 1]}, bytes(8)), "not a range"),
                (self.header({**good, "data_offsets": [1, 9]}, bytes(9)), "no tensor has the bytes 0 to 1"),
                (self.header(good, bytes(9)), "1 bytes after"),
                (self.header({"shape": [2], "data_offsets": [0, 8]}, bytes(8)), "no dtype"),
                (self.header(b'{"w":3}'), "not an object")):
            self.refused(content, text=text)
        self.refused(self.header({**good, "dtype": "F8_E4M3"}, bytes(8)), 4, "F8_E4M3")
        two = {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
               "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}}
        text = json.dumps(two).encode()
        self.refused(struct.pack("<Q", len(text)) + text + bytes(12), text="inside of another")

    def test_cut_and_changed_files(self):
        folder = self.folder_of(llama_tensors())
        path = os.path.join(folder, "model.safetensors")
        with open(path, "rb") as file:
            good = file.read()
        out = self.path("o.gguf")
        source = random.Random(3)
        n = struct.unpack("<Q", good[:8])[0]
        for i in range(150):
            bad = bytearray(good)
            if i % 3 == 0:
                bad = bad[:source.randrange(len(bad))]
            else:
                bad[source.randrange(8 + n)] = source.randrange(256)
            self.path("hf/model.safetensors", bytes(bad))
            result = run("convert", folder, "-o", out, "--force")
            self.assertIn(result.returncode, (0, 3, 4) if i % 3 else (3,), result.stderr)
            self.assertEqual(os.path.exists(out + ".part"), False)

    def test_models(self):
        out = self.path("o.gguf")
        tensors = llama_tensors()

        def bad(name, change, code, text, config=LLAMA):
            folder = self.folder_of(change(list(tensors)), config, name)
            self.assertIn(text, self.fails(code, "convert", folder, "-o", out))
        drop = lambda part: lambda ts: [t for t in ts if part not in t[0]]
        bad("none", drop("embed"), 3, "embed_tokens")
        bad("norm", drop("model.norm"), 3, "model.norm")
        bad("more", lambda ts: ts + [("odd", "F32", [1], bytes(4))], 4, "no place")
        bad("far", lambda ts: ts + [("model.layers.7.mlp.up_proj.weight", "F32", [1, 1], bytes(4))], 3, "1 layers")
        bad("twice", lambda ts: ts + [("model.layers.01.mlp.up_proj.weight", "F32", [1, 1], bytes(4))], 4, "no place")
        bad("cube", lambda ts: [(n, d, [2] + s if "gate" in n else s, c * 2 if "gate" in n else c)
                                for n, d, s, c in ts], 3, "dimensions")
        bad("int", lambda ts: [(n, "I32" if "gate" in n else d, s, c) for n, d, s, c in ts], 4, "i32")
        bad("layers", lambda ts: ts, 3, "of 2 layers", {**LLAMA, "num_hidden_layers": 2})
        bad("heads", lambda ts: ts, 3, "5 heads", {**LLAMA, "num_attention_heads": 5})
        bad("type", lambda ts: ts, 4, "supported: llama", {**LLAMA, "model_type": "bloom"})
        bad("notype", lambda ts: ts, 3, "model_type", {})
        bad("count", lambda ts: ts, 3, "hidden_size", {**LLAMA, "hidden_size": -3})
        bad("rope", lambda ts: ts, 4, "rope scaling", {**LLAMA, "rope_scaling": {"type": "odd", "factor": 2}})
        self.fails(1, "convert", self.folder_of(tensors, None, "noconfig"), "-o", out)
        self.fails(1, "convert", self.folder_of(None, LLAMA, "nothing"), "-o", out)
        self.assertFalse(os.path.exists(out))

    def test_index(self):
        out = self.path("o.gguf")
        folder = self.folder_of(llama_tensors())
        names = [t[0] for t in llama_tensors()]

        def index(content):
            self.path("hf/model.safetensors.index.json", json.dumps(content).encode())
            return self.fails(3, "convert", folder, "-o", out)
        self.assertIn("weight_map", index({}))
        for name in ("../hf/model.safetensors", "/etc/passwd", "..", "", "a/b", 3):
            self.assertIn("not the name of a file", index({"weight_map": {names[0]: name}}))
        self.assertIn("is missing", index({"weight_map": {names[0]: "absent.safetensors"}}))
        self.assertIn("is not in shard", index({"weight_map": {"odd": "model.safetensors"}}))
        self.path("hf/second.safetensors", safetensors(llama_tensors()[:1]))
        both = {n: "model.safetensors" for n in names}
        self.assertIn("another shard", index({"weight_map": {**both, names[0]: "second.safetensors"}}))

    def test_values_that_do_not_fit(self):
        tensors = llama_tensors()
        name, dtype, shape, content = tensors[0]
        for value, code, text in ((70000.0, 4, "row 1, column 2"), (math.nan, 3, "rows from")):
            changed = bytearray(content)
            changed[4 * 34:4 * 35] = struct.pack("<f", value)
            folder = self.folder_of([(name, dtype, shape, bytes(changed)), *tensors[1:]], name="v%d" % code)
            out = self.path("v%d.gguf" % code)
            message = self.fails(code, "convert", folder, "-o", out, "--outtype", "f16")
            self.assertIn("token_embd.weight", message)
            self.assertIn(text, message)
            self.assertFalse(os.path.exists(out) or os.path.exists(out + ".part"))

    def test_malformed_gguf_files(self):
        folder = shared("data", "malformed", "public")
        for i, name in enumerate(sorted(os.listdir(folder))):
            out = self.path("m%d" % i)
            result = run("convert", os.path.join(folder, name), "--from", "gguf", "--to",
                         ("safetensors", "npz")[i % 2], "-o", out)
            self.assertIn(result.returncode, (0, 3, 4, 5), (name, result.stderr))
            if result.returncode:
                self.assertTrue(result.stderr.startswith(b"ggufx: "), name)
                self.assertFalse(os.path.exists(out) or os.path.exists(out + ".part"), name)


class Arrays(Convert):
    def test_npz_and_npy(self):
        path = self.path("m.gguf", gguf([tool.ARCHITECTURE], [("w", (32, 2), 8, 0), ("b", (3,), 30, 96),
                                                              ("i", (2, 2), 26, 128)],
                         struct.pack("<e32b", 2, *range(32)) * 2 + bytes(28) +
                         struct.pack("<3H", 0x3f80, 0x4000, 0xc040) + bytes(26) + struct.pack("<4i", 1, 2, 3, 4) +
                         bytes(16)))
        expected = {"w.npy": ("<f4", (2, 32), struct.pack("<32f", *[2.0 * i for i in range(32)]) * 2),
                    "b.npy": ("<f4", (3,), struct.pack("<3f", 1, 2, -3)),
                    "i.npy": ("<i4", (2, 2), struct.pack("<4i", 1, 2, 3, 4))}
        zipped, folder = self.path("m.npz"), self.path("arrays")
        self.ok("convert", path, "-o", zipped)
        with zipfile.ZipFile(zipped) as archive:
            self.assertIsNone(archive.testzip())
            self.assertEqual({n: read_npy(archive.read(n)) for n in archive.namelist()}, expected)
        self.ok("convert", path, "--to", "npy", "-o", folder)
        for name, value in expected.items():
            with open(os.path.join(folder, name), "rb") as file:
                self.assertEqual(read_npy(file.read()), value)
        self.ok("convert", path, "-o", self.path("h.npz"), "--outtype", "f16")
        with zipfile.ZipFile(self.path("h.npz")) as archive:
            self.assertEqual(read_npy(archive.read("b.npy")), ("<f2", (3,), struct.pack("<3e", 1, 2, -3)))
        self.fails(2, "convert", path, "-o", self.path("x.npz"), "--outtype", "bf16")
        self.assertIn("exists", self.fails(1, "convert", path, "--to", "npy", "-o", folder))
        bad = self.path("bad.gguf", gguf([tool.ARCHITECTURE], [("../x", (2,), 0, 0)], bytes(32)))
        self.assertIn("name of a file", self.fails(4, "convert", bad, "--to", "npy", "-o", self.path("y")))
        self.assertEqual([n for n in os.listdir(self.folder) if n.endswith(".part")], [])

    def test_byte_order(self):
        big, back = self.path("b.gguf"), self.path("l.gguf")
        self.ok("convert", MODEL, "-o", big, "--endian", "big")
        self.assertEqual(self.json("info", big)["endian"], "big")
        self.ok("convert", big, "-o", back, "--endian", "little")
        with open(MODEL, "rb") as a, open(back, "rb") as b:
            self.assertEqual(a.read(), b.read())
        self.fails(2, "convert", MODEL, "-o", self.path("n.gguf"))

    def test_command_line(self):
        self.fails(2, "convert", MODEL)
        self.fails(2, "convert", MODEL, "--to", "safetensors", "--outtype", "q8_0", "-o", self.path("x"))
        self.fails(2, "convert", self.path("odd.txt", b"text"), "-o", self.path("y"))
        self.fails(1, "convert", self.path("absent"), "-o", self.path("y"))
        self.fails(4, "convert", self.path("n.gguf", gguf([("general.architecture", 8, string("odd"))])),
                   "--to", "safetensors", "-o", self.path("y"))
        lines = run("convert", MODEL, "--to", "safetensors", "-o", self.path("p"), "--progress", "json")
        self.assertEqual(lines.returncode, 0)
        last = json.loads(lines.stderr.splitlines()[-1])
        self.assertEqual((last["done"], last["progress"]), (last["total"], "write"))


if __name__ == "__main__":
    tool.main()
