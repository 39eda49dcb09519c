# quantize --tensor-type: which override decides, unchanged tensors, overrides that do not apply.
# SPDX-License-Identifier: MIT
import tool
from quantize_case import LAYER, N_LAYERS, Quantize, kv, made_imatrix, model_tensors
from tool import ARCHITECTURE, gguf, run, stepped

# Mixes that count layers, and the counted tensors.
COUNTED = {"Q3_K_M": ("attn_v", "ffn_down"), "Q4_K_S": ("attn_v", "ffn_down"), "Q4_K_M": ("attn_v", "ffn_down"),
           "Q5_K_M": ("attn_v", "ffn_down"), "IQ3_XS": ("ffn_gate", "ffn_up"), "IQ2_M": ("ffn_down",)}
NORMS = [name for name, ne in model_tensors() if len(ne) == 1]


def rules(*overrides):
    return [word for override in overrides for word in ("--tensor-type", override)]


class Overrides(Quantize):
    def plan(self, *more, recipe="Q4_K_M"):
        """Returns {tensor: (type, reason)} of a plan without messages on stderr."""
        value = self.json("quantize", self.source(), "--dry-run", "--type", recipe, *more)
        return {t["tensor"]: (t["to"], t["reason"]) for t in value["plan"]}

    def test_an_override_applies_whatever_the_mix_gives(self):
        for recipe, own in (("Q4_K_M", "q4_K"), ("Q3_K_L", "q3_K"), ("Q8_0", "q8_0"), ("IQ4_XS", "iq4_xs")):
            plain = self.plan(recipe=recipe)
            for wanted in (own, "q6_K", "q5_0"):
                want = plain | {f"blk.{i}.attn_v.weight": (wanted, "chosen") for i in range(N_LAYERS)}
                self.assertEqual(self.plan("--tensor-type", "attn_v=" + wanted, recipe=recipe), want, (recipe, wanted))

    def test_an_override_applies_to_output_and_embedding(self):
        plain = self.plan()
        for tensor in ("output.weight", "token_embd.weight"):
            for more in ((), ("--pure",), ("--output-type", "q5_0", "--embd-type", "q5_0")):
                got = self.plan("--tensor-type", f"^{tensor}$=q4_K".replace(".", r"\."), *more)
                self.assertEqual(got[tensor], ("q4_K", "chosen"), (tensor, more))
        self.assertEqual(plain["output.weight"], ("q6_K", "recipe"))

    def test_the_first_override_that_matches_decides(self):
        layer = [f"blk.{i}.attn_v.weight" for i in range(N_LAYERS)]
        for first, second in (("q4_K", "q8_0"), ("q8_0", "q4_K"), ("q8_0", "q5_0"), ("q4_K", "q4_K")):
            some = rules(rf"blk\.[0-3]\.attn_v={first}", f"attn_v={second}")
            got = self.plan(*some)
            self.assertEqual([got[t][0] for t in layer], 4 * [first] + [second], (first, second))
        file = self.path("rules", b"attn_v=q8_0\nattn_k=q8_0\n")  # after those of the command line
        got = self.plan("--tensor-type-file", file, *rules(r"blk\.[0-3]\.attn_v=q4_K"))
        self.assertEqual([got[t][0] for t in layer], 4 * ["q4_K"] + ["q8_0"])
        self.assertEqual(got["blk.0.attn_k.weight"], ("q8_0", "chosen"))

    def test_an_override_changes_no_other_tensor(self):
        n = 0
        for recipe, names in COUNTED.items():
            more = ("--imatrix", made_imatrix()) if recipe == "IQ2_M" else ()
            plain = self.plan(*more, recipe=recipe)
            for tensor in stepped(f"blk.{i}.{name}.weight" for name in names for i in range(N_LAYERS)):
                for wanted in ("q8_0", plain[tensor][0]):
                    got = self.plan(*more, "--tensor-type", "^" + tensor.replace(".", r"\.") + "$=" + wanted, recipe=recipe)
                    self.assertEqual(got, plain | {tensor: (wanted, "chosen")}, (recipe, tensor))
                    n += 1
        self.assertGreater(n * tool.STEP, 100)

    def test_an_override_changes_no_bytes_of_other_tensors(self):
        plain, some = self.path("plain.gguf"), self.path("some.gguf")
        self.ok("quantize", self.source(), plain, "-q", "--type", "Q4_K_M")
        self.ok("quantize", self.source(), some, "-q", "--type", "Q4_K_M", "--tensor-type", r"^blk\.0\.attn_v=q8_0")
        want, got = self.tensors(plain), self.tensors(some)
        self.assertEqual({t for t in want if want[t] != got[t]}, {"blk.0.attn_v.weight"})
        self.assertEqual(got["blk.0.attn_v.weight"][:2], ("q8_0", 256 * 128 // 32 * 34))

    def test_a_target_size_leaves_overrides_alone(self):
        args = ("quantize", self.source(), "--dry-run", "--target-bpw", "4.5", "--candidates", "q3_K,q5_K")
        plan = self.json(*args, *rules("attn_v=q4_K"))["plan"]
        types = {t["tensor"]: t["to"] for t in plan}
        for i in range(N_LAYERS):
            self.assertEqual(types[f"blk.{i}.attn_v.weight"], "q4_K")
            self.assertIn(types[f"blk.{i}.attn_k.weight"], ("q3_K", "q5_K"))


class Warnings(Quantize):
    def said(self, *overrides, source=None, more=()):
        """Returns the lines on stderr of a successful plan; those of a run and of --json are the same, -q has none."""
        args = ("quantize", source or self.source(), "--dry-run", "--type", "Q4_K_M", *rules(*overrides), *more)
        result, with_json = run(*args), run(*args, "--json")
        self.assertEqual((result.returncode, with_json.stderr), (0, result.stderr))
        self.assertEqual(run(*args, "-q").stderr, b"")
        return result.stderr.decode().splitlines()

    def test_tensors_that_are_never_quantized(self):
        self.assertEqual(self.said("norm=q8_0"), [
            'ggufx: --tensor-type "norm=q8_0" has no effect: 11 matching tensors are never quantized '
            '("output_norm.weight", ...)'])
        self.assertEqual(len(NORMS), 11)
        self.assertEqual(self.said("output_norm=q8_0"), [
            'ggufx: --tensor-type "output_norm=q8_0" has no effect: 1 matching tensor is never quantized ("output_norm.weight")'])
        # An override that applies to some of its tensors has an effect; norms among them are not reported.
        self.assertEqual(self.said(r"blk\.1\.=q8_0"), [])

    def test_overrides_that_earlier_ones_hide(self):
        self.assertEqual(self.said("attn_v=q4_K", "attn_v=q8_0"), [
            'ggufx: --tensor-type "attn_v=q8_0" has no effect: earlier overrides decide 5 matching tensors ("blk.0.attn_v.weight", ...)'])
        self.assertEqual(self.said("attn_v=q4_K", r"blk\.[01]\.attn_[vn]=q8_0"), [
            r'ggufx: --tensor-type "blk\.[01]\.attn_[vn]=q8_0" has no effect: earlier overrides decide 2 matching tensors '
            '("blk.0.attn_v.weight", ...), 2 matching tensors are never quantized ("blk.0.attn_norm.weight", ...)'])
        self.assertEqual(self.said(r"blk\.0\.attn_v=q4_K", "attn_v=q8_0"), [])

    def test_options_that_keep_tensors(self):
        self.assertEqual(self.said("ffn=q8_0", more=["--only-copy"]), [
            'ggufx: --tensor-type "ffn=q8_0" has no effect: --only-copy keeps 20 matching tensors ("blk.0.ffn_down.weight", ...)'])
        self.assertEqual(self.said(r"^output\.weight=q8_0", more=["--leave-output"]), [
            r'ggufx: --tensor-type "^output\.weight=q8_0" has no effect: --leave-output keeps 1 matching tensor ("output.weight")'])

    def test_rows_that_are_not_whole_blocks(self):
        shapes = [("a", 96), ("b", 36), ("c", 256), ("d", 160)]
        tensors, at = [], 0
        for name, n in shapes:
            tensors.append((name + ".weight", (n, 2), 0, at))
            at += 8 * n
        source = self.path("odd.gguf", gguf([ARCHITECTURE, kv("llama.block_count", 1)], tensors, bytes(at)))
        more = ["--tensor-type", "glob:?.weight=q8_0"]  # for tensors that the other override does not match
        self.assertEqual(self.said("[abc]=q6_K", source=source), [
            'ggufx: --tensor-type "[abc]=q6_K" does not fit 2 of 3 tensors: their rows are not whole blocks of 256 values '
            '("a.weight" has rows of 96 and gets q8_0, ...)'])
        self.assertEqual(self.said("b=q8_0", source=source, more=more), [
            'ggufx: --tensor-type "b=q8_0" does not fit 1 of 1 tensor: its rows are not whole blocks of 32 values '
            '("b.weight" has rows of 36 and gets f16)'])
        value = self.json("quantize", source, "--dry-run", "-q", "--type", "Q4_0", "--tensor-type", "a=q6_K")
        self.assertEqual([(t["to"], t["wanted"], t["reason"]) for t in value["plan"]][0], ("q8_0", "q6_K", "fallback"))
        self.assertEqual(value["fallbacks"], 2)  # a by the override, b by the mix
        error = self.fails(3, "quantize", source, "--dry-run", "--type", "F16", "--tensor-type", "a=q6_K", "--no-fallback")
        self.assertIn('tensor "a.weight": a row of 96 values is not whole blocks of 256 (type q6_K)', error)

    def test_a_fallback_of_an_override_stays_with_a_target(self):
        source = self.path("odd.gguf", gguf([ARCHITECTURE], [("a.weight", (96, 2), 0, 0), ("b.weight", (96, 2), 0, 768)],
                                            bytes(2 * 768)))
        args = ("quantize", source, "--dry-run", "-q", "--target-bpw", "9", "--candidates", "q4_0", "--tensor-type", "a=q6_K")
        self.assertEqual([t["to"] for t in self.json(*args)["plan"]], ["q8_0", "q4_0"])

    def test_json_counts_the_tensors_of_each_override(self):
        overrides = (r"blk\.1\.attn=q8_0", "attn_v=q4_K", "norm=q8_0", "absent=q5_0")
        want = [{"override": overrides[0], "type": "q8_0", "matches": 5, "applies": 4, "earlier": 0, "kept": 1, "fallbacks": 0},
                {"override": overrides[1], "type": "q4_K", "matches": 5, "applies": 4, "earlier": 1, "kept": 0, "fallbacks": 0},
                {"override": overrides[2], "type": "q8_0", "matches": 11, "applies": 0, "earlier": 1, "kept": 10, "fallbacks": 0},
                {"override": overrides[3], "type": "q5_0", "matches": 0, "applies": 0, "earlier": 0, "kept": 0, "fallbacks": 0}]
        for more in ((), ("--dry-run",)):
            value = self.json("quantize", self.source(), self.path("o.gguf"), "-q", "--type", "Q4_K_M", *rules(*overrides), *more)
            self.assertEqual(value["overrides"], want)
        self.assertNotIn("overrides", self.json("quantize", self.source(), "--dry-run", "--type", "Q4_K_M"))

    def test_a_run_warns_as_a_dry_run_does(self):
        result = run("quantize", self.source(), self.path("o.gguf"), "--type", "Q4_K_M", *rules("norm=q8_0", "none=q8_0"))
        self.assertEqual(result.stderr.decode().splitlines(), [
            'ggufx: --tensor-type "norm=q8_0" has no effect: 11 matching tensors are never quantized ("output_norm.weight", ...)',
            'ggufx: --tensor-type "none=q8_0" matches no tensor'])


if __name__ == "__main__":
    tool.main()
