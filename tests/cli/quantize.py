# quantize: bytes by the definition, and the reference's if they are stored; plans, errors, split files.
# SPDX-License-Identifier: MIT
import math
import os
import random
import struct

import tool
from quantize_case import LAYER, N_LAYERS, STORIES, Quantize, digest, kv, made_imatrix, model_tensors, read
from tool import ARCHITECTURE as ARCH
from tool import MODEL, STEP, gguf, read_json, run, shared, stepped, string


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def q8_0(x):
    """Quantizes with a scale of the largest magnitude / 127, codes to the nearest, ties away from 0."""
    d = f32(max(map(abs, x)) / 127)
    inverse = f32(1 / d)
    codes = [f32(v * inverse) for v in x]
    return struct.pack("<e32b", d, *(int(abs(c) + 0.5) * (1 if c > 0 else -1) for c in codes))


def q4_0(x):
    """Quantizes to Q4_0: the value of largest magnitude gets the code 0, which means -8; values i and i + 16 share a
    byte."""
    d = f32(max(x, key=abs) / -8)
    inverse = f32(1 / d)
    codes = [min(15, int(f32(f32(v * inverse) + 8.5))) for v in x]
    return struct.pack("<e", d) + bytes(codes[i] | codes[i + 16] << 4 for i in range(16))


class Bytes(Quantize):
    def test_each_recipe_gives_the_reference_bytes(self):
        folder = os.path.dirname(self.stories())
        n = 0
        for name, entry in read_json(shared(*STORIES, "quantized-from-f16.json"))["files"].items():
            words = ["--tensor-type" if a == "--rule" else a for a in entry["recipe"]]  # the list has the older name
            recipe = [os.path.join(folder, a) if a.endswith(".gguf") else a for a in words]
            out = self.path("out.gguf")
            self.ok("quantize", self.stories(), out, "-q", "--force", *recipe)
            got = self.tensors(out)
            self.assertEqual(set(got), set(entry["tensors"]), name)
            for tensor, want in entry["tensors"].items():
                want = (want["type"].lower(), want["nbytes"], want["sha256"])
                self.assertEqual((got[tensor][0].lower(), *got[tensor][1:]), want, (name, tensor))
                n += 1
        self.assertGreater(n, 1000)

    def test_whole_files_are_those_of_the_reference(self):
        for name in ("Q8_0", "Q2_K", "IQ4_XS", "TQ2_0"):
            want = shared(*STORIES, "quant", f"stories260K-w256-{name}.gguf")
            out = self.path(name)
            self.ok("quantize", self.stories(), out, "-q", "--type", name)
            size = self.json("info", out)["data_offset"]
            self.assertEqual(self.json("info", want)["data_offset"], size)
            self.assertEqual(read(out)[:size], read(want)[:size], name)  # keys, directory, padding

    def test_blocks_are_those_of_the_definition(self):
        name = "blk.3.attn_k.weight"
        x = self.ok("dequant", self.source(), name, "--raw")
        x = struct.unpack("<%df" % (len(x) // 4), x)
        for recipe, encode in (("Q8_0", q8_0), ("Q4_0", q4_0)):
            out = self.path(recipe)
            self.ok("quantize", self.source(), out, "-q", "--type", recipe)
            got = next(content for t, content in self.tensor_bytes(out) if t["name"] == name)
            self.assertEqual(got, b"".join(encode(x[i:i + 32]) for i in range(0, len(x), 32)))

    def test_imatrix_keys_say_where_the_weights_came_from(self):
        imatrix = made_imatrix()
        out = self.path("o.gguf")
        self.ok("quantize", self.source(), out, "-q", "--type", "Q4_K_M", "--imatrix", imatrix)
        keys = {e["key"]: (e["type"], e["value"]) for e in self.json("info", out)["kv"]}
        want = self.json("imatrix", "show", imatrix)
        self.assertEqual(keys["quantize.imatrix.file"], ("str", imatrix[:127]))
        self.assertEqual(keys["quantize.imatrix.dataset"], ("str", want["datasets"][0]))
        self.assertEqual(keys["quantize.imatrix.entries_count"], ("u32", 35))
        self.assertEqual(keys["quantize.imatrix.chunks_count"], ("u32", 57))
        self.assertEqual(list(keys)[-6:-4], ["general.quantization_version", "general.file_type"])
        plain, some = self.path("p.gguf"), self.path("s.gguf")
        self.ok("quantize", self.source(), plain, "-q", "--type", "Q4_K_M")
        self.ok("quantize", self.source(), some, "-q", "--type", "Q4_K_M", "--imatrix", imatrix,
                "--include", "blk.3.", "--include", "blk.4.")
        full, none, part = self.tensors(out), self.tensors(plain), self.tensors(some)
        for name in full:
            weighed = name.startswith(("blk.3.", "blk.4."))
            self.assertEqual(part[name], (full if weighed else none)[name], name)

    def test_best_blocks_have_less_error_at_the_same_size(self):
        errors = []
        for more in ((), ("--best",)):
            value = self.json("quantize", self.source(), self.path("o.gguf"), "--force", "--type", "Q4_0", "--measure",
                              *more)
            errors.append({t["tensor"]: t["rmse"] for t in value["plan"] if t["to"] == "q4_0"})
        self.assertTrue(all(errors[1][name] <= rmse for name, rmse in errors[0].items()))
        self.assertLess(sum(errors[1].values()), 0.99 * sum(errors[0].values()))

    def test_measure_tells_errors_without_a_terminal(self):
        args = ("quantize", MODEL, self.path("o.gguf"), "Q4_0", "--allow-requantize", "--measure", "--force")
        head, *rows, total = self.ok(*args).decode().splitlines()
        self.assertEqual(head, "tensor\tfrom\tto\tbytes\trmse")
        expected = [f"{t['tensor']}\t{t['from']}\t{t['to']}\t{t['bytes_out']}\t{t['rmse']:.4g}"
                    for t in self.json(*args)["plan"]]
        self.assertEqual(rows, expected)
        self.assertGreater(len([row for row in rows if float(row.split("\t")[4]) > 0]), 20)
        self.assertIn("bits per weight", total)

    def test_threads_and_runs_give_the_same_file(self):
        digests = set()
        for i, threads in enumerate((1, 4, 4)):
            out = self.path(f"{i}.gguf")
            self.ok("quantize", self.source(), out, "-q", "--type", "Q5_K_M", "-t", threads)
            digests.add(digest(out))
        self.assertEqual(len(digests), 1)

    def test_f32_and_f16_copies(self):
        out = self.path("o.gguf")
        self.ok("quantize", self.source(), out, "-q", "--only-copy")
        source, got = self.tensors(self.source()), self.tensors(out)
        self.assertEqual(got, source)
        self.ok("quantize", self.source(), out, "-q", "--force", "--type", "F32")
        rows = self.ok("dequant", self.source(), "output.weight", "--raw")
        self.assertEqual(self.ok("dequant", out, "output.weight", "--raw"), rows)
        self.assertEqual(self.tensors(out)["output.weight"][0], "f32")

    def test_measure_gives_the_error_of_what_was_written(self):
        out = self.path("o.gguf")
        value = self.json("quantize", self.source(), out, "--type", "Q4_0", "--measure")
        entry = next(t for t in value["plan"] if t["tensor"] == "blk.1.ffn_up.weight")
        x = self.ok("dequant", self.source(), "blk.1.ffn_up.weight", "--raw")
        y = self.ok("dequant", out, "blk.1.ffn_up.weight", "--raw")
        n = len(x) // 4
        pairs = zip(struct.unpack(f"<{n}f", x), struct.unpack(f"<{n}f", y))
        self.assertAlmostEqual(entry["rmse"], (sum((a - b) ** 2 for a, b in pairs) / n) ** 0.5, 9)
        self.assertGreater(entry["rmse"], 0)


def more_bits(i, n):
    """Returns whether a mix gives layer i more bits: the first and last eighth, and every third between."""
    return i < n // 8 or i >= 7 * n // 8 or (i - n // 8) % 3 == 2


# Recipes of a llama model without an imatrix, with fewer than four heads per KV head: the recipe's own type, and the
# types of attn_v, ffn_down and attn_output by layer, where they differ.
MIXES = {
    "Q2_K": ("q2_K", lambda i, n: {"attn_v": "q3_K", "ffn_down": "q3_K", "attn_output": "q3_K"}),
    "Q3_K_S": ("q3_K", lambda i, n: {}),
    "Q3_K_M": ("q3_K", lambda i, n: {"attn_v": "q5_K" if i < 2 else "q4_K", "ffn_down": "q5_K" if i < n // 16 else "q4_K",
                                     "attn_output": "q4_K"}),
    "Q3_K_L": ("q3_K", lambda i, n: {"attn_v": "q5_K", "ffn_down": "q5_K", "attn_output": "q5_K"}),
    "Q4_K_S": ("q4_K", lambda i, n: {"attn_v": "q5_K" if i < 4 else "q4_K", "ffn_down": "q5_K" if i < n // 8 else "q4_K"}),
    "Q4_K_M": ("q4_K", lambda i, n: {"attn_v": "q6_K", "ffn_down": "q6_K"} if more_bits(i, n) else {}),
    "Q5_K_S": ("q5_K", lambda i, n: {}),
    "Q5_K_M": ("q5_K", lambda i, n: {"attn_v": "q6_K", "ffn_down": "q6_K"} if more_bits(i, n) else {}),
    "IQ3_S": ("iq3_s", lambda i, n: {}),
    "IQ3_M": ("iq3_s", lambda i, n: {"attn_v": "q4_K", "ffn_down": "q4_K" if i < n // 8 else "iq3_s", "attn_output": "q4_K"}),
    "IQ4_XS": ("iq4_xs", lambda i, n: {"ffn_down": "q5_K" if i < n // 8 else "iq4_xs"}),
} | {name: (name.lower(), lambda i, n: {}) for name in ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "IQ4_NL", "TQ1_0", "TQ2_0")}
MIXES["Q6_K"] = ("q6_K", lambda i, n: {})


class Plans(Quantize):
    def test_recipes_mix_types_by_their_rules(self):
        for recipe, (own, of_layer) in MIXES.items():
            want = {"token_embd.weight": "q4_K" if recipe[0] == "T" else own, "output.weight": own if own == "q8_0" else "q6_K"}
            for i in range(N_LAYERS):
                want |= {f"blk.{i}.{name}.weight": of_layer(i, N_LAYERS).get(name, own) for name in LAYER}
            want |= {name: "f32" for name, ne in model_tensors() if len(ne) == 1}
            plan = self.json("quantize", self.source(), "--dry-run", "--type", recipe)["plan"]
            self.assertEqual({t["tensor"]: t["to"] for t in plan}, want, recipe)

    def test_recipes_assign_what_the_reference_assigns(self):
        n = refused = 0
        for name, model in read_json(shared("formats", "golden", "ftypes_assign.json")).items():
            path = self.mock(name, model)
            for file_type, want in stepped(model["types"].items(), n):
                n += 1
                call = ("quantize", path, "--dry-run", "--type", file_type)
                if isinstance(want, dict):  # the reference has no type for some rows
                    refused += 1
                    self.all_fall_back(*call)
                    continue
                plan = self.json(*call)["plan"]
                self.assertEqual([t["tensor"] for t in plan], [t[0] for t in model["tensors"]])
                for t, wanted in zip(plan, want):
                    self.assertEqual(t["to"].lower(), wanted.lower(), (name, file_type, t))
        if STEP == 1:
            self.assertEqual((n, refused), (272, 31))
        self.assertTrue(n * STEP > 250 and refused > 0, (n, refused))

    def all_fall_back(self, *call):
        plan = self.json(*call)
        fallbacks = [t for t in plan["plan"] if t["reason"] == "fallback"]
        self.assertEqual(plan["fallbacks"], len(fallbacks))
        self.assertGreater(len(fallbacks), 5)
        for t in fallbacks:
            self.assertEqual((t["ne"][0] in (100, 328), t["to"]), (True, "f16"), t)
            self.assertNotIn(t["wanted"], ("f16", "f32", "bf16"), t)
        for t in plan["plan"]:
            self.assertIn(t["reason"], ("fallback", "kept"), t)
        self.assertIn("fallback was refused", self.fails(3, *call, "--no-fallback"))

    def mock(self, name, model):
        arch = model["arch"]
        keys = [("general.architecture", 8, string(arch)), kv(f"{arch}.block_count", model["n_layer"]),
                kv(f"{arch}.attention.head_count", model["n_head"]),
                kv(f"{arch}.attention.head_count_kv", model["n_head_kv"]),
                kv(f"{arch}.expert_count", model["n_expert"])]
        tensors, at = [], 0
        for tensor, ne in model["tensors"]:
            shape = list(ne)
            while len(shape) > 1 and shape[-1] == 1:
                shape.pop()
            f16 = {"f16": 1, "f32": 0}[model["input_type"]]
            size = ne[0] * ne[1] * ne[2] * (2 if f16 else 4)
            tensors.append((tensor, shape, f16, at))
            at += size + -size % 32
        return self.path(name + ".gguf", gguf(keys, tensors))


    def test_rules_pure_and_types_of_single_tensors(self):
        def plan(*more):
            value = self.json("quantize", self.source(), "--dry-run", "--type", "Q4_K_M", *more)
            return {t["tensor"]: (t["to"], t["reason"]) for t in value["plan"]}

        plain = plan()
        self.assertEqual(plain["output.weight"], ("q6_K", "recipe"))
        self.assertEqual(plain["output_norm.weight"], ("f32", "kept"))
        self.assertEqual(plan("--pure")["output.weight"], ("q4_K", "recipe"))
        self.assertEqual(plan("--output-type", "q8_0", "--pure")["output.weight"], ("q8_0", "chosen"))
        self.assertEqual(plan("--embd-type", "f32")["token_embd.weight"], ("f32", "chosen"))
        for option, tensor in (("--output-type", "output.weight"), ("--embd-type", "token_embd.weight")):
            changed = [t for t, choice in plan(option, "q8_0").items() if choice != plain[t]]
            self.assertEqual(changed, [tensor])
        self.assertEqual(plan("--leave-output")["output.weight"], ("f16", "kept"))
        self.assertEqual(plan("--output-type", "f16")["output.weight"], ("f16", "same"))
        ruled = plan("--tensor-type", "BLK\\.[01]\\..*attn_v=q8_0", "--tensor-type", "attn=q5_0")
        self.assertEqual(ruled["blk.0.attn_v.weight"], ("q8_0", "chosen"))
        self.assertEqual(ruled["blk.2.attn_v.weight"], ("q5_0", "chosen"))
        self.assertEqual(ruled["blk.0.attn_norm.weight"], ("f32", "kept"))
        rules = self.path("rules", b"# comment\n\nattn_v=q8_0\r\n")
        self.assertEqual(plan("--tensor-type-file", rules)["blk.2.attn_v.weight"], ("q8_0", "chosen"))

    def test_rows_that_do_not_fit_fall_back_or_fail(self):
        kept = [ARCH, kv("llama.block_count", 1)]
        path = self.path("odd.gguf", gguf(kept, [("a.weight", (96, 2), 0, 0), ("b.weight", (36, 2), 0, 768)],
                                          bytes(768 + 288)))
        plan = self.json("quantize", path, "--dry-run", "--type", "Q4_K_S")
        self.assertEqual([(t["to"], t["wanted"], t["reason"]) for t in plan["plan"]],
                         [("q5_0", "q4_K", "fallback"), ("f16", "q4_K", "fallback")])
        self.assertEqual(plan["fallbacks"], 2)
        self.assertIn("fallback was refused", self.fails(3, "quantize", path, "--dry-run", "--type",
                                                         "Q4_K_S", "--no-fallback"))
        self.assertIn("a.weight", self.fails(3, "quantize", path, "--dry-run", "--type", "Q4_K_S", "--pure"))
        result = run("quantize", path, self.path("o.gguf"), "--type", "Q4_K_S")
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"2 of 2 tensors", result.stderr)

    def test_dry_run_reads_no_data_and_tells_the_exact_size(self):
        value = self.json("quantize", self.source(), "--dry-run", "--type", "Q3_K_M")
        out = self.path("o.gguf")
        table = self.ok("quantize", self.source(), "--dry-run", "--type", "Q3_K_M").decode()
        self.assertIn("blk.0.attn_k.weight\t256 x 128\tf16\tq3_K\t14080\trecipe", table)
        self.assertFalse(os.path.exists(out))
        self.ok("quantize", self.source(), out, "-q", "--type", "Q3_K_M")
        self.assertEqual(os.path.getsize(out), value["file_bytes"])
        self.assertFalse(value["written"])

    def test_errors(self):
        out, source = self.path("o.gguf"), self.source()
        self.assertIn('did you mean "Q4_K_M"', self.fails(2, "quantize", source, out, "--type", "Q4_K_N"))
        self.assertIn("--type", self.fails(2, "quantize", source, out))
        self.assertIn("OUT", self.fails(2, "quantize", source, "--type", "Q8_0"))
        self.assertIn("not a pipe", self.fails(2, "quantize", source, "-", "Q8_0"))
        self.assertIn("twice", self.fails(2, "quantize", source, out, "Q8_0", "--type", "Q4_0"))
        nowhere = self.path("absent") + "/o.gguf"
        self.assertNotIn("--resume", self.fails(1, "quantize", source, nowhere, "Q8_0"))  # nothing was written
        self.assertIn("needs an imatrix", self.fails(2, "quantize", source, out, "--type", "IQ2_XS"))
        self.assertIn("quantized already", self.fails(2, "quantize", MODEL, out, "--type", "Q4_0"))
        self.assertIn("PATTERN=TYPE", self.fails(2, "quantize", source, out, "--type", "Q8_0", "--tensor-type", "x"))
        self.assertIn("regular", self.fails(2, "quantize", source, out, "--type", "Q8_0", "--tensor-type", "(=q8_0"))
        for option in ("--include", "--exclude", "--candidates"):
            self.assertIn(option, self.fails(2, "quantize", source, out, "Q8_0", option, "q4_0"))
        self.assertIn("i/n", self.fails(2, "quantize", source, out, "--type", "Q8_0", "--shard", "3/2"))
        self.fails(1, "quantize", self.path("absent"), out, "--type", "Q8_0")
        self.fails(2, "quantize", source, out, "--type", "39")  # NVFP4: only converters write such files
        self.assertEqual(self.files(), [])
        self.path("o.gguf", b"old")
        self.assertIn("exists", self.fails(1, "quantize", source, out, "--type", "Q8_0"))
        self.assertEqual(read(out), b"old")
        self.ok("quantize", source, out, "Q8_0", "-q", "--force")
        self.ok("quantize", out, self.path("again.gguf"), "-q", "--type", "Q4_0", "--allow-requantize")
        self.assertEqual(self.tensors(self.path("again.gguf"))["blk.0.ffn_up.weight"][0], "q4_0")

    def test_a_bad_row_is_named_and_nothing_is_left(self):
        data = bytearray(struct.pack("<f", 0.5) * 64 * 3)
        for bad, text in ((b"\0\0\xc0\x7f", "infinite or not a number"), (b"\0\0\x80\x7f", "infinite")):
            data[4 * (64 + 5):4 * (64 + 6)] = bad
            path = self.path("bad.gguf", gguf([ARCH], [("w.weight", (64, 3), 0, 0)], bytes(data)))
            error = self.fails(3, "quantize", path, self.path("o.gguf"), "--type", "Q8_0")
            self.assertIn('tensor "w.weight": row 1, column 5 is ' + "infinite", error)
            self.assertIn(text, error)
        data[4 * 69:4 * 70] = struct.pack("<f", 3e38)  # its scale is beyond f16
        path = self.path("big.gguf", gguf([ARCH], [("w.weight", (64, 3), 0, 0)], bytes(data)))
        self.assertIn('tensor "w.weight": row 1, columns from 0',
                      self.fails(3, "quantize", path, self.path("o.gguf"), "--type", "Q8_0"))
        self.assertEqual(self.files(), ["bad.gguf", "big.gguf"])

    def test_hostile_files_give_errors(self):
        n = 0
        for path in tool.stepped(tool.hostile_files(), 3):
            name = os.path.basename(path)
            result = run("quantize", path, self.path("o.gguf"), "-q", "--force",
                         "--type", "Q4_0", "--allow-requantize", "-t", 1)
            self.assertIn(result.returncode, (0, 1, 2, 3, 4, 5), (name, result.stderr))
            self.assertEqual(result.returncode == 0, not result.stderr, (name, result.stderr))
            self.assertEqual([f for f in self.files() if f != "o.gguf"], [], name)
            n += 1
        self.assertGreater(n * tool.STEP, 100)


# An image projector: a four-dimensional convolution, rows of 14, 3 and 48, position embeddings.
PROJECTOR = [("a.conv1d.1.weight", (3, 80, 64)), ("mm.0.bias", (256,)), ("mm.0.weight", (256, 256)),
             ("v.blk.0.attn_q.weight", (256, 256)), ("v.blk.0.ffn_down.weight", (48, 256)), ("v.blk.0.ffn_up.weight", (256, 48)),
             ("v.blk.0.ln1.weight", (256,)), ("v.class_embd", (256,)), ("v.conv1d.weight", (3, 80, 64)),
             ("v.patch_embd.weight", (14, 14, 3, 32)), ("v.position_embd.weight", (256, 16))]
# Types of the quantized tensors, by recipe; the others stay F32.
PROJECTOR_TYPES = {
    "Q8_0": {"mm.0": "q8_0", "attn_q": "q8_0", "ffn_up": "q8_0", "ffn_down": "f16", "conv1d": "f16"},
    "Q4_K_M": {"mm.0": "q4_K", "attn_q": "q4_K", "ffn_up": "q4_K", "ffn_down": "f16", "conv1d": "f16"},
    "F16": dict.fromkeys(("mm.0", "attn_q", "ffn_up", "ffn_down", "conv1d"), "f16"),
    "BF16": dict.fromkeys(("mm.0", "attn_q", "ffn_up", "ffn_down", "conv1d"), "bf16"),
}


class Projector(Quantize):
    def model(self):
        keys = [("general.architecture", 8, string("clip")), ("general.type", 8, string("mmproj")),
                ("clip.has_vision_encoder", 7, b"\1"), kv("clip.vision.embedding_length", 256)]
        source, tensors, data = random.Random(1), [], b""
        for name, ne in PROJECTOR:
            tensors.append((name, ne, 0, len(data)))
            data += struct.pack("<%df" % math.prod(ne), *(source.gauss(0, 0.1) for _ in range(math.prod(ne))))
        return self.path("mmproj.gguf", gguf(keys, tensors, data))

    def test_convolutions_stay_and_short_rows_become_f16(self):
        model, out = self.model(), self.path("o.gguf")
        source = self.tensors(model)
        for recipe, types in PROJECTOR_TYPES.items():
            self.ok("quantize", model, out, "-q", "--force", "--type", recipe)
            got = self.tensors(out)
            self.assertEqual(list(got), [name for name, _ in PROJECTOR])
            for name in got:
                wanted = next((t for part, t in types.items() if part in name and name.endswith("weight")), "f32")
                self.assertEqual(got[name][0], wanted, (recipe, name))
                if wanted == "f32":
                    self.assertEqual(got[name], source[name])
                else:  # no rows are swapped: the error is that of rounding
                    self.assertLess(self.distance(model, out, name), {"f16": 3e-4, "bf16": 3e-3, "q8_0": 0.01, "q4_K": 0.1}[wanted])

    def distance(self, a, b, name):
        """Returns the relative error of a tensor."""
        x, y = (struct.iter_unpack("<f", self.ok("dequant", path, name, "--raw")) for path in (a, b))
        pairs = [(p[0], q[0]) for p, q in zip(x, y, strict=True)]
        return (sum((p - q) ** 2 for p, q in pairs) / sum(p * p for p, _ in pairs)) ** 0.5


class Splits(Quantize):
    def test_a_set_becomes_one_file_or_stays_a_set(self):
        whole, one = self.path("whole.gguf"), self.path("one.gguf")
        self.ok("split", self.source(), self.path("m"), "--max-tensors", 20, "-q")
        part = self.path("m-00001-of-00003.gguf")
        self.ok("quantize", self.source(), whole, "-q", "--type", "Q4_K_M")
        self.ok("quantize", part, one, "-q", "--type", "Q4_K_M")
        self.assertEqual(read(one), read(whole))
        self.ok("quantize", part, self.path("q.gguf"), "-q", "--type", "Q4_K_M", "--keep-split")
        names = [f"q-0000{i}-of-00003.gguf" for i in (1, 2, 3)]
        self.assertEqual([f for f in self.files() if f.startswith("q")], names)
        self.ok("merge", self.path(names[0]), self.path("merged.gguf"), "-q")
        source = self.json("info", part, "--tensors")["tensors"]
        self.assertEqual([t["name"] for t in self.json("info", self.path(names[0]), "--tensors")["tensors"]],
                         [t["name"] for t in source])


if __name__ == "__main__":
    tool.main()
