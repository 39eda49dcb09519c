# tests/data/tinymodel: text, vocabulary and conversion reproduce the demo model (except training, which needs
# OpenBLAS).
# SPDX-License-Identifier: MIT
import array
import os
import random
import shutil
import struct
import subprocess
import sys

import tool
from tool import MODEL, SOURCE

PROGRAMS = os.path.join(SOURCE, "tests", "data", "tinymodel")
SHAPE = (1024, 256, 4, 4, 2, 64, 768, 512)  # vocabulary, dim, layers, heads, KV heads, head size, ffn, context


class TinyModel(tool.Case):
    def program(self, name, *args):
        result = subprocess.run([sys.executable, os.path.join(PROGRAMS, name), *map(str, args)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, cwd=self.folder, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr.decode())

    def text(self, folder, *args):
        self.program("make_corpus.py", "--out", folder, "--mb", "0.2", "--valid-kb", "20", *args)
        with open(os.path.join(self.folder, folder, "train.txt"), "rb") as file:
            return file.read()

    def test_the_same_seed_gives_the_same_text(self):
        first = self.text("a", "--seed", 1)
        self.assertEqual(self.text("b", "--seed", 1), first)
        self.assertNotEqual(self.text("c", "--seed", 3), first)
        self.assertGreater(len(first), 190_000)
        self.assertGreater(first.count(b"<|end|>"), 100)

    def test_vocabulary_and_checkpoint_become_a_model_that_runs(self):
        self.text("text", "--seed", 1)
        vocabulary, ids = self.path("tokenizer.json"), self.path("ids.bin")
        self.program("tokenizer.py", "train", "--corpus", "text/train.txt", "--vocab", vocabulary, "--size", SHAPE[0])
        self.program("tokenizer.py", "encode", "--vocab", vocabulary, "--in", "text/train.txt", "--out", ids)
        self.assertGreater(os.path.getsize(ids), 50_000)
        vocab, dim, layers, heads, kv_heads, of_head, ffn, _ = SHAPE
        of_layer = 2 * dim + 2 * dim * heads * of_head + 2 * dim * kv_heads * of_head + 3 * dim * ffn
        n = vocab * dim + layers * of_layer + dim
        state = random.Random(1)
        with open(self.path("model.bin"), "wb") as file:  # the format of train.cpp, with random weights
            file.write(b"GTM1" + struct.pack("<8i", *SHAPE))
            values = array.array("f", (state.uniform(-0.1, 0.1) for _ in range(n)))
            if sys.byteorder == "big":
                values.byteswap()
            values.tofile(file)
        made = self.path("made.gguf")
        self.program("convert.py", "--model", "model.bin", "--vocab", vocabulary, "--out", made)
        self.ok("validate", made, "--model", "--strict", "--deep")
        mine, shipped = self.json("info", made), self.json("info", MODEL)
        shape_of = lambda dump: [(t["name"], t["ne"]) for t in sorted(dump["tensors"], key=lambda t: t["name"])]
        self.assertEqual(shape_of(mine), shape_of(shipped))
        keys = lambda dump: {e["key"]: e["value"] for e in dump["kv"] if e["key"].startswith("llama.") or
                             e["key"].endswith("chat_template")}
        self.assertEqual(keys(mine), keys(shipped))
        with open(self.path("text/train.txt"), encoding="utf-8") as file:
            story = file.read().split("<|end|>")[0].strip()[:200].rsplit(" ", 1)[0]
        self.ok("run", made, "-p", story, "-n", "2", "--temp", "0")

    def test_gradients(self):
        compiler = shutil.which("g++") or shutil.which("clang++")
        program = self.path("train")
        if not compiler or subprocess.run([compiler, "-O2", "-std=c++17", os.path.join(PROGRAMS, "train.cpp"), "-o", program,
                                           "-lopenblas", "-lpthread"], stdout=subprocess.DEVNULL,
                                          stderr=subprocess.DEVNULL).returncode:
            self.skipTest("no OpenBLAS, or no compiler")
        result = subprocess.run([program, "--check"], stdout=subprocess.PIPE, timeout=300)
        self.assertEqual(result.returncode, 0, result.stdout.decode())


if __name__ == "__main__":
    tool.main()
