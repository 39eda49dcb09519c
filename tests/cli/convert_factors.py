# convert: scales of matrices (NVFP4's .scale and .input_scale) are converted as f32 tensors.
# SPDX-License-Identifier: MIT
import os
import struct

import tool
from convert_case import Convert, LLAMA, floats, llama_tensors, read_safetensors

UP = "model.layers.0.mlp.up_proj"
MIXTURE = "model.layers.0.block_sparse_moe."


def f32(*values):
    return struct.pack("<%df" % len(values), *values)


def times(content, factor):
    n = len(content) // 4
    return f32(*[v * factor for v in struct.unpack("<%df" % n, content)])


class Factors(Convert):
    def logits(self, model):
        target = self.path("logits.f32")
        self.ok("run", model, "--tokens", "5,6,7", "-n", "0", "--logits", target, "-q", "--force")
        with open(target, "rb") as file:
            return file.read()

    def model_of(self, name, tensors, config=LLAMA):
        out = self.path(name + ".gguf")
        self.ok("convert", self.folder_of(tensors, config, name), "-o", out)
        return out

    def back(self, model, *warnings):
        """Returns the folder of a model, which converts back to the same tensors."""
        folder, again = self.path("back"), self.path("again.gguf")
        result = tool.run("convert", model, "--to", "safetensors", "-o", folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stderr.decode().splitlines()
        self.assertEqual(len(lines), len(warnings), lines)
        for line, word in zip(lines, warnings):
            self.assertIn(word, line)
        self.ok("convert", folder, "-o", again)
        self.assertEqual(sorted(self.raw(again)), sorted(self.raw(model)))
        return read_safetensors(os.path.join(folder, "model.safetensors"))[0]

    def test_a_matrix_with_a_factor(self):
        plain = llama_tensors()
        factors = [(UP + ".scale", "F32", [1], f32(2.0)), (UP + ".input_scale", "F32", [1], f32(0.125)),
                   ("model.layers.0.self_attn.q_proj.scale", "F32", [], f32(0.5))]
        model = self.model_of("factors", plain + factors)
        raw = {t[0]: t[1:] for t in self.raw(model)}
        self.assertEqual(raw["blk.0.ffn_up.scale"], ("f32", [1], f32(2.0)))
        self.assertEqual(raw["blk.0.ffn_up.input_scale"], ("f32", [1], f32(0.125)))
        self.assertEqual(raw["blk.0.attn_q.scale"], ("f32", [1], f32(0.5)))
        scale = {UP + ".weight": 2.0, "model.layers.0.self_attn.q_proj.weight": 0.5}
        scaled = self.model_of("scaled", [(n, d, s, times(c, scale.get(n, 1))) for n, d, s, c in plain])
        self.assertEqual(self.logits(model), self.logits(scaled))
        self.assertNotEqual(self.logits(model), self.logits(self.model_of("plain", plain)))
        stored = self.back(model, "2 tensors of factors")
        self.assertEqual(stored[UP + ".scale"], ("F32", [1], f32(2.0)))
        self.assertEqual(stored[UP + ".input_scale"], ("F32", [1], f32(0.125)))

    def test_factors_of_some_layers_and_other_types(self):
        tensors = llama_tensors("BF16", layers=2) + [(UP.replace("0", "1") + ".scale", "F32", [1], f32(3.5))]
        model = self.model_of("two", tensors, {**LLAMA, "num_hidden_layers": 2})
        folder = self.path("f16")
        result = tool.run("convert", model, "--to", "safetensors", "--outtype", "f16", "-o", folder)
        self.assertEqual(result.returncode, 0)
        stored = read_safetensors(os.path.join(folder, "model.safetensors"))[0]
        self.assertEqual(stored["model.layers.1.mlp.up_proj.scale"], ("F32", [1], f32(3.5)))
        self.assertEqual(stored["model.layers.1.mlp.up_proj.weight"][0], "F16")

    def test_factors_of_experts(self):
        tensors = [t for t in llama_tensors() if ".mlp." not in t[0]]
        tensors.append((MIXTURE + "gate.weight", "F32", [3, 32], floats(96, 90)))
        for e in range(3):
            for w in (1, 2, 3):
                tensors.append((MIXTURE + "experts.%d.w%d.weight" % (e, w), "F32", [32, 32], floats(1024, 10 * e + w)))
            tensors.append((MIXTURE + "experts.%d.w3.scale" % e, "F32", [1], f32(2.0 ** e)))
        config = {**LLAMA, "model_type": "mixtral", "num_local_experts": 3, "num_experts_per_tok": 2}
        model = self.model_of("mixture", tensors, config)
        self.assertEqual({t[0]: t[1:] for t in self.raw(model)}["blk.0.ffn_up_exps.scale"], ("f32", [3], f32(1, 2, 4)))
        scaled = [(n, d, s, times(c, 2.0 ** int(n.split(".")[5])) if n.endswith("w3.weight") else c)
                  for n, d, s, c in tensors if not n.endswith(".scale")]
        self.assertEqual(self.logits(model), self.logits(self.model_of("scaled", scaled, config)))
        self.assertEqual(self.back(model, "1 tensors of factors")[MIXTURE + "experts.2.w3.scale"], ("F32", [1], f32(4)))
        missing = self.folder_of([t for t in tensors if not t[0].endswith("experts.1.w3.scale")], config, "missing")
        self.assertIn("2 of 3 experts", self.fails(3, "convert", missing, "-o", self.path("x.gguf")))

    def test_faults(self):
        for dtype, shape, content in (("F16", [1], bytes(2)), ("F32", [1, 1], bytes(4)), ("F32", [0], b"")):
            source = self.folder_of(llama_tensors() + [(UP + ".scale", dtype, shape, content)], name="f%d" % len(os.listdir(self.folder)))
            self.assertIn("ffn_up.scale", self.fails(3, "convert", source, "-o", self.path("x.gguf")))


if __name__ == "__main__":
    tool.main()
