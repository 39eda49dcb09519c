# kv-eval: its figures against those of perplexity and of the types, its failures.
# SPDX-License-Identifier: MIT
import json
import os
import signal
import subprocess
import time

import tool
from tool import MODEL, TOOL, WRAPPER, environment, run

TEXT = b"Once there was a little fox. It had a red ball. The fox liked to play with the ball. " * 40


class KvEval(tool.Case):
    def setUp(self):
        super().setUp()
        self.text = os.path.join(self.folder, "text.txt")
        with open(self.text, "wb") as file:
            file.write(TEXT)

    def args(self, *more, ctx=256, chunks=2):
        return ("kv-eval", MODEL, "-f", self.text, "--ctx", ctx, "--chunks", chunks, *more)

    def others(self):
        return [name for name in os.listdir(self.folder) if name != "text.txt"]

    def test_perplexities_are_those_of_the_perplexity_command(self):
        result = self.json(*self.args("--k", "f32,Q8_0,gx3", "--v", "Q4_0,gx4"))
        self.assertEqual([(p["k"], p["v"]) for p in result["pairs"]],
                         [(k, v) for k in ("f32", "q8_0", "gx3") for v in ("q4_0", "gx4")])
        whole = ("perplexity", MODEL, "-f", self.text, "--ctx", "256", "--chunks", "2")
        reference = self.json(*whole, "--ctk", "f32", "--ctv", "f32")
        self.assertEqual((result["ctx"], result["chunks"]), (256, 2))
        self.assertEqual((result["tokens"], result["scored"]),
                         (reference["tokens"], reference["scored"]))
        self.close(result["f32"]["ppl"], reference["ppl"])
        self.close(result["f32"]["stderr"], reference["stderr"])
        for pair in result["pairs"]:
            expected = self.json(*whole, "--ctk", pair["k"], "--ctv", pair["v"])
            self.close(pair["ppl"], expected["ppl"])
            self.close(pair["stderr"], expected["stderr"])
            self.close(pair["ppl_diff"], pair["ppl"] - result["f32"]["ppl"])

    def close(self, got, expected):
        self.assertLess(abs(got - expected), 1e-8 * max(1, abs(expected)))  # another order of sums

    def test_an_f32_cache_has_no_error_and_fewer_bits_have_more(self):
        result = self.json(*self.args("--k", "f32,f16,q8_0,gx4,gx3,gx2"))
        pairs = {pair["k"]: pair for pair in result["pairs"]}
        self.assertTrue(all(pair["k"] == pair["v"] for pair in pairs.values()))
        exact = pairs["f32"]
        self.assertEqual((exact["error"], exact["ppl_diff"], exact["top1"]), (0, 0, 1))
        self.assertLess(abs(exact["kl"]), 1e-12)
        for name in ("error", "kl"):
            values = [pair[name] for pair in pairs.values()]
            self.assertEqual(values, sorted(values), name)
            self.assertLess(values[-1], 1.5, name)
        self.assertGreater(pairs["q8_0"]["error"], 1e-4)  # about 2**-8
        self.assertLess(pairs["q8_0"]["error"], 3e-2)
        self.assertLess(pairs["gx2"]["top1"], 1)
        self.assertGreater(pairs["gx2"]["top1"], 0.5)

    def test_memory_is_that_of_the_types(self):
        result = self.json(*self.args("--k", "f32,f16,q8_0,q4_0,gx4,gx2", "--v", "f16"))
        bits = [pair["bits_per_value"] for pair in result["pairs"]]
        heads = (32, 16, 8.5, 4.5, 4 + 16 / 64, 2 + 16 / 64)  # heads of 64 values
        for got, keys in zip(bits, heads):
            self.assertAlmostEqual(got, (keys + 16) / 2)
        values = 4 * 2 * 64 * 256  # values of one stream: layers x heads x head_dim x tokens
        sizes = [pair["bytes"] for pair in result["pairs"]]
        f32, f16, q8_0, q4_0, gx4, gx2 = sizes  # block types hold some tokens as F16, too
        self.assertGreaterEqual(f16, values * (2 + 2))
        self.assertEqual(f32 - f16, values * 2)
        pages = values * 128 // 256  # 2 of 4 pages of 64 tokens: not the first, not the last
        self.assertEqual(q8_0 - q4_0, pages // 2)
        self.assertEqual(gx4 - gx2, pages // 4)
        for pair in result["pairs"]:
            self.assertGreater(pair["tps"], 1)
            self.assertGreater(pair["attend_us"], 0.1)
            self.assertLess(pair["attend_us"], 1e6)

    def test_layers_are_measured_alike_alone_and_together(self):
        args = self.args("--k", "gx4,q4_0", chunks=1)
        every = self.json(*args)["pairs"]
        some = self.json(*args, "--layers", "3,1,3")["pairs"]
        for whole, part in zip(every, some):
            self.assertEqual([layer["layer"] for layer in whole["layers"]], [0, 1, 2, 3])
            self.assertEqual(part["layers"], [whole["layers"][1], whole["layers"][3]])
            self.assertEqual(part["ppl"], whole["ppl"])
            errors = [layer["error"] for layer in whole["layers"]]
            self.assertGreater(whole["error"], min(errors))
            self.assertLess(whole["error"], max(errors))
            self.assertEqual(len(set(errors)), 4)

    def test_results_do_not_depend_on_threads(self):
        args = self.args("--k", "gx4,q8_0", chunks=1)
        results = [self.json(*args, "-t", threads) for threads in (1, 3)]
        for result in results:
            for pair in result["pairs"]:
                del pair["tps"], pair["attend_us"], pair["bytes"]  # threads have memory, too
        self.assertEqual(*results)

    def test_the_table_has_a_line_per_pair(self):
        lines = self.ok(*self.args("--k", "f16,q4_0", "--v", "gx4", chunks=1)).decode().splitlines()
        self.assertEqual([line.split("\t")[:2] for line in lines[:-1]],
                         [["k", "v"], ["f16", "gx4"], ["q4_0", "gx4"]])
        self.assertRegex(lines[-1], r"^perplexity \d+\.\d+ with an F32 cache \(1 chunks of 256")

    def test_progress_names_the_pair_and_ends(self):
        result = run(*self.args("--k", "f16,gx4", chunks=1), "--progress", "json")
        lines = [json.loads(line) for line in result.stderr.splitlines()]
        self.assertEqual((lines[-1]["done"], lines[-1]["total"]), (3, 3))
        self.assertEqual({line["progress"] for line in lines}, {"kv-eval"})

    def test_mistakes_are_usage_errors(self):
        self.assertIn('mean "gx', self.fails(2, *self.args("--k", "f16,gx5")))
        self.assertIn('"q8_0"', self.fails(2, *self.args("--v", "q8_")))
        self.assertIn("the model has 4", self.fails(2, *self.args("--layers", "1,4")))
        for bad in (("--layers", "x"), ("--layers", "-1"), ("--ctx", "3"), ("--ctx", "0"),
                    ("--chunks", "-1"), ("--k", "")):
            self.fails(2, *self.args(*bad))
        self.fails(2, "kv-eval", MODEL)
        self.fails(2, "kv-eval", "-f", self.text)
        self.assertIn("less than a chunk", self.fails(2, "kv-eval", MODEL, "-f", self.text,
                                                      "--ctx", 100000))
        self.assertEqual(self.others(), [])

    def test_bad_files_have_their_own_codes(self):
        self.fails(1, "kv-eval", MODEL, "-f", self.path("absent.txt"))
        self.fails(1, "kv-eval", self.path("absent.gguf"), "-f", self.text)
        broken = self.path("broken.gguf", b"GGUF" + bytes(3))
        self.fails(3, "kv-eval", broken, "-f", self.text)
        other = self.path("other.gguf", tool.gguf([("general.architecture", 8,
                                                    tool.string("rwkv7"))]))
        self.fails(4, "kv-eval", other, "-f", self.text)

    def test_text_may_come_from_stdin(self):
        args = ("--ctx", 64, "--chunks", 1, "--k", "f16")
        expected = self.json("kv-eval", MODEL, "-f", self.text, *args)["pairs"][0]["ppl"]
        with open(self.text, "rb") as text:
            got = self.json("kv-eval", MODEL, "-f", "-", *args, stdin=text)["pairs"][0]["ppl"]
        self.assertEqual(got, expected)

    def test_full_disks_are_reported(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        args = ("kv-eval", MODEL, "-f", self.text, "--ctx", "64", "--chunks", "1", "--k", "f16")
        self.assertIn("No space left", self.fails(1, *args, "-o", "/dev/full"))
        with open("/dev/full", "wb") as full:
            result = subprocess.run([*WRAPPER, TOOL, *args], stdout=full, stderr=subprocess.PIPE,
                                    env=environment())
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"No space left", result.stderr)

    def test_a_reader_that_left_ends_the_tool_quietly(self):
        reader, writer = os.pipe()
        os.close(reader)
        args = map(str, self.args("--k", "f16", chunks=1))
        result = subprocess.run([*WRAPPER, TOOL, *args], stdout=writer, stderr=subprocess.PIPE,
                                env=environment())
        os.close(writer)
        self.assertEqual(result.stderr, b"")
        self.assertIn(result.returncode, (-signal.SIGPIPE, 128 + signal.SIGPIPE))

    def test_interrupts_leave_no_file(self):
        with open(self.text, "wb") as file:
            file.write(TEXT * 60)
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            args = map(str, self.args("--k", "gx4,gx3,gx2", "-o", self.path("kv.txt"),
                                      chunks=10000))
            process = subprocess.Popen([*WRAPPER, TOOL, *args], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, env=environment())
            deadline = time.monotonic() + 60
            while not self.others() and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertEqual(self.others(), ["kv.txt.part"])
            time.sleep(0.3)
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, out), (code, b""), err)
            self.assertEqual(self.others(), [])


if __name__ == "__main__":
    tool.main()
