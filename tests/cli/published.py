# Files from published converters: tensors without effect, scales of quantized weights, tensors with other names.
# SPDX-License-Identifier: MIT
import glob
import sys

import tool

sys.path.insert(0, tool.REFERENCE)
try:
    import numpy
    import gguf_io
    import make_models
except ImportError:
    numpy = None


class Published(tool.Case):
    def read(self, name):
        if numpy is None:
            self.skipTest("no NumPy")
        made = make_models.MODELS[name]()
        return made.kv, made.t

    def write(self, name, kv, tensors):
        path = self.path(name + ".gguf")
        gguf_io.write(path, kv, tensors, f32=True)
        return path

    def logits(self, path, *options):
        out = self.path("logits")
        self.ok("run", path, "--tokens", "1,30,17,42,5,99", "-n", "1", "--temp", "0", "-q", "--force", "--logits", out, *options)
        with open(out, "rb") as file:
            return file.read()

    def same(self, kv, tensors, changed):
        """Asserts that the logits of a file equal those of the changed one."""
        plain, other = self.write("plain", kv, tensors), self.write("other", kv, changed)
        self.assertEqual(self.logits(plain), self.logits(other))
        return plain, other

    def types(self, path, recipe="Q4_K_M"):
        out = self.path("quantized.gguf")
        self.ok("quantize", path, out, "--type", recipe, "--force", "-q")
        return {t["name"]: t["type"] for t in self.json("info", out, "--tensors")["tensors"]}

    # ---- tensors without effect

    def test_scales_of_nvfp4_activations_are_passed_over_and_kept(self):
        kv, tensors = self.read("qwen3moe")
        n_experts = tensors["blk.0.ffn_up_exps.weight"].shape[0]
        more = {"blk.0.attn_q.input_scale": numpy.array([0.02]), "output.input_scale": numpy.array([3.0]),
                "blk.1.ffn_up_exps.input_scale": numpy.arange(1.0, n_experts + 1)}
        _, other = self.same(kv, tensors, tensors | more)
        self.ok("split", other, self.path("part"), "--max-tensors", "20")
        merged = self.path("merged.gguf")
        self.ok("merge", next(p for p in sorted(glob.glob(self.path("part*")))), merged)
        for types in (self.types(other), self.types(merged)):
            for name in more:
                self.assertEqual(types[name], "f32", name)

    def test_frequencies_that_keys_tell_are_passed_over(self):
        kv, tensors = self.read("olmo2")
        more = {"blk.0.attn_rot_embd.weight": numpy.ones(4), "blk.1.attn.rotary_emb.inv_freq": numpy.ones(4),
                "blk.1.attn.masked_bias": numpy.ones(1)}
        self.same(kv, tensors, tensors | more)

    def test_tensors_with_an_effect_are_refused_by_name(self):
        kv, tensors = self.read("olmo2")
        for name in ("blk.0.attn_norm.scale", "blk.0.attn_q.input_bias", "output.scale_input"):
            path = self.write("refused", kv, tensors | {name: numpy.ones(1)})
            self.assertIn(name, self.fails(4, "run", path, "-p", "a", "-n", "1"))

    # ---- scales of products

    def halved(self, tensors, names):
        """Returns halved weights with scales of two: the same products, bit by bit."""
        out = dict(tensors)
        for name in names:
            out[name + ".weight"] = tensors[name + ".weight"] / 2
            experts = tensors[name + ".weight"].shape[0] if "_exps" in name else 1
            out[name + ".scale"] = numpy.full(experts, 2.0)
        return out

    def test_factors_multiply_products(self):
        kv, tensors = self.read("olmo2")
        self.same(kv, tensors, self.halved(tensors, ("blk.0.attn_q", "blk.1.attn_output", "blk.0.ffn_gate", "blk.1.ffn_down")))

    def test_factors_multiply_products_of_experts(self):
        kv, tensors = self.read("qwen3moe")
        self.same(kv, tensors, self.halved(tensors, ("blk.0.ffn_gate_exps", "blk.0.ffn_up_exps", "blk.1.ffn_down_exps")))

    def test_factors_of_experts_come_before_their_biases(self):
        kv, tensors = self.read("gpt-oss")
        self.same(kv, tensors, self.halved(tensors, ("blk.0.ffn_up_exps", "blk.1.ffn_gate_exps", "blk.0.ffn_down_exps")))

    # ---- other names

    def renamed(self, name, changes):
        kv, tensors = self.read(name)
        changed = {}
        for tensor, data in tensors.items():
            for old, new in changes.items():
                if tensor.endswith(old):
                    tensor = tensor[:len(tensor) - len(old)] + new
            changed[tensor] = data
        self.assertNotEqual(list(changed), list(tensors))
        plain, other = self.same(kv, tensors, changed)
        self.assertEqual(sorted(self.types(plain).values()), sorted(self.types(other).values()))

    def test_time_steps_without_a_suffix(self):
        self.renamed("qwen35", {"ssm_dt.bias": "ssm_dt"})
        self.renamed("qwen35moe", {"ssm_dt.bias": "ssm_dt"})

    def test_biases_of_routers_without_a_suffix(self):
        self.renamed("glm4moe", {"exp_probs_b.bias": "exp_probs_b"})

    def test_the_last_norm_of_lfm2(self):
        self.renamed("lfm2", {"token_embd_norm.weight": "output_norm.weight"})

    def test_norms_of_feed_forward_networks_without_a_suffix(self):
        self.renamed("smollm3", {"ffn_norm.weight": "ffn_norm"})


if __name__ == "__main__":
    tool.main()
