# fit: bytes of quantize's output, shapes of known models, the choice, errors.
# SPDX-License-Identifier: MIT
import itertools
import json
import math
import os

import tool
from quantize_case import made_model
from tool import MODEL, SOURCE, STEP, run, shared, stepped, stepped_sanitized

# Published numbers of parameters (for Gemma 3, of the text model).
PARAMETERS = {
    "llama3.2-1b": 1_235_814_400,
    "llama3.2-3b": 3_212_749_824,
    "llama3.1-8b": 8_030_261_248,
    "llama3.1-70b": 70_553_706_496,
    "llama3.1-405b": 405_853_388_800,
    "llama2-7b": 6_738_415_616,
    "llama2-13b": 13_015_864_320,
    "llama2-70b": 68_976_648_192,
    "tinyllama-1.1b": 1_100_048_384,
    "mistral-7b": 7_248_023_552,
    "mixtral-8x7b": 46_702_792_704,
    "mixtral-8x22b": 140_630_071_296,
    "qwen2.5-0.5b": 494_032_768,
    "qwen2.5-1.5b": 1_543_714_304,
    "qwen2.5-3b": 3_085_938_688,
    "qwen2.5-7b": 7_615_616_512,
    "qwen2.5-14b": 14_770_033_664,
    "qwen2.5-32b": 32_763_876_352,
    "qwen2.5-72b": 72_706_203_648,
    "qwen3-0.6b": 596_049_920,
    "qwen3-1.7b": 1_720_574_976,
    "qwen3-4b": 4_022_468_096,
    "qwen3-8b": 8_190_735_360,
    "qwen3-14b": 14_768_307_200,
    "qwen3-32b": 32_762_123_264,
    "qwen3-30b-a3b": 30_532_122_624,
    "gemma2-2b": 2_614_341_888,
    "gemma2-9b": 9_241_705_984,
    "gemma2-27b": 27_227_128_320,
    "gemma3-1b": 999_885_952,
    "gemma3-4b": 3_880_099_328,
    "gemma3-12b": 11_765_788_416,
    "gemma3-27b": 27_009_002_240,
    "phi3-mini": 3_821_079_552,
    "phi4": 14_659_507_200,
    "qwen3.5-0.8b": 752_393_024,  # text only
    "gpt-oss-20b": 20_914_757_184,
    "gpt-oss-120b": 116_829_156_672,
    "gpt-oss-4l": 4_451_017_664,
    "bert-base": 108_891_648,  # without its pooler
    "bert-tiny": 4_369_408,
    "stories260k": 260_032,
}


def errors_of_types():
    """Returns type -> relative RMSE on Gaussian values, plain and weighted by an imatrix, from the benchmark table."""
    found = {"f16": (0.00021, 0.00021), "bf16": (0.00166, 0.00166)}
    with open(os.path.join(SOURCE, "tests", "bench", "quantize.md"), encoding="utf-8") as file:
        text = file.read()
    for line in text[text.index("## GGUFX_QUANTIZE_REFINED"):].splitlines():
        cells = [c.strip() for c in line.split("|")[1:-1]]
        if len(cells) == 9 and cells[3].startswith("0."):
            found[cells[0].lower()] = (float(cells[1] or cells[3]), float(cells[3]))
    return found


class Fit(tool.Case):
    def candidates(self, *args):
        return {(c["type"], c["ctx"]): c for c in self.json("fit", *args)["candidates"]}


class Bytes(Fit):
    def test_each_recipe_takes_what_quantize_plans(self):
        source = made_model()
        errors, n = errors_of_types(), 0
        for (name, _), got in self.candidates(source, "--ctx", "64").items():
            if name is None:
                self.assertEqual(got["file_bytes"], os.path.getsize(source))
                continue
            plan = self.json("quantize", source, self.path("o"), "--type", name, "--dry-run")
            self.assertEqual(got["weight_bytes"], plan["bytes_out"], name)
            self.assertEqual(got["file_bytes"], plan["file_bytes"], name)
            squares = values = 0
            for t in plan["plan"]:
                size = math.prod(t["ne"])
                values += size
                if t["to"] != t["from"]:
                    squares += size * errors.get(t["to"].lower(), (0, 0))[0] ** 2
            self.assertAlmostEqual(got["weight_error"], math.sqrt(squares / values), places=6)
            needs = any(t["needs_imatrix"] for t in plan["plan"])
            self.assertEqual(got["needs_imatrix"], needs, name)
            n += 1
        self.assertGreater(n, 30)
        self.assertEqual(len(errors), 27)

    def test_a_written_file_has_the_size_that_was_said(self):
        source = made_model()
        out = self.path("o.gguf")
        said = self.candidates(source, "--type", "Q3_K_M", "--ctx", "64")["Q3_K_M", 64]
        self.ok("quantize", source, out, "-q", "--type", "Q3_K_M")
        self.assertEqual(os.path.getsize(out), said["file_bytes"])

    def test_an_imatrix_lets_small_recipes_in(self):
        for more in ((), ("--with-imatrix",)):
            c = self.candidates("--shape", "llama3.2-1b", "--ctx", "64", *more)
            self.assertEqual(c["IQ2_XXS", 64]["needs_imatrix"], not more)
            self.assertFalse(c["Q4_K_M", 64]["needs_imatrix"])
        self.assertLess(c["Q4_K_M", 64]["weight_error"], 0.0651)

    def test_cache_and_reads_of_a_token(self):
        c = self.candidates("--shape", "llama3.1-8b", "--ctx", "8192", "--kv", "f16",
                            "--bandwidth", "50")["F16", 8192]
        embedding = 4096 * 128256 * 2
        self.assertEqual(c["token_kv_bytes"], 32 * 8 * 128 * 2 * 2)
        self.assertEqual(c["token_weight_bytes"], c["weight_bytes"] - embedding + 2 * 4096)
        self.assertAlmostEqual(c["tps"], 50e9 / c["token_weight_bytes"], places=3)
        reads = c["token_weight_bytes"] + 8192 * c["token_kv_bytes"]
        self.assertAlmostEqual(c["tps_full"], 50e9 / reads, places=3)
        # Pages of 64 tokens, and attention's workspace.
        self.assertGreaterEqual(c["kv_bytes"], 8192 * c["token_kv_bytes"])
        self.assertLess(c["kv_bytes"], 1.05 * 8192 * c["token_kv_bytes"])

    def test_a_mixture_reads_the_experts_it_uses(self):
        c = self.candidates("--shape", "mixtral-8x7b", "--type", "F16", "--ctx", "64")["F16", 64]
        experts = 32 * 8 * 3 * 4096 * 14336 * 2
        rest = c["weight_bytes"] - experts - 32000 * 4096 * 2 + 2 * 4096
        self.assertEqual(c["token_weight_bytes"], rest + experts // 4)

    def test_slots_and_batches(self):
        one, two = (self.candidates("--shape", "llama3.2-1b", "--type", "Q4_0", "--ctx", "512",
                                    "--slots", n, "--batch", 32)["Q4_0", 512] for n in (1, 2))
        for name in ("kv_bytes", "session_bytes"):
            self.assertEqual(two[name], 2 * one[name])
        self.assertEqual(two["file_bytes"], one["file_bytes"])


class Shapes(Fit):
    def test_each_shape_has_its_published_parameters(self):
        message = self.fails(2, "fit", "--shape", "llama3.1-9b")
        self.assertIn('did you mean "llama3.1-8b"', message)
        known = message[message.index("known: ") + 7:].strip().split(", ")
        self.assertEqual(sorted(known), sorted(PARAMETERS))
        for name, want in stepped_sanitized(PARAMETERS.items()):
            got = self.json("fit", "--shape", name, "--type", "Q4_K_M", "--ctx", "64", "--kv", "f16")
            self.assertEqual(got["parameters"], want, name)
            self.assertTrue(got["graph"] or name.startswith("bert"), name)

    def test_known_files_have_their_published_sizes(self):
        """Compares the GiB of all tensors with those that llama-bench prints."""
        for shape, recipe, want in (("llama2-7b", "Q4_0", 3.56), ("llama2-7b", "F16", 12.55),
                                    ("llama2-70b", "Q4_0", 36.20), ("llama3.1-8b", "Q8_0", 7.95),
                                    ("llama3.1-8b", "Q4_K_M", 4.58), ("llama3.1-8b", "F16", 14.96)):
            got = self.candidates("--shape", shape, "--type", recipe, "--ctx", "64")[recipe, 64]
            self.assertEqual(round(got["weight_bytes"] / 2**30, 2), want, (shape, recipe))


class Choice(Fit):
    def test_the_choice_fits_and_loses_least(self):
        # In the second case recipes that require an imatrix would lose less than those without.
        for ram, n_bytes in (("6G", 6 << 30), ("3500M", 3500 << 20)):
            got = self.json("fit", "--shape", "llama3.1-8b", "--ram", ram, "--ctx", "8192")
            best = got["recommended"]
            self.assertLessEqual(best["total_bytes"], n_bytes)
            self.assertTrue(best["fits"])
            fitting = [c for c in got["candidates"] if c["fits"] and not c["needs_imatrix"]]
            self.assertEqual(best["loss"], min(c["loss"] for c in fitting))
            self.assertIn(best, fitting)
            self.assertTrue(any(not c["fits"] for c in got["candidates"]))
            self.assertTrue(all(c["total_bytes"] <= n_bytes for c in fitting))
        self.assertLess(min(c["loss"] for c in got["candidates"] if c["fits"]), best["loss"])

    def test_a_margin_stays_free_for_the_system(self):
        args = ("fit", "--shape", "llama3.1-8b", "--ctx", "4096")
        MiB = 1 << 20
        for ram, margin in ((8 << 30, 512 * MiB), (20 << 30, 1 << 30), (1 << 30, 256 * MiB), (400 * MiB, 100 * MiB)):
            got = json.loads(run(*args, "--ram", ram, "--json").stdout)
            self.assertEqual((got["memory_bytes"], got["margin_bytes"]), (ram, margin))
            for c in got["candidates"]:
                self.assertEqual(c["fits"], c["total_bytes"] <= ram - margin)
        for margin, n_bytes in (("0", 0), ("1G", 1 << 30), ("3G", 3 << 30)):
            got = self.json(*args, "--ram", "8G", "--margin", margin)
            self.assertEqual(got["margin_bytes"], n_bytes)
            self.assertLessEqual(got["recommended"]["total_bytes"], (8 << 30) - n_bytes)
        self.assertIn("recommended: ", (text := self.ok(*args, "--ram", "8G").decode()))
        self.assertIn("512 MiB of 8.00 GiB stay free for the system, see --margin", text)
        self.assertIn("512 MiB of 2.00 GiB stay free", self.text_of_failure(*args, "--ram", "2G"))
        self.assertIsNone(self.json(*args)["margin_bytes"])
        self.assertIn("--margin needs --ram", self.fails(2, *args, "--margin", "1G"))
        self.assertIn("leave nothing of --ram 1.00 GiB", self.fails(2, *args, "--ram", "1G", "--margin", "1G"))
        self.assertIn("--margin: \"x\" is not a size", self.fails(2, *args, "--ram", "1G", "--margin", "x"))

    def text_of_failure(self, *args):
        result = run(*args)
        self.assertEqual(result.returncode, 5)
        return result.stderr.decode()

    def test_the_memory_of_this_machine(self):
        pages, page_bytes = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
        self.assertEqual(self.json("fit", MODEL, "--ram", "auto")["memory_bytes"], pages * page_bytes)

    def test_more_memory_never_loses_more(self):
        losses = []
        for ram in ("4G", "5G", "6G", "8G", "12G", "20G")[::min(STEP, 5)]:
            got = self.json("fit", "--shape", "llama3.1-8b", "--ram", ram, "--ctx", "4096")
            losses.append(got["recommended"]["loss"])
        self.assertEqual(losses, sorted(losses, reverse=True))
        self.assertEqual(len(set(losses)), len(losses))

    def test_of_several_contexts_the_largest_that_fits_is_chosen(self):
        got = self.json("fit", "--shape", "llama3.1-8b", "--ram", "5G", "--ctx", "512,4096,1000000")
        self.assertEqual(got["recommended"]["ctx"], 4096)
        self.assertEqual({c["ctx"] for c in got["candidates"]}, {512, 4096, 1000000})

    def test_nothing_that_fits_is_5(self):
        result = run("fit", "--shape", "llama3.1-70b", "--ram", "8G", "--ctx", "4096", "--json")
        got = json.loads(result.stdout)
        self.assertEqual((result.returncode, got["recommended"]), (5, None))
        self.assertIn("the smallest candidate", got["refusal"])
        self.assertFalse(any(c["fits"] for c in got["candidates"]))
        result = run("fit", "--shape", "llama3.1-70b", "--ram", "8G", "--ctx", "4096")
        self.assertEqual(result.returncode, 5)
        self.assertIn(b"Q4_K_M", result.stdout)
        self.assertIn(b"the smallest candidate", result.stderr)

    def test_the_largest_context_fits(self):
        args = ("--shape", "llama3.1-8b", "--type", "Q4_K_M", "--kv", "q8_0", "--ram", "8G")
        most = self.json("fit", *args, "--ctx", "8192")["recommended"]["max_ctx"]
        self.assertGreater(most, 8192)
        self.assertTrue(self.json("fit", *args, "--ctx", most)["recommended"]["fits"])
        self.assertEqual(run("fit", *args, "--ctx", most + 1).returncode, 5)

    def test_a_quantized_file_stays_as_it_is(self):
        got = self.json("fit", MODEL, "--ram", "1G")
        self.assertEqual([c["type"] for c in got["candidates"]], [None])
        self.assertIsNone(got["recommended"]["type"])
        self.assertEqual(got["recommended"]["file_bytes"], os.path.getsize(MODEL))
        more = self.json("fit", MODEL, "--ram", "1G", "--allow-requantize")["candidates"]
        self.assertGreater(len(more), 20)

    def test_the_table(self):
        text = self.ok("fit", "--shape", "qwen3-4b", "--ram", "6G", "--ctx", "4096", "--bandwidth",
                       "40").decode()
        self.assertIn("\ttok/s\t", text)
        self.assertNotIn("is not supported yet", text)
        self.assertIn("recommended: ", text)
        self.assertIn("needs an imatrix", text)
        with open(tool.tiny("cohere2"), "rb") as known:
            other = self.path("other.gguf", known.read().replace(b"cohere2", b"cohere9"))  # an unknown architecture
        self.assertIn("is not supported yet", self.ok("fit", other).decode())
        text = self.ok("fit", MODEL).decode()
        self.assertNotIn("fits", text)
        self.assertIn("as it is", text)


    def test_contexts_are_8192_or_those_of_the_model(self):
        for args, n in ((["--shape", "llama3.1-8b"], 8192), (["--shape", "llama2-7b"], 4096), ([MODEL], 512)):
            self.assertEqual({c["ctx"] for c in self.json("fit", *args)["candidates"]}, {n}, args)

    def test_caches_are_of_types_that_others_read_unless_asked_for(self):
        common = {"f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"}
        seen = set()
        for ram in ("3G", "3500M", "4G", "5G", "6G", "8G", "20G")[::min(STEP, 3)]:
            args = ("fit", "--shape", "llama3.1-8b", "--ram", ram, "--ctx", "16384", "--json")
            got = json.loads(run(*args).stdout)
            for c in [*got["candidates"], got["recommended"] or {"k": "f16", "v": "f16"}]:
                self.assertLessEqual({c["k"], c["v"]}, common)
                seen |= {c["k"], c["v"]}
            every = json.loads(run(*args, "--kv", "all").stdout)
            if got["recommended"]:
                self.assertLessEqual(every["recommended"]["loss"], got["recommended"]["loss"])
                fitting = [c["loss"] for c in got["candidates"] if c["fits"] and not c["needs_imatrix"]]
                self.assertEqual(got["recommended"]["loss"], min(fitting))
            seen |= {every["recommended"]["k"]} if every["recommended"] else set()
        self.assertTrue(seen & {"q8_0", "q5_1", "iq4_nl"} and seen - common, seen)  # some of both kinds
        got = self.json("fit", "--shape", "llama3.1-8b", "--ram", "8G", "--kv", "gx4/gx3")["recommended"]
        self.assertEqual((got["k"], got["v"]), ("gx4", "gx3"))


class Nodes(Fit):
    """Several machines: bytes and messages of the library's ranks, times from the analytical model."""
    SHAPE = ("--shape", "llama3.1-8b", "--ctx", 4096, "--kv", "f16")
    LINKS = {"1g": (60e-6, 0.117e9), "10g": (25e-6, 1.15e9), "25g": (20e-6, 2.8e9), "100g": (18e-6, 9e9),
             "rdma": (2.5e-6, 11.5e9), "ndr": (2e-6, 45e9)}

    def one(self, *args, recipe="Q4_K_M"):
        return self.candidates(*self.SHAPE, "--type", recipe, *args)[recipe, 4096]

    def test_what_a_node_is_sent(self):
        embd, ff, layers, vocabulary, header = 4096, 14336, 32, 128256, 16
        for recipe, packed in (("Q4_K_M", 1.125), ("F16", 4)):
            sent = layers * (packed * (embd + ff) + 2 * 4 * embd) + 4 * vocabulary
            for n in (2, 4, 8):
                got = self.one("--nodes", n, "--link", "10g", recipe=recipe)
                self.assertEqual(got["messages"], 1 + 4 * layers + 1)
                self.assertEqual(got["received_bytes"], sent * (n - 1) // n + header * got["messages"] * (n - 1))

    def test_memory_is_dealt(self):
        whole = self.one()
        for n in (2, 4, 8):
            got = self.one("--nodes", n, "--link", "ndr", "--bandwidth", 40)
            self.assertAlmostEqual(got["kv_bytes"] * n / whole["kv_bytes"], 1, delta=0.05)
            # Without the embedding, of which each rank reads the rows of its context.
            dealt = whole["token_weight_bytes"] / n
            self.assertLess(got["node_weight_bytes"], 1.01 * dealt + 4096 * 4096)
            self.assertGreater(got["node_weight_bytes"], dealt)
            self.assertAlmostEqual(got["token_weight_bytes"] / dealt, 1, places=2)
            self.assertEqual(got["token_kv_bytes"] * n, whole["token_kv_bytes"])

    def test_times_are_those_of_the_paper_model(self):
        for (name, (delay, rate)), n in stepped_sanitized(itertools.product(self.LINKS.items(), (2, 3, 8, 32))):
            got = self.one("--nodes", n, "--link", name, "--bandwidth", 200)
            seconds = got["messages"] * math.ceil(math.log2(n)) * delay + got["received_bytes"] / rate
            self.assertAlmostEqual(got["link_seconds"] / seconds, 1, places=9)
            read = got["token_weight_bytes"] / 200e9
            self.assertAlmostEqual(got["tps"] * (read + seconds), 1, places=6)
            full = read + 4096 * got["token_kv_bytes"] / 200e9
            self.assertAlmostEqual(got["tps_full"] * (full + seconds), 1, places=6)

    def test_nodes_with_whole_layers(self):
        embd, vocabulary, header = 4096, 128256, 16
        whole = self.one("--bandwidth", 200)
        for (name, (delay, rate)), n in stepped_sanitized(itertools.product(self.LINKS.items(), (2, 3, 8))):
            got = self.one("--nodes", n, "--link", name, "--bandwidth", 200, "--pipeline")
            self.assertEqual(got["messages"], 1 + n - 1 + 1)  # a hop after each rank except the last
            self.assertEqual(got["received_bytes"], 4 * ((n - 1) * embd + vocabulary) + got["messages"] * n * header)
            seconds = got["messages"] * math.ceil(math.log2(n)) * delay + got["received_bytes"] / rate
            self.assertAlmostEqual(got["link_seconds"] / seconds, 1, places=9)
            self.assertAlmostEqual(got["tps"] * (1 / whole["tps"] + seconds), 1, places=6)
            self.assertAlmostEqual(got["tps_full"] * (1 / whole["tps_full"] + seconds), 1, places=6)
            # The longest of n runs of 32 layers and an output matrix; norms are no weights of products.
            self.assertGreaterEqual(got["token_weight_bytes"] * n, 0.998 * whole["token_weight_bytes"])
            self.assertLess(got["token_weight_bytes"], whole["token_weight_bytes"] / n * 1.12)
            self.assertLessEqual(got["kv_bytes"], whole["kv_bytes"] / n * 1.3)
        text = self.ok("fit", *self.SHAPE, "--nodes", 2, "--link", "1g", "--pipeline").decode()
        self.assertIn("2 nodes with whole layers", text)

    def test_more_nodes_fit_what_one_does_not(self):
        args = ("fit", "--shape", "llama3.1-70b", "--ctx", 4096, "--type", "Q4_K_M", "--ram", "16G")
        self.assertEqual(run(*args).returncode, 5)
        got = self.json(*args, "--nodes", 4, "--link", "10g", "--bandwidth", 40)
        self.assertEqual((got["nodes"], got["link"]), (4, "10g"))
        best = got["recommended"]
        self.assertLessEqual(best["total_bytes"], 16 << 30)
        self.assertGreater(best["tps"], 2)
        text = self.ok(*args, "--nodes", 4, "--link", "10g", "--bandwidth", 40).decode()
        self.assertIn("4 nodes", text)
        self.assertIn("link ms", text)
        self.assertEqual(self.json("fit", MODEL)["link"], None)

    def test_mistakes_are_said(self):
        both = "need each other"
        for args, text in ((("--nodes", 4), both), (("--link", "10g"), both), (("--nodes", 1, "--link", "1g"), both),
                           (("--pipeline",), "--pipeline needs"),
                           (("--nodes", 4, "--link", "10G"), "\"10G\" is not one of 1g, 10g, 25g, 100g, rdma, ndr, did you mean \"10g\"?")):
            self.assertIn(text, self.fails(2, "fit", *self.SHAPE, *args))
        for n in (0, -1, 257, 2**32 + 2, "two", "nan"):
            self.fails(2, "fit", *self.SHAPE, f"--nodes={n}", "--link", "1g")
        with open(tool.tiny("cohere2"), "rb") as known:
            other = self.path("other.gguf", known.read().replace(b"cohere2", b"cohere9"))
        self.assertIn("no ranks", self.fails(4, "fit", other, "--nodes", 2, "--link", "1g"))


class Sizes(Fit):
    def test_units_are_those_of_the_coreutils(self):
        for text, size in stepped((("1000", 1000), ("7B", 7), ("3k", 3 << 10), ("64K", 64 << 10), ("8G", 8 << 30),
                           ("8GiB", 8 << 30), ("8 gib", 8 << 30), ("8GB", 8 * 10**9), ("2mb", 2 * 10**6),
                           ("2T", 2 << 40), ("2TB", 2 * 10**12), ("1.5G", 3 << 29), ("0.3K", 307), (".5GB", 5 * 10**8),
                           ("16777215T", 16777215 << 40), ("18446744073709551615", 2**64 - 1))):
            got = run("fit", "--shape", "tinyllama-1.1b", "--ctx", "64", "--ram", text, "--json")
            self.assertIn(got.returncode, (0, 5), text)  # 5: does not fit
            self.assertEqual(json.loads(got.stdout)["memory_bytes"], size, text)


class Errors(Fit):
    def test_mistakes_are_said(self):
        self.assertIn("one of them", self.fails(2, "fit"))
        self.assertIn("one of them", self.fails(2, "fit", MODEL, "--shape", "qwen3-4b"))
        for ram in ("8X", "-1", "0", "0.0001K", "99999999999G", "16777216T", "1.5", "1.5B", "8.G", "8,5G", ".G", ".",
                    "1.2.3G", "1e9", "G", "8KK", "8iB", "8  G", "8G ", " 8G", "inf", "0x10"):
            text = self.fails(2, "fit", MODEL, "--ram=" + ram)
            self.assertIn("--ram: \"%s\" is not a size (1000, 64K" % ram, text)
        self.assertIn("q8_0", self.fails(2, "fit", MODEL, "--kv", "q8_1"))
        self.fails(2, "fit", MODEL, "--type", "Q4_K_X")
        self.assertIn("quantized already", self.fails(2, "fit", MODEL, "--type", "Q4_0"))
        self.fails(2, "fit", MODEL, "--ctx", "0")
        self.fails(2, "fit", MODEL, "--bandwidth", "-3")
        self.fails(1, "fit", self.path("absent"))
        self.fails(3, "fit", self.path("x", b"GGUF"))
        self.assertIn("block_count", self.fails(3, "fit", self.path("y", tool.gguf([tool.ARCHITECTURE]))))


tool.main()
