# quantize --target-size and --target-bpw: the size is kept, and the error is less than a recipe's.
# SPDX-License-Identifier: MIT
import os
import random
import struct

import tool
from quantize_case import LAYER, made_imatrix, made_model
from tool import ARCHITECTURE, MODEL, gguf

TYPES = "q2_K,q3_K,iq4_xs,q4_K,q5_K,q6_K,q8_0"
FAST = ("--candidates", TYPES)  # those with tables start slowly


class Targets(tool.Case):
    """On the demo model, whose weights are Q8_0: every row is whole blocks of 256."""

    def plan(self, *options):
        return self.json("quantize", MODEL, "--dry-run", "--allow-requantize", *options)

    def write(self, name, *options):
        return self.json("quantize", MODEL, self.path(name), "--allow-requantize", "--measure",
                         *options)

    @staticmethod
    def error(result):
        """Returns the sum of squared errors of all weights; unchanged ones have none."""
        total = 0
        for t in result["plan"]:
            n = 1
            for ne in t["ne"]:
                n *= ne
            total += n * t.get("rmse", 0) ** 2
        return total

    def test_bits_per_weight_are_kept_and_used(self):
        last = None
        for bits, types in ((3, FAST), (4.2, ()), (6.2, FAST)):
            plan = self.plan("--target-bpw", str(bits), *types)
            self.assertLessEqual(plan["bpw"], bits)
            self.assertGreater(plan["bpw"], 0.97 * bits)
            chosen = [t["to"] for t in plan["plan"]]
            self.assertNotEqual(chosen, last)
            last = chosen

    def test_a_file_is_as_large_as_it_may_be(self):
        for size in (1500000, 2000001, 2600000):
            result = self.write("o.gguf", "--target-size", str(size), "--force", *FAST)
            self.assertEqual(os.path.getsize(self.path("o.gguf")), result["file_bytes"])
            self.assertLessEqual(result["file_bytes"], size)
            self.assertGreater(result["file_bytes"], size - 40000)
        with open(self.path("o.gguf"), "rb") as file:
            first = file.read()
        self.write("again.gguf", "--target-size", "2600000", "-t", "1", *FAST)
        with open(self.path("again.gguf"), "rb") as file:
            self.assertEqual(file.read(), first)

    def test_less_error_than_one_type_or_a_recipe_of_the_same_size(self):
        for recipe in (["--type", "Q4_K_S"], ["--type", "Q3_K_M"], ["--type", "Q4_K", "--pure"]):
            theirs = self.write("recipe.gguf", "--force", *recipe)
            ours = self.write("target.gguf", "--force", "--target-bpw", str(theirs["bpw"] + 1e-6),
                              *FAST)
            self.assertLessEqual(ours["bytes_out"], theirs["bytes_out"] + 1)
            self.assertLess(self.error(ours), 0.97 * self.error(theirs))

    def test_no_exchange_of_two_tensors_is_better(self):
        """One step up for a tensor and one down for another, within the size."""
        result = self.write("o.gguf", "--target-bpw", "4.4", *FAST)
        order = TYPES.split(",")
        measured = {}
        for name in order:
            pure = self.write("pure.gguf", "--force", "--pure", "--type",
                              "Q8_0" if name == "q8_0" else name, "--output-type", name,
                              "--embd-type", name)
            measured[name] = {t["tensor"]: (t["bytes_out"], t.get("rmse", 0) ** 2 * t["ne"][0] *
                                            t["ne"][1]) for t in pure["plan"] if len(t["ne"]) > 1}
        at = {t["tensor"]: t["to"] for t in result["plan"] if t["reason"] == "chosen"}
        self.assertGreater(len(at), 20)
        steps_up, steps_down = [], []
        for tensor, to in at.items():
            i = order.index(to)
            for step, found in ((i + 1, steps_up), (i - 1, steps_down)):
                if 0 <= step < len(order):
                    size, error = (measured[order[step]][tensor][k] - measured[to][tensor][k]
                                   for k in (0, 1))
                    found.append((tensor, size, error))
        total = self.error(result)
        for up, size_up, error_up in steps_up:
            for down, size_down, error_down in steps_down:
                if up != down and size_up + size_down <= 0:
                    self.assertGreater(error_up + error_down, -0.02 * total, (up, down))

    def uneven(self):
        """Returns a model with one large tensor and many small ones, whose blocks do not end at multiples of 32
        bytes."""
        numbers, tensors, data = random.Random(5), [], b""
        for i, rows in enumerate([300] + 40 * [3]):
            tensors.append((f"blk.{i}.x.weight", [256, rows], 0, len(data)))
            data += struct.pack(f"<{256 * rows}f", *(numbers.gauss(0, 1) for _ in range(256 * rows)))
        return self.path("uneven.gguf", gguf([ARCHITECTURE], tensors, data))

    def test_padding_counts_and_what_is_left_goes_to_small_tensors(self):
        model = self.uneven()
        for size in range(42000, 110000, 5111):
            plan = self.json("quantize", model, "--dry-run", "--target-size", str(size), *FAST)
            self.assertLessEqual(plan["file_bytes"], size)
            if any(t["to"] != "q8_0" for t in plan["plan"][1:]):
                self.assertGreater(plan["file_bytes"], size - 600, plan)

    def test_rules_stay_and_candidates_are_the_only_ones(self):
        plan = self.plan("--target-bpw", "4", "--tensor-type", "attn_v=q6_K", "--candidates", "q3_K,q5_K")
        for t in plan["plan"]:
            if "attn_v" in t["tensor"]:
                self.assertEqual(t["to"], "q6_K")
            elif t["reason"] == "chosen":
                self.assertIn(t["to"], ("q3_K", "q5_K"))
        self.assertEqual({t["to"] for t in plan["plan"]}, {"f32", "q3_K", "q5_K", "q6_K"})
        plan = self.plan("--target-bpw", "4", "--tensor-type", "attn_k=q4_K", "--candidates", "q3_K,q5_K")
        self.assertEqual({t["to"] for t in plan["plan"] if "attn_k" in t["tensor"]}, {"q4_K"})

    def test_tensors_without_an_imatrix_entry_get_types_that_need_none(self):
        for bits in ("2.6", "3.0"):
            out = self.path(bits + ".gguf")
            value = self.json("quantize", made_model(), out, "--target-bpw", bits, "--imatrix", made_imatrix(),
                              "--exclude", "blk.1.", "--candidates", "iq2_xxs,iq2_s,iq3_xxs,q2_K,q3_K,q4_K", "-q")
            self.assertLessEqual(value["bpw"], float(bits))
            types = {t["name"]: t["type"] for t in self.json("info", out, "--tensors")["tensors"]}
            of_layer = lambda i: {types[f"blk.{i}.{name}.weight"] for name in LAYER}
            self.assertLessEqual(of_layer(1), {"q2_K", "q3_K", "q4_K"})
            self.assertTrue(of_layer(0) & {"iq2_xxs", "iq2_s", "iq3_xxs"}, of_layer(0))

    def test_errors(self):
        call = ("quantize", MODEL, self.path("o.gguf"), "--allow-requantize")
        self.assertIn("cannot be reached", self.fails(5, *call, "--target-size", "500K"))
        self.assertIn("cannot be reached", self.fails(5, *call, "--target-bpw", "1"))
        self.assertIn("cannot be used together", self.fails(2, *call, "--target-bpw", "4", "--target-size", "2M"))
        self.assertIn("--target-size", self.fails(2, *call, "--target-size", "much"))
        self.assertIn("0.5", self.fails(2, *call, "--target-bpw", "0.1"))
        self.assertIn('no type is called "q9"', self.fails(2, *call, "--target-bpw", "4", "--candidates", "q9"))
        self.assertIn("quantized already", self.fails(2, *call[:3], "--target-bpw", "4"))
        self.assertEqual(os.listdir(self.folder), [])


tool.main()
