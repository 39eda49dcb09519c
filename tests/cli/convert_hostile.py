# convert: headers, models and values that must be refused.
# SPDX-License-Identifier: MIT
import json
import math
import os
import random
import struct

import tool
from convert_case import Convert, LLAMA, llama_tensors, safetensors
from tool import gguf, run


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
                (self.header(b"[]"), "not a JSON object"), (self.header(b"{\"a\":}"), "byte 5"),
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
        self.refused(struct.pack("<Q", len(text)) + text + bytes(12), text="inside those of another")

    def test_cut_and_changed_files(self):
        folder = self.folder_of(llama_tensors())
        path = os.path.join(folder, "model.safetensors")
        with open(path, "rb") as file:
            good = file.read()
        out = self.path("o.gguf")
        source = random.Random(3)
        n = struct.unpack("<Q", good[:8])[0]
        for i in tool.stepped(range(150)):
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
        bad("more", lambda ts: ts + [("odd", "F32", [1], bytes(4))], 4, "not part of")
        bad("far", lambda ts: ts + [("model.layers.7.mlp.up_proj.weight", "F32", [1, 1], bytes(4))], 3, "1 layers")
        bad("twice", lambda ts: ts + [("model.layers.01.mlp.up_proj.weight", "F32", [1, 1], bytes(4))], 4, "not part of")
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

    def test_added_tokens_do_not_add_up(self):
        added = {str(65536 * i): {"content": "x"} for i in range(1, 400)}
        folder = self.folder_of(llama_tensors(), settings={"added_tokens_decoder": added}, bpe={
            "model": {"type": "BPE", "byte_fallback": True, "vocab": {"a": 0}, "merges": []}})
        text = self.fails(3, "convert", folder, "-o", self.path("o.gguf"))
        self.assertLessEqual(int(text.split(" tokens")[0].split()[-1]), 1 << 22, text)

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
        for i, path in enumerate(tool.stepped(tool.hostile_files(), 1)):
            name, out = os.path.basename(path), self.path("m%d" % i)
            result = run("convert", path, "--from", "gguf", "--to", "safetensors", "-o", out)
            self.assertIn(result.returncode, (0, 3, 4, 5), (name, result.stderr))
            if result.returncode:
                self.assertTrue(result.stderr.startswith(b"ggufx: "), name)
                self.assertFalse(os.path.exists(out) or os.path.exists(out + ".part"), name)


if __name__ == "__main__":
    tool.main()
