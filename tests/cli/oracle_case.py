# Models with greedy ids and logits that another program stored.
# SPDX-License-Identifier: MIT
import glob
import os
import struct

import tool
from tool import read_json, shared


class OracleCase(tool.Case):
    def check_stories(self, model):
        """Checks generated texts, and so the tokenizer, too."""
        cases = sorted(glob.glob(os.path.join(shared("data", "stories260K", "oracle-public"), "*.json")))
        self.assertEqual(len(cases), 8)
        for path in cases:
            self.check_oracle(model, path, lambda oracle: ["-p", oracle["prompt"]])

    def check_tiny(self, model, name):
        """Checks a form of the tiny model against its reference results."""
        for case in ("seq_a", "long"):
            path = os.path.join(os.path.dirname(tool.tiny(name)), case + ".json")
            self.check_oracle(model, path, lambda oracle: [
                "--tokens", ",".join(map(str, oracle["prompt_tokens"]))])

    def greedy(self, model, prompt, n):
        return [line["id"] for line in self.lines("run", model, *prompt, "-n", n, "--temp", "0",
                                                  "--ctk", "f32", "--ctv", "f32")]

    def check_oracle(self, model, path, prompt):
        oracle = read_json(path)
        target = self.path("logits.f32")
        ids = self.greedy(model, [*prompt(oracle), "--logits", target, "--force"],
                          len(oracle["generated_tokens"]))
        self.assertEqual(ids, oracle["generated_tokens"], path)
        exact = path.replace(".json", ".ref64.f32")  # the other program uses a table for GELU
        stored = exact if os.path.exists(exact) else path.replace(".json", ".logits.f32")
        with open(target, "rb") as a, open(stored, "rb") as b:
            ours, theirs = a.read(), b.read()
        self.assertEqual(len(ours), len(theirs), path)
        n = len(ours) // 4
        worst = max(abs(x - y) for x, y in zip(struct.unpack("<%df" % n, ours),
                                               struct.unpack("<%df" % n, theirs)))
        self.assertLess(worst, 1e-3, path)  # two correct f32 programs differ by up to 5e-5
