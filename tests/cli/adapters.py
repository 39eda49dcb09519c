# LoRA adapters and control vectors in the tool: logits against the generator's forward pass with the adapters in its
# weights, merged models, scales, refusals.
# SPDX-License-Identifier: MIT
import os
import shutil

import reference_case
import tool
from adapter_files import A, B, KEYS, PAIR, built, control, lora
from reference_case import TEXTS, floats
from tool import MODEL


class Adapted(reference_case.Case):
    def test_logits_are_those_of_the_merged_weights_on_every_set(self):
        for name in tool.stepped(self.reference("--adapters")):
            loras = ["--lora", self.path(name + ".a.gguf") + ":0.75", "--lora", self.path(name + ".b.gguf") + ":-0.5"]
            self.ok("merge", self.path(name + ".gguf"), self.path("merged.gguf"), *loras, "--force", "-q")
            for i, ids in enumerate(TEXTS):
                got = self.logits(name + ".gguf", ids, *loras)
                self.assertLess(self.distance(got, name, i), 1e-3, name)
                for args in (["--isa", "scalar"], ["-t", "1"], ["-t", "3"]):
                    self.assertEqual(self.logits(name + ".gguf", ids, *loras, *args), got, name)
                self.assertLess(self.distance(self.logits("merged.gguf", ids), name, i), 1e-3, name)
                self.assertGreater(self.distance(self.logits(name + ".gguf", ids), name, i), 0.05, name)


class Options(tool.Case):
    def setUp(self):
        super().setUp()
        self.lora, self.control = self.path("lora.gguf", lora()), self.path("control.gguf", control())

    def logits(self, *args, model=MODEL):
        out = self.path("logits")
        self.ok("run", model, "--tokens", "1,5,9,200", "-n", 0, "--logits", out, "--force", *args)
        with open(out, "rb") as file:
            return floats(file.read())

    def test_scales_add_up_and_zero_is_nothing(self):
        plain, whole = self.logits(), self.logits("--lora", self.lora)
        self.assertNotEqual(plain, whole)
        self.assertEqual(self.logits("--lora", self.lora + ":0"), plain)
        halves = self.logits("--lora", self.lora + ":0.5", "--lora", self.lora + ":0.5")
        self.assertLess(max(abs(a - b) for a, b in zip(halves, whole, strict=True)), 1e-2)

    def test_control_vectors_act_on_their_layers(self):
        given = ["--control-vector", self.control]
        plain, both = self.logits(), self.logits(*given)
        first = self.logits(*given, "--control-layers", "1")
        second = self.logits(*given, "--control-layers", "2-3")
        self.assertEqual(self.logits(*given, "--control-layers", "1-1"), first)
        self.assertEqual(len({plain, both, first, second}), 4)
        prompt = ["run", MODEL, "-p", "a"]
        self.assertIn("needs --control-vector", self.fails(2, *prompt, "--control-layers", "1"))
        for wrong in ("x", "1-", "-2", "3-1", "0"):
            self.assertIn("--control-layers", self.fails(2, *prompt, *given, "--control-layers=" + wrong))
        self.assertIn("layers 2 to 99", self.fails(2, *prompt, *given, "--control-layers", "2-99"))

    def test_every_verb_refuses_by_name_what_does_not_fit(self):
        wrong = self.path("wrong.gguf", built(KEYS, {**PAIR, B: ([2, 8], [0.0] * 16)}))
        ids = self.path("ids", b" ".join(b"%d" % (i % 500) for i in range(600)))
        for args in (["run", MODEL, "-p", "a"], ["merge", MODEL, self.path("out.gguf")], ["perplexity", MODEL, "-f", ids, "--ids"],
                     ["embed", MODEL, "a", "b"], ["chat", MODEL]):
            said = self.fails(1, *args, "--lora", wrong)
            self.assertIn("wrong.gguf", said)
            self.assertIn(A, said)
        self.assertFalse(os.path.exists(self.path("out.gguf")))

    def test_files_and_scales_are_distinguished(self):
        prompt = ["run", MODEL, "-p", "a", "--lora"]
        self.assertIn("general.type", self.fails(4, *prompt, MODEL))
        self.assertIn("not a scale", self.fails(2, *prompt, self.lora + ":x"))
        self.assertIn("not a scale", self.fails(2, *prompt, self.lora + ":inf"))
        self.assertIn("none.gguf", self.fails(1, *prompt, self.path("none.gguf")))
        odd = shutil.copy(self.lora, self.path("name:0.5"))
        self.assertEqual(self.logits("--lora", odd), self.logits("--lora", self.lora))

    def test_drafted_answers_are_those_of_the_adapted_model(self):
        story = ["run", MODEL, "-p", "Once upon a time", "-n", "40", "--temp", "0", "-q"]
        plain = self.ok(*story)
        for given in (["--lora", self.lora + ":40"], ["--control-vector", self.control + ":3"]):
            text = self.ok(*story, *given)
            self.assertNotEqual(text, plain)
            self.assertEqual(self.ok(*story, *given, "--lookup"), text)
            self.assertEqual(self.ok(*story, *given, "--draft", MODEL), text)

    def test_a_merged_model_is_the_adapted_one(self):
        out = self.path("merged.gguf")
        said = self.json("merge", MODEL, out, "--lora", self.lora + ":3", "--type", "f32")
        self.assertEqual((said["merged"], said["written"]), (1, True))
        base = self.path("base.gguf")  # the same weights, that tensor in F32
        self.ok("merge", MODEL, base, "--lora", self.lora + ":1e-30", "--type", "f32", "-q")
        got, merged = self.logits("--lora", self.lora + ":3", model=base), self.logits(model=out)
        far = [max(abs(a - b) for a, b in zip(x, merged, strict=True)) for x in (got, self.logits(model=base))]
        self.assertLess(10 * far[0], far[1])  # 8-bit activations in later products
        self.assertIn("--force", self.fails(1, "merge", MODEL, out, "--lora", self.lora))
        self.ok("merge", MODEL, self.path("same"), "--lora", self.lora, "-q")
        self.ok("merge", MODEL, "-o", self.path("by o"), "--lora", self.lora, "-q")
        with open(self.path("same"), "rb") as same, open(self.path("by o"), "rb") as by_o:
            self.assertEqual(by_o.read(), same.read())
        types = {t["name"]: t["type"] for t in self.json("info", self.path("same"))["tensors"]}
        self.assertEqual(types["blk.0.attn_q.weight"], "q8_0")
        self.assertIn("not a part of a split set", self.fails(2, "merge", MODEL, self.path("none")))
        self.assertIn("--lora", self.fails(2, "merge", MODEL, self.path("none"), "--type", "f16"))
        self.assertIn("--type", self.fails(2, "merge", MODEL, self.path("none"), "--lora", self.lora, "--type", "x"))
        self.ok("merge", MODEL, self.path("none"), "--lora", self.lora, "--dry-run")
        self.assertFalse(os.path.exists(self.path("none")))


if __name__ == "__main__":
    tool.main()
