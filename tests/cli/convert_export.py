# convert: GGUF to safetensors and back, the other byte order.
# SPDX-License-Identifier: MIT
import json
import os
import struct

import tool
from convert_case import Convert, LLAMA, TINY, bf16, llama_tensors, read_safetensors, safetensors
from tool import MODEL, gguf, run, stepped, string, tiny


class RoundTrip(Convert):
    def check_comes_back(self, name, model):
        folder, back = self.path(name), self.path(name + "-back.gguf")
        self.ok("convert", model, "--to", "safetensors", "-o", folder)
        self.ok("convert", folder, "-o", back)
        if name.startswith("gemma"):  # norms are stored minus 1; adding 1 again loses an ulp below 0.5
            self.json("diff", model, back, "--values", "--threshold", "1e-7")
            exact = lambda path: [t for t in sorted(self.raw(path)) if not t[0].endswith("norm.weight")]
            self.assertEqual(exact(back), exact(model), name)
        else:
            self.assertEqual(sorted(self.raw(back)), sorted(self.raw(model)), name)
        keys = self.keys(back)
        self.assertEqual(keys.pop("general.type"), ("str", "model"))
        self.assertEqual(keys, self.keys(model), name)
        again = self.path(name + "-again")
        self.ok("convert", back, "--to", "safetensors", "-o", again)
        for file in os.listdir(folder):
            one, two = os.path.join(folder, file), os.path.join(again, file)
            if file == "model.safetensors":  # the order of tensors is that of each source
                self.assertEqual(read_safetensors(one)[0], read_safetensors(two)[0], name)
            else:
                with open(one, "rb") as a, open(two, "rb") as b:
                    self.assertEqual(a.read(), b.read(), (name, file))
        return back

    def logits(self, model):
        target = self.path("logits.f32")
        self.ok("run", model, "--tokens", "5,6,7,8,9", "-n", "0", "--logits", target, "-q", "--force")
        with open(target, "rb") as file:
            content = file.read()
        return struct.unpack("<%df" % (len(content) // 4), content)

    def test_models_of_several_architectures_come_back_and_compute_the_same(self):
        for name in stepped(TINY):
            model = tiny(name)
            before, after = self.logits(model), self.logits(self.check_comes_back(name, model))
            self.assertGreater(max(before), 0.1)
            # An ulp of norms below 0.5 is lost (above): 2e-5 of logits up to 5, after 7 layers.
            self.assertLess(max(abs(a - b) for a, b in zip(before, after, strict=True)), 1e-4 if name.startswith("gemma") else 1e-30, name)

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
        self.assertEqual(ids(self.path("q.gguf")), ids(MODEL))  # Q8_0 values quantize to themselves

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


class CommandLine(Convert):
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
        for target, *option in (("x.gguf", "--max-shard", "1G"), ("x", "--endian", "big"), ("x", "--name", "n"),
                                ("x", "--pre", "p")):
            message = self.fails(2, "convert", MODEL, "-o", self.path(target), *option)
            self.assertIn(option[0] + " is for ", message)
        self.fails(1, "convert", self.path("absent"), "-o", self.path("y"))
        self.fails(4, "convert", self.path("n.gguf", gguf([("general.architecture", 8, string("odd"))])),
                   "--to", "safetensors", "-o", self.path("y"))
        lines = run("convert", MODEL, "--to", "safetensors", "-o", self.path("p"), "--progress", "json")
        self.assertEqual(lines.returncode, 0)
        last = json.loads(lines.stderr.splitlines()[-1])
        self.assertEqual((last["done"], last["progress"]), (last["total"], "write"))


if __name__ == "__main__":
    tool.main()
