# quantize --feedback: less KL divergence than --best, the same bytes for all threads and after an interruption, keys
# of the file, refused options and texts.
# SPDX-License-Identifier: MIT
import os
import random
import signal
import subprocess
import time

import tool
from quantize_case import digest
from tool import MODEL

WORDS = """Nib was careful the old book under bed in village a fox and mouse went to river they saw small boat mother said
come home now he ran fast she laughed at sun red apple fell from tree one day little girl named Mina lost her hat""".split()


def story(seed, n):
    """Returns about n words in sentences; texts of other seeds are of the same kind."""
    dice = random.Random(seed)
    return " ".join(dice.choice(WORDS) + ("." if dice.random() < 0.1 else "") for _ in range(n)).encode()


# Four matrices change their type, all with 256 columns.
TYPES = ["--type", "Q8_0", "--tensor-type", "blk.0.attn_*=Q4_0", "--allow-requantize"]


class Feedback(tool.Case):
    def setUp(self):
        super().setUp()
        self.text = self.path("calibration.txt", story(1, 1500))

    def arguments(self, out, *more):
        return ["quantize", MODEL, out, *TYPES, "--feedback", self.text, "--ctx", "64", "--feedback-tokens", "2048", "--passes", "3", *more]

    def test_outputs_come_closer_to_those_of_the_source(self):
        best, better = self.path("best.gguf"), self.path("better.gguf")
        self.ok("quantize", MODEL, best, *TYPES, "--best")
        made = [t for t in self.json(*self.arguments(better, "--measure"))["plan"] if "output_error" in t]
        self.assertEqual([t["tensor"][6:-7] for t in made], ["attn_k", "attn_output", "attn_q", "attn_v"])
        for tensor in made:
            self.assertLess(tensor["output_error"], 0.8 * tensor["output_error_before"], tensor)
        other, logits = self.path("other.txt", story(2, 500)), self.path("logits")
        self.ok("perplexity", MODEL, "-f", other, "--ctx", "64", "--save-logits", logits)
        kl = [self.json("perplexity", path, "-f", other, "--ctx", "64", "--kl", logits)["kl"]["mean"]["value"] for path in (best, better)]
        self.assertLess(kl[1], kl[0])
        keys = {key["key"]: str(key["value"]) for key in self.json("info", better)["kv"]}
        self.assertEqual([keys["quantize.feedback." + name] for name in ("tokens", "context", "passes")], ["2048", "64", "3"])

    def test_bytes_do_not_depend_on_threads_and_interruptions(self):
        one, two = self.path("one.gguf"), self.path("two.gguf")
        self.ok(*self.arguments(one, "-t", "1"))
        process = subprocess.Popen([*tool.WRAPPER, tool.TOOL, *self.arguments(two, "-t", "2", "-q")], stderr=subprocess.PIPE)
        log, limit = two + ".part.log", time.monotonic() + 300
        while not (os.path.exists(log) and os.path.getsize(log) > 2 * 24) and process.poll() is None:
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        process.communicate()
        if process.returncode != 0:  # else it was faster
            self.assertTrue(os.path.exists(two + ".part"))
            self.ok(*self.arguments(two, "-t", "2", "--resume"))
        self.assertEqual(digest(one), digest(two))

    def test_wrong_texts_and_options_are_refused(self):
        out, text = self.path("out.gguf"), self.path("short.txt", b"Nib was careful.")
        begin = ["quantize", MODEL, out, "Q4_0", "--allow-requantize"]
        self.assertIn("fewer than one chunk of 512", self.fails(2, *begin, "--feedback", text))
        self.fails(1, *begin, "--feedback", self.path("absent"))
        for more in (["--ctx", "128"], ["--passes", "2"], ["--damping", "0.2"], ["--feedback-tokens", "9"]):
            self.assertIn("--feedback", self.fails(2, *begin, *more))
        for more in (["--shard", "1/2"], ["--finish"], ["--keep-split"]):
            self.assertIn("--feedback", self.fails(2, *begin, "--feedback", text, *more))
        self.fails(2, *begin, "--feedback", text, "--damping", "101")
        self.assertFalse(os.path.exists(out) or os.path.exists(out + ".part"))

    def test_too_few_tokens_per_column_give_the_blocks_of_the_search(self):
        self.text = self.path("short.txt", story(1, 150))
        plan = self.json(*self.arguments(self.path("out.gguf"), "--measure"))["plan"]
        self.assertFalse([t for t in plan if "output_error" in t])


tool.main()
