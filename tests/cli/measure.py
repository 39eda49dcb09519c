# bench and selftest: the documented names, equal bits, bounded time.
# SPDX-License-Identifier: MIT
import csv
import io
import json
import os
import resource
import sqlite3

import tool
from tool import environment, run


class Bench(tool.Case):
    def test_matvec_prints_one_line_per_instruction_set(self):
        start = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        lines = self.lines("bench", "matvec", "--type", "q4_K", "--isa", "all", "-t", "1", "-r", "2")
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - start, 60)  # 30 s on an idle machine
        self.assertIn("scalar", [line["isa"] for line in lines])
        self.assertEqual(len({line["isa"] for line in lines}), len(lines))
        for line in lines:
            self.assertEqual((line["type"], line["n"], line["threads"], line["mode"]),
                             ("q4_K", 1, 1, "canonical"))
            self.assertIs(line["bits_equal"], True)
            self.assertAlmostEqual(line["ratio"], line["gbps"] / line["read_gbps"])
            weights_per_byte = 256 / 144
            self.assertAlmostEqual(line["gops"], 2 * weights_per_byte * line["gbps"], places=6)
            self.assertGreater(line["peak_gops"], 0)

    def test_matvec_refuses_what_it_cannot_multiply(self):
        self.fails(4, "bench", "matvec", "--type", "i32")
        self.fails(2, "bench", "matvec", "--type", "q4_z")
        self.fails(3, "bench", "matvec", "--type", "q4_K", "-k", "100")

    def test_all_prints_every_type_and_count(self):
        lines = self.lines("bench", "all", "--type", "q4_0,f16", "--n", "1,8", "-m", "64", "-k", "512", "-r", "1",
                           "--cache", "l2", "-t", "1", "--isa", "scalar")
        self.assertEqual(sorted((line["type"], line["n"], line["isa"]) for line in lines),
                         sorted((t, n, "scalar") for t in ("q4_0", "f16") for n in (1, 8)))
        self.assertEqual({(line["bench"], line["bits_equal"]) for line in lines}, {("all", True)})

    def test_quantize_prints_one_line_per_type_and_set(self):
        types = ("q8_0", "q4_K", "iq2_xs")
        lines = self.lines("bench", "quantize", "--type", ",".join(types), "--isa", "all", "-t",
                           "1,2", "-r", "1", "-m", "4", "-k", "768")
        self.assertEqual(sorted({line["type"] for line in lines}), sorted(types))
        self.assertGreater(len({(line["type"], line["isa"]) for line in lines}), len(types) - 1)
        for line in lines:
            self.assertEqual(line["bench"], "quantize")
            self.assertIn(line["threads"], (1, 2))  # at most as many as processors
            self.assertIs(line["imatrix"], line["type"] == "iq2_xs")  # the type that requires one
            self.assertIs(line["bytes_equal"], True)
            self.assertGreater(line["mbps"], 0)
        self.fails(4, "bench", "quantize", "--type", "i32")
        self.fails(3, "bench", "quantize", "--type", "q4_K", "-k", "100")

    def test_kv_prints_one_line_per_type_and_length(self):
        lines = self.lines("bench", "kv", "--types", "f16,q8_0,gx4/gx3", "--kv", "100,300",
                           "--cache", "cpu", "-r", "1", "-t", "1")
        self.assertEqual([(line["k"], line["v"], line["kv"]) for line in lines],
                         [(k, v, n) for n in (100, 300)  # types alternate
                          for k, v in (("f16", "f16"), ("q8_0", "q8_0"), ("gx4", "gx3"))])
        for line in lines:
            self.assertEqual((line["bench"], line["threads"], line["layers"]), ("kv", 1, 1))
            self.assertIs(line["bits_equal"], True)
            self.assertGreater(line["ms"], 0)
            self.assertAlmostEqual(line["ratio"], line["gbps"] / line["read_gbps"])
            if line["k"] == "f16":  # 8 heads of 128 values, twice, of 2 bytes
                self.assertAlmostEqual(line["gbps"] * line["ms"] * 1e6 / (4096 * line["kv"]), 1)
        self.fails(2, "bench", "kv", "--types", "q9")

    def test_model_prints_prompt_and_generation(self):
        args = ("bench", "model", tool.MODEL, "--prompt-tokens", "33", "-r", "1", "-t", "2")
        lines = self.lines(*args, "-n", "5", "--ctk", "GX4", "--ctv", "q8_0")
        self.assertEqual([(line["test"], line["n"]) for line in lines], [("pp33", 33), ("tg5", 5)])
        for line in lines:
            self.assertEqual((line["bench"], line["model"], line["threads"], line["ctk"],
                              line["ctv"]), ("model", tool.MODEL, 2, "gx4", "q8_0"))
            self.assertGreater(line["tps"], 0.1)
            self.assertLess(line["tps"], 1e6)
        rows = self.ok(*args, "-n", "0").decode().splitlines()
        self.assertEqual([row.split("\t")[:8] for row in rows],
                         [["test", "sequences", "depth", "batch", "threads", "k", "v", "products"],
                          ["pp33", "1", "0", "512", "2", "f16", "f16", "default"]])
        self.fails(2, "bench", "model", tool.MODEL, "--prompt-tokens", "0", "-n", "0")
        self.assertIn('mean "gx', self.fails(2, *args, "--ctv", "gx9"))
        self.fails(1, "bench", "model", self.path("absent.gguf"))
        self.fails(2, "bench", "model")

    def test_model_takes_lists(self):
        args = ("bench", "model", tool.MODEL, "--prompt-tokens", "0", "-n", "3", "-r", "2")
        lines = self.lines(*args, "--prompt-predict", "7+2", "-d", "70,0", "--sequences", "1,5",
                           "--ctk", "q8_0,f16", "-t", "1,2", "--products", "row-wise,tiled",
                           "--batch", "16")
        self.assertEqual(
            [(line["threads"], line["ctk"], line["sequences"], line["products"], line["depth"],
              line["test"]) for line in lines],
            [(threads, k, sequences, products, depth, test) for threads in (1, 2)
             for k in ("q8_0", "f16") for sequences in (1, 5) for products in ("row-wise", "tiled")
             for depth in (0, 70) for test in ("tg3", "pp7+tg2")])
        for line in lines:
            self.assertEqual((line["n_batch"], line["rounds"], line["n"], line["architecture"]),
                             (16, 2, line["n_prompt"] + line["n_predict"], "llama"))
            self.assertGreater(line["tps"], 0)
            self.assertGreaterEqual(line["tps_deviation"], 0)
        for bad, word in ((("--prompt-predict", "7"), "P+N"), (("--prompt-predict", "7+x"), "7+x"),
                          (("--prompt-predict", "0+1"), "P+N"), (("--products", "odd"), "odd"),
                          (("--sequences", "0"), "--sequences"), (("-d", "-1"), "--depth")):
            self.assertIn(word, self.fails(2, *args, *bad))

    def test_a_draft_model_proposes_tokens(self):
        text = self.path("text", b"Once upon a time there was a dog. The dog was good. " * 40)
        args = ("bench", "model", tool.MODEL, "--prompt-tokens", "0", "-r", "1", "--products", "row-wise")
        guesses = ("--speculate", "none,lookup,draft", "--draft", tool.MODEL)
        for more, name in ((("--text", "repeat"), "repeat"), (("--text-file", text), "file"),
                           ((), "random")):
            lines = self.lines(*args, *guesses, *more, "-n", "100", "--prompt-predict", "9+90", "-d", "0,70")
            self.assertEqual([(line["speculate"], line["depth"], line["test"]) for line in lines],
                             [(guess, depth, test) for guess in ("none", "lookup", "draft")
                              for depth in (0, 70) for test in ("tg100", "pp9+tg90")])
            for line in lines:
                self.assertEqual(line["text"], name)
                self.assertGreater(line["tps"], 0)
                if line["speculate"] == "none":
                    self.assertIsNone(line["accepted"])
                elif line["speculate"] == "lookup" and name != "random":
                    self.assertTrue(0.1 < line["accepted"] <= 1, line)
        rows = self.ok(*args, "-n", "60", "--speculate", "lookup", "--text-file", text).decode().splitlines()
        self.assertIn(" %\t", rows[1])
        for bad, word in ((("--sequences", "2"), "--sequences 1"), (("--products", "f32"), "row-wise or tiled"),
                          (("--speculate", "odd"), "odd"), (("--text", "odd"), "odd"),
                          (("--text", "repeat", "--text-file", text), "--text"),
                          (("--text-file", self.path("short", b"a dog")), "the tests need 65")):
            self.assertIn(word, self.fails(2, *args, "--speculate", "lookup", *bad))
        self.assertIn("--draft", self.fails(2, *args, "--speculate", "draft"))
        self.fails(1, *args, "--text-file", self.path("absent"))

    def test_model_rows_are_tables_of_other_programs(self):
        args = ("bench", "model", tool.MODEL, "--prompt-tokens", "4,5", "-n", "0", "-r", "1")
        rows = list(csv.DictReader(io.StringIO(self.ok(*args, "--format", "csv").decode())))
        self.assertEqual([(row["test"], row["model"], row["n_prompt"]) for row in rows],
                         [("pp4", tool.MODEL, "4"), ("pp5", tool.MODEL, "5")])
        with sqlite3.connect(":memory:") as base:
            base.executescript(self.ok(*args, "--format", "sql").decode())
            found = base.execute("SELECT test, model, n_prompt, tps > 0 FROM bench_model")
            self.assertEqual(found.fetchall(),
                             [("pp4", tool.MODEL, 4, 1), ("pp5", tool.MODEL, 5, 1)])
        array = json.loads(self.ok(*args, "--format", "json"))
        lines = [json.loads(line) for line in self.ok(*args, "--format", "jsonl").splitlines()]
        for rows in (array, lines):
            self.assertEqual([(row["test"], row["model"], row["n_prompt"]) for row in rows],
                             [("pp4", tool.MODEL, 4), ("pp5", tool.MODEL, 5)])
        rows = self.ok(*args, "--format", "md").decode().splitlines()
        self.assertTrue(len(rows) == 4 and all(row.startswith("|") for row in rows), rows)

    def test_a_model_that_predicts_no_token_makes_vectors(self):
        model = self.path("bert.gguf")
        self.ok("bench", "make-model", "--shape", "bert-tiny", "--type", "Q8_0", "-q", model)
        args = ("bench", "model", model, "-r", "1", "-t", "1")
        lines = self.lines(*args, "--prompt-tokens", "9,300", "--sequences", "1,3", "--batch", "16")
        self.assertEqual([(line["test"], line["sequences"], line["ctk"], line["accepted"]) for line in lines],
                         [(test, n, None, None) for n in (1, 3) for test in ("pp9", "pp300")])
        self.assertTrue(all(line["tps"] > 0 for line in lines), lines)
        self.assertNotIn(b"null", self.ok(*args, "--prompt-tokens", "4"))
        for bad, word in ((("--prompt-tokens", "0"), "does not generate text"), (("-d", "4"), "remove -d"),
                          (("--speculate", "lookup", "--products", "row-wise"), "--speculate")):
            self.assertIn(word, self.fails(2, *args, *bad))
        self.assertIn("512 positions", self.fails(2, *args, "--prompt-tokens", "513"))

    def test_matmul_takes_lists(self):
        lines = self.lines("bench", "matmul", "--type", "q8_0,f16", "--isa", "scalar", "--n", "4,9",
                           "-t", "1,2", "-m", "64", "-k", "256", "-r", "1")
        self.assertEqual([(line["type"], line["threads"], line["n"]) for line in lines],
                         [(t, threads, n) for t in ("q8_0", "f16") for threads in (1, 2)
                          for n in (4, 9)])
        for line in lines:
            self.assertEqual((line["bench"], line["m"], line["k"]), ("matmul", 64, 256))
            self.assertIs(line["bits_equal"], True)
            self.assertAlmostEqual(line["peak_ratio"], line["gops"] / line["peak_gops"])

    def test_matmul_by_rows(self):
        for flags, mode in ((), "row-wise"), (("--precise",), "precise-row-wise"), (("--f32",), "f32-row-wise"):
            lines = self.lines("bench", "matmul", "--type", "q8_0,bf16", "--row-wise", *flags, "--n", "5",
                               "-t", "1", "-m", "64", "-k", "288", "-r", "1", "--isa", "best")
            self.assertEqual({line["type"]: line["mode"] for line in lines},
                             {"q8_0": mode, "bf16": "f32-row-wise"})
            for line in lines:
                self.assertIs(line["bits_equal"], True)

    def test_weights_in_cache_and_processor_time(self):
        line, = self.lines("bench", "matvec", "-t", "1", "-r", "1", "--cache", "l2", "--clock",
                           "cpu", "--isa", "scalar")
        self.assertEqual((line["cache"], line["clock"]), ("l2", "cpu"))
        self.assertLess(line["m"] * 4096 * 144 / 256, (1 << 20) + 1)

    def test_markdown_is_a_table(self):
        text = self.ok("bench", "matvec", "-t", "1", "-r", "1", "--isa", "scalar", "-m", "64",
                         "--markdown")
        titles, rule, row = text.decode().splitlines()
        self.assertTrue(titles.startswith("| type | isa | mode | n |"))
        self.assertEqual(rule.count("|"), titles.count("|"))
        self.assertEqual(row.count("|"), titles.count("|"))

    def test_dequant_has_the_scalar_bits(self):
        lines = self.lines("bench", "dequant", "--type", "q4_K", "--isa", "all", "-t", "1", "-r",
                           "1")
        self.assertIn("scalar", [line["isa"] for line in lines])
        for line in lines:
            self.assertIs(line["bits_equal"], True)
            self.assertGreater(line["gbps"], 0)

    def test_only_kernels_take_lists(self):
        self.fails(2, "bench", "read", "-t", "1,2")
        self.fails(2, "bench", "matvec", "--isa", "scalar,avx9")
        self.fails(2, "bench", "matvec", "--clock", "sun")

    def test_read_measures_pages_threads_and_four_ways(self):
        lines = self.lines("bench", "read", "-t", "2", "-r", "1")
        self.assertEqual([(line["pages"], line["threads"], line["streams"], line["prefetch"]) for line in lines],
                         [(pages, threads, streams, prefetch) for pages in ("small", "huge") for threads in (1, 2)
                          for streams in (1, 4) for prefetch in (False, True)])
        for threads in (1, 2):
            self.assertEqual(max(line["ratio"] for line in lines if line["threads"] == threads), 1)
        for line in lines:  # far from the speed of any machine's thread
            self.assertGreater(line["gbps"], 1e-3)
            self.assertLess(line["gbps"], 3e3)

    def test_open_of_a_large_vocabulary_stays_small(self):
        result = self.json("bench", "open", "-r", "3")
        self.assertEqual(result["tokens"], 262144)
        self.assertGreater(result["file_bytes"], 5 << 20)
        self.assertLess(result["heap_peak_bytes"], 8 << 10)  # "a few KiB"

    def test_grammar_measures_each_mask_of_a_text(self):
        schema = '{"type":"array","items":{"type":"string","maxLength":30}}'
        path = self.path("text.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write('["Once upon a time", "there was"]\n')
        made = self.json("bench", "grammar", tool.MODEL, "--json-schema", schema, "-r", "2")
        self.assertEqual((made["tokens"], made["ids"]), (1024, 0))
        self.assertGreater(made["create_ms"], 0)
        self.assertNotIn("mask_us", made)
        followed = self.json("bench", "grammar", tool.MODEL, "--json-schema", schema, "-f", path, "-r", "2")
        self.assertGreater(followed["ids"], 5)
        for name in ("mask_us", "mask_again_us", "accept_us"):
            times = followed[name]
            self.assertTrue(0 < times["median"] <= times["p99"] <= times["max"], (name, times))
        said = self.ok("bench", "grammar", tool.MODEL, "--grammar", 'root ::= [^x]*', "-f", path, "-r", "1").decode()
        self.assertRegex(said, r"1024 tokens, once [\d.]+ ms; .*\n\d+ ids, each mask median .*\n  again .*\n  accept.*\n$")
        self.assertIn("does not fit", self.fails(3, "bench", "grammar", tool.MODEL, "--grammar", 'root ::= [^O]*',
                                                 "-f", path))
        self.fails(2, "bench", "grammar", tool.MODEL, "-f", path)

    def test_sampler_times_each_sampler(self):
        lines = self.lines("bench", "sampler", "--n", "2000", "--last", "8", "-r", "3")
        names = {line["samplers"] for line in lines}
        self.assertEqual(len(names), len(lines))
        self.assertLessEqual({"none", "top_k 64", "xtc 1 0.01", "dynamic temperature", "penalties", "dry", "mirostat 2"}, names)
        for line in lines:
            self.assertEqual((line["bench"], line["n_vocab"], line["n_last"]), ("sampler", 2000, 8))
            self.assertGreater(line["us"], 0)

    def test_tokenize_opens_and_cuts(self):
        path = self.path("text.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("Once upon a time there was a little dog. " * 100)
        opened = self.json("bench", "tokenize", tool.MODEL, "-r", "2")
        self.assertEqual((opened["vocabulary"], opened["pre"], opened["tokens"], opened["merges"]),
                         ("llama", None, 1024, 0))
        self.assertGreater(opened["heap_bytes"], 1024 * 24)  # its tokens alone
        self.assertGreaterEqual(opened["heap_peak_bytes"], opened["heap_bytes"])
        self.assertNotIn("mb_per_s", opened)
        cut = self.json("bench", "tokenize", tool.MODEL, "-f", path, "-r", "2")
        n_ids = int(self.ok("tokenize", tool.MODEL, "-f", path, "--bare", "--count"))
        self.assertEqual((cut["text_bytes"], cut["ids"]), (4100, n_ids))
        self.assertGreater(cut["mb_per_s"], 0)
        said = self.ok("bench", "tokenize", tool.MODEL, "-f", path, "-r", "1").decode()
        self.assertRegex(said, r"1024 tokens, 0 merges: open [\d.]+ ms, .* of heap .*\n.* MB/s\n$")
        self.fails(2, "bench", "tokenize")
        self.fails(1, "bench", "tokenize", tool.MODEL, "-f", self.path("absent.txt"))


class WrongKernels(tool.Case):
    """Every instruction set except scalar gives one wrong bit (flip_bit.c)."""

    def setUp(self):
        super().setUp()
        library = os.environ.get("GGUFX_FLIP_BIT")
        if not library:
            self.skipTest("needs LD_PRELOAD, a native tool and no sanitizer")
        if self.json("cpu")["isa"] == "scalar":
            self.skipTest("this machine has the scalar set only")
        self.env = environment(LD_PRELOAD=library)

    def wrong(self, *args):
        result = run(*args, "--json", "-t", "1", env=self.env)
        self.assertEqual((result.returncode, result.stderr), (6, b""))
        return [json.loads(line) for line in result.stdout.splitlines()]

    def test_selftest_fails_and_names_the_first_difference(self):
        value, = self.wrong("selftest", "--type", "q4_k")
        self.assertIs(value["ok"], False)
        self.assertEqual(value["differences"], value["checks"])
        for row in value["results"]:
            self.assertEqual((row["type"], row["bits_equal"]), ("q4_K", False))
            self.assertEqual(row["differences"], row["checks"])
        text = run("selftest", "--type", "q4_k", env=self.env).stdout
        self.assertIn(b"FAILED", text)
        self.assertIn(b"dequantize", text)

    def test_benchmarks_say_that_bits_differ(self):
        for verb in ("matvec", "matmul", "dequant"):
            size = ("-m", "64", "-k", "256") if verb != "dequant" else ()
            for line in self.wrong("bench", verb, "--type", "q8_0", "-r", "1", "--isa", "best", *size):
                self.assertIs(line["bits_equal"], False)


class Selftest(tool.Case):
    def test_every_kernel_gives_the_scalar_bits(self):
        result = self.json("selftest", "--seed", "2")
        self.assertIs(result["ok"], True)
        self.assertEqual(result["differences"], 0)
        self.assertEqual({row["type"] for row in result["results"]},
                         {t["name"] for t in self.json("types")["types"] if t["matvec"]})
        self.assertTrue(all(row["checks"] > 50 for row in result["results"]))

    def test_absent_instruction_set_is_not_supported(self):
        present = self.json("cpu")["features"]
        for isa in ("neon", "avx512"):
            if isa not in present:
                self.assertEqual(run("selftest", "--isa", isa).returncode, 4)


if __name__ == "__main__":
    tool.main()
