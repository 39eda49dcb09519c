# Patterns of names (--filter, --tensor-type): globs in every build, regular expressions with RE2.
# SPDX-License-Identifier: MIT
import struct
import unittest

import tool
from tool import ARCHITECTURE, MODEL, gguf, run, string

HAS_RE2 = run("info", MODEL, "--filter", "re:a").returncode == 0


class Patterns(tool.Case):
    def names(self, pattern, model=MODEL):
        return [t["name"] for t in self.json("info", model, "--tensors", "--filter", pattern)["tensors"]]

    def test_globs_match_the_whole_name(self):
        every = [t["name"] for t in self.json("info", MODEL, "--tensors")["tensors"]]
        up = [n for n in every if n.startswith("blk.") and ".ffn_" in n]
        self.assertTrue(len(up) > 4)
        self.assertEqual(self.names("blk.*.ffn_*"), up)  # the same as a regular expression
        self.assertEqual(self.names("glob:blk.*.ffn_*"), up)
        self.assertEqual(self.names("glob:BLK.?.FFN_*"), up)
        self.assertEqual(self.names("glob:*.ffn_"), [])
        self.assertEqual(self.names("glob:blk.[1-2].attn_[!kv].weight"), ["blk.1.attn_q.weight", "blk.2.attn_q.weight"])
        self.assertEqual(self.names("glob:attn_q"), [n for n in every if "attn_q" in n])
        self.assertEqual(self.names("glob:*"), every)

    def test_long_names_take_linear_time(self):
        keys = [("k" * 40000, 4, bytes(4)), ("a" * 40000 + "b", 4, bytes(4)), ARCHITECTURE]
        path = self.path("long.gguf", gguf(keys))
        found = lambda pattern: len(self.json("info", path, "--kv", "--filter", pattern)["kv"])
        self.assertEqual(found("glob:*k"), 1)
        self.assertEqual(found("glob:*a*a*a*a*c"), 0)
        self.assertEqual(found("k*"), 3 if HAS_RE2 else 1)
        if HAS_RE2:
            self.assertEqual(found("^(k|kk)+$"), 1)
            self.assertEqual(found("(a*)*c$"), 0)

    def test_what_no_pattern_can_be_is_a_usage_error(self):
        for pattern in ("(", "re:(", "(?=a)", "a\\1"):
            self.assertIn("regular expression", self.fails(2, "info", MODEL, "--filter", pattern))
        self.assertIn("empty", self.fails(2, "info", MODEL, "--filter", "glob:"))
        if HAS_RE2:
            self.assertIn("look-around", self.fails(2, "info", MODEL, "--filter", "(?=a)"))
        else:
            self.assertIn("without RE2", self.fails(2, "info", MODEL, "--filter", "re:a"))

    def source(self):
        tensors = [("blk.%d.ffn_up.weight" % i, (32, 2), 0, 256 * i) for i in range(2)]
        return self.path("in.gguf", gguf([ARCHITECTURE, ("llama.block_count", 4, struct.pack("<I", 2))],
                                         tensors + [("blk.x.ffn_up.weight", (32, 2), 0, 512)], bytes(768)))

    def types(self, *rules):
        arguments = [word for rule in rules for word in ("--tensor-type", rule)]
        plan = self.json("quantize", self.source(), "--dry-run", "--type", "Q4_0", *arguments)["plan"]
        return [t["to"] for t in sorted(plan, key=lambda t: t["tensor"])]

    @unittest.skipUnless(HAS_RE2, "built without RE2")
    def test_rules_keep_the_case_of_classes(self):
        self.assertEqual(self.types(r"blk\.\d\.=q8_0"), ["q8_0", "q8_0", "q4_0"])
        self.assertEqual(self.types(r"BLK\.\D\.=q8_0"), ["q4_0", "q4_0", "q8_0"])

    def test_rules_take_globs(self):
        self.assertEqual(self.types("glob:blk.[0-9].*=q8_0"), ["q8_0", "q8_0", "q4_0"])
        self.assertEqual(self.types("glob:blk.0.*=q8_0", "glob:*=q5_0"), ["q8_0", "q5_0", "q5_0"])

    def test_a_rule_without_a_tensor_is_named(self):
        result = run("quantize", self.source(), "--dry-run", "--type", "Q4_0", "--tensor-type", "glob:attn*=q8_0",
                     "--tensor-type", "glob:blk*=q8_0")
        self.assertEqual((result.returncode, result.stderr),
                         (0, b'ggufx: --tensor-type "glob:attn*=q8_0" matches no tensor\n'))


class HostileText(tool.Case):
    TEXT = b"\xff\xc3\x1b[31m\nx\0y\x7f\xc2\x9b\xe2\x80\xae\xed\xa0\x80\xf0\x9f"

    def clean(self, *args):
        result = run(*args)
        for text in (result.stdout.decode(), result.stderr.decode()):
            bad = [c for c in text if (ord(c) < 32 and c not in "\n\t") or 0x7f <= ord(c) < 0xa0 or c == "\u202e"]
            self.assertEqual(bad, [], args)
            self.assertNotIn("\nx", text)
        return result

    def test_texts_of_files_reach_no_terminal_raw(self):
        text = self.TEXT
        keys = [("general.architecture", 8, string(text)), ("general.name", 8, string(text)), (text, 8, string(text)),
                ("tokenizer.ggml.model", 8, string(text)), ("tokenizer.ggml.pre", 8, string(text)),
                ("tokenizer.chat_template", 8, string(text * 50)),
                ("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 1) + string(text))]
        plain = text.replace(b"\0", b"_")
        a = self.path("a.gguf", gguf(keys, [(plain, (32, 1), 0, 0)], bytes(128)))
        b = self.path("b.gguf", gguf(keys[1:] + [("general.architecture", 8, string(text + b"2"))],
                                     [(plain + b"2", (32, 1), 0, 0)], bytes(128)))
        out = self.path("o.gguf")
        for args in (["info", a], ["info", a, "--md"], ["info", a, "--kv", "--array-full"], ["validate", a],
                     ["validate", a, "--strict", "--deep", "--model"], ["diff", a, b], ["run", a, "-p", "x"],
                     ["perplexity", a, "-f", MODEL], ["fit", a, "--ram", "1G"], ["extract", a, "x"],
                     ["dequant", a, "x"], ["report", a], ["imatrix", "show", a], ["convert", a, out],
                     ["quantize", a, "--dry-run", "--type", "Q4_0"], ["quantize", a, out, "--type", "Q4_0"],
                     ["set", a, "general.name=x", "--dry-run"], ["unset", a, "general.name", "--dry-run"],
                     ["info", a, "--filter", "nothing"], ["split", a, self.path("s"), "--max-tensors", "1"]):
            self.clean(*args)
        result = self.clean("fit", a, "--ram", "1G")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(b"\\xff", result.stderr)


if __name__ == "__main__":
    tool.main()
