# convert: models of other formats to GGUF: heads, norms, vocabularies.
# SPDX-License-Identifier: MIT
import json
import math
import os
import struct

import tool
from convert_case import Convert, LLAMA, field, floats, llama_tensors, piece, varint


class Heads(Convert):
    """Reordering between other programs' layouts, computed here value by value."""

    def test_llama_heads_norms_and_config(self):
        tensors = llama_tensors(dim=32, heads=2, kv=1)
        bias = struct.pack("<32f", *range(32))
        tensors += [("model.layers.0.self_attn.q_proj.bias", "F32", [32], bias),
                    ("model.layers.0.self_attn.rotary_emb.inv_freq", "F32", [8], floats(8, 3))]
        config = {**LLAMA, "rope_theta": 5e5, "tie_word_embeddings": False,
                  "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                                   "high_freq_factor": 4.0, "original_max_position_embeddings": 64}}
        out = self.path("o.gguf")
        result = self.json("convert", self.folder_of(tensors, config), "-o", out)
        self.assertEqual(result["remarks"], ["no tokenizer.model or tokenizer.json: no vocabulary"])
        raw = {t[0]: t[3] for t in self.raw(out)}
        source = {t[0]: t[3] for t in tensors}["model.layers.0.self_attn.q_proj.weight"]
        rows = [source[128 * r:128 * (r + 1)] for r in range(32)]
        expected = b"".join(rows[16 * h + 8 * (i % 2) + i // 2] for h in range(2) for i in range(16))
        self.assertEqual(raw["blk.0.attn_q.weight"], expected)
        order = [16 * h + 8 * (i % 2) + i // 2 for h in range(2) for i in range(16)]
        self.assertEqual(raw["blk.0.attn_q.bias"], struct.pack("<32f", *order))
        factors = []
        for i in range(8):
            wave = 2 * math.pi * 5e5 ** (i / 8)
            smooth = (64 / wave - 1) / 3
            factors.append(1 if wave < 16 else 8 if wave > 64 else 1 / ((1 - smooth) / 8 + smooth))
        self.assertEqual(raw["rope_freqs.weight"], struct.pack("<8f", *factors))
        keys = self.keys(out)
        self.assertEqual(keys["llama.rope.dimension_count"], ("u32", 16))
        self.assertEqual(keys["general.name"], ("str", "hf"))
        self.assertNotIn("llama.rope.scaling.type", keys)

    def test_gemma_norms_and_mixture(self):
        config = {**LLAMA, "model_type": "gemma", "head_dim": 16}
        tensors = [t for t in llama_tensors() if t[0] != "lm_head.weight"]
        out = self.path("g.gguf")
        self.ok("convert", self.folder_of(tensors, config, "gemma"), "-o", out)
        raw = {t[0]: t[3] for t in self.raw(out)}
        norm = struct.unpack("<32f", {t[0]: t[3] for t in tensors}["model.norm.weight"])
        self.assertEqual(raw["output_norm.weight"], struct.pack("<32f", *[v + 1 for v in norm]))
        self.assertEqual(raw["blk.0.attn_q.weight"], tensors[3][3])  # gemma itself rotates halves
        experts = [t for t in llama_tensors() if ".mlp." not in t[0]]
        p = "model.layers.0.block_sparse_moe."
        experts.append((p + "gate.weight", "F32", [3, 32], floats(96, 90)))
        for e in (2, 0, 1):
            for w in (1, 2, 3):
                experts.append((p + "experts.%d.w%d.weight" % (e, w), "F32", [32, 32], floats(1024, 10 * e + w)))
        config = {**LLAMA, "model_type": "mixtral", "num_local_experts": 3, "num_experts_per_tok": 2}
        out = self.path("m.gguf")
        self.ok("convert", self.folder_of(experts, config, "mix"), "-o", out)
        tensors = {t[0]: t for t in self.raw(out)}
        self.assertEqual(tensors["blk.0.ffn_up_exps.weight"][2], [32, 32, 3])
        self.assertEqual(tensors["blk.0.ffn_up_exps.weight"][3], b"".join(floats(1024, 10 * e + 3) for e in range(3)))
        self.assertEqual(self.keys(out)["llama.expert_used_count"], ("u32", 2))
        missing = self.folder_of(experts[:-1], config, "missing")
        self.assertIn("2 of 3 experts", self.fails(3, "convert", missing, "-o", self.path("x.gguf")))


class Tokenizers(Convert):
    def tokenizer(self, **files):
        out = self.path("t%d.gguf" % len(os.listdir(self.folder)))
        config = {**LLAMA, "eos_token_id": [2, 9]}
        folder = self.folder_of(llama_tensors(vocab=12), config, name="f" + os.path.basename(out), **files)
        self.ok("convert", folder, "-o", out)
        return {k[15:]: v[1] for k, v in self.keys(out).items() if k.startswith("tokenizer.ggml.")}

    def test_sentencepiece(self):
        model = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) + piece("<0x41>", 0, 6)
        model += b"".join(piece("\u2581" + c, -float(i), 1) for i, c in enumerate("abc"))
        spec = field(3, 0, varint(2)) + field(43, 0, varint((1 << 64) - 1)) + field(17, 5, bytes(4))
        model += field(2, 2, spec) + field(3, 2, field(3, 0, varint(0))) + field(99, 1, bytes(8))
        settings = {"add_bos_token": True, "bos_token": {"content": "<s>"}, "pad_token": "</s>",
                    "chat_template": [{"name": "x", "template": "no"}, {"name": "default", "template": "yes"}],
                    "added_tokens_decoder": {"7": {"content": "<x>", "special": True},
                                             "8": {"content": "<y>", "special": False}}}
        keys = self.tokenizer(model=model, settings=settings)
        self.assertEqual(keys["model"], "llama")
        self.assertEqual(keys["tokens"]["values"], ["<unk>", "<s>", "</s>", "<0x41>", "\u2581a", "\u2581b",
                                                    "\u2581c", "<x>", "<y>", "[PAD9]", "[PAD10]", "[PAD11]"])
        self.assertEqual(keys["token_type"]["values"], [2, 3, 3, 6, 1, 1, 1, 3, 4, 5, 5, 5])
        self.assertEqual([s["v"] for s in keys["scores"]["values"]][4:7], ["-0.0", "-1.0", "-2.0"])
        self.assertEqual((keys["bos_token_id"], keys["eos_token_id"], keys["unknown_token_id"],
                          keys["padding_token_id"]), (1, 2, 0, 2))
        self.assertEqual((keys["add_space_prefix"], keys["add_bos_token"]), (False, True))

    def bpe(self, **model):
        return {"added_tokens": [{"id": 5, "content": "<|end|>", "special": True}],
                "pre_tokenizer": {"type": "ByteLevel", "use_regex": True},
                "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<|end|>"}}]},
                "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 3, "c": 2}, "merges": ["a b"], **model}}

    def test_byte_level(self):
        keys = self.tokenizer(bpe=self.bpe(), settings={"eos_token": "<|end|>"})
        self.assertEqual((keys["model"], keys["pre"]), ("gpt2", "gpt-2"))
        self.assertEqual(keys["tokens"]["values"][:6], ["a", "b", "c", "ab", "[PAD4]", "<|end|>"])
        self.assertEqual(keys["token_type"]["values"][:7], [1, 1, 1, 1, 5, 3, 5])
        self.assertEqual((keys["merges"]["values"], keys["eos_token_id"], keys["add_bos_token"]),
                         (["a b"], 5, True))
        self.assertNotIn("scores", keys)
        pairs = self.tokenizer(bpe=self.bpe(merges=[["a", "b"]]))
        self.assertEqual(pairs["merges"]["values"], ["a b"])

    WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
    REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
    BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    DIGITS = {"type": "Digits", "individual_digits": True}

    def cased(self, after):
        start = r"[^\r\n\p{L}\p{N}]?"
        return "%s%s*%s+%s|%s%s+%s*%s|" % (start, self.UPPER, self.LOWER, after, start, self.UPPER, self.LOWER, after)

    @staticmethod
    def split(regex, **more):
        return {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False, **more}

    def known_steps(self):
        slash = self.REST.replace("[\\r\\n]*", "[\\r\\n/]*")
        gpt2 = {**self.BYTES, "use_regex": True}
        return [("gpt-2", {}, [gpt2]),
                ("llama-bpe", {"ignore_merges": True}, [self.split(self.WORDS + r"\p{N}{1,3}|" + self.REST), self.BYTES]),
                ("dbrx", {}, [self.split(self.WORDS + r"\p{N}{1,3}|" + self.REST), self.BYTES]),
                ("qwen2", {"ignore_merges": False}, [self.split(self.WORDS + r"\p{N}|" + self.REST), self.BYTES]),
                ("tekken", {"ignore_merges": True}, [self.split(self.cased("") + r"\p{N}|" + slash), self.BYTES]),
                ("gpt-4o", {}, [self.split(self.cased(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?") + r"\p{N}{1,3}|" + slash),
                                self.BYTES]),
                ("smollm", {}, [self.DIGITS, gpt2]),
                ("deepseek-coder", {}, [self.split(r) for r in (
                    "[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+")] +
                 [self.DIGITS, self.BYTES]),
                ("granite-embed-multi-97m", {"ignore_merges": True}, [
                    self.split(self.cased(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?") + r"\p{N}{1,3}|" + slash), self.BYTES]),
                ("minicpm5", {"ignore_merges": True}, [self.split(r"\p{N}{1,3}"), self.split(self.WORDS + r"\p{N}+|" + self.REST),
                                                       self.BYTES]),
                ("laguna", {}, [self.split(r"[^\n]+|[\n]+"), self.split(self.WORDS + r"\p{N}|" + self.REST), self.BYTES]),
                ("ufakzeka", {}, [self.split(self.WORDS.split("|", 7)[7] + r"\p{N}|" + self.REST), self.BYTES])]

    def folder_with(self, steps, **model):
        bpe = {**self.bpe(**model), "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}}
        return self.folder_of(llama_tensors(vocab=12), name="s%d" % len(os.listdir(self.folder)), bpe=bpe)

    def pre_of(self, path):
        return self.keys(path)["tokenizer.ggml.pre"][1]

    def test_pre_tokenizers_are_known_by_all_their_steps(self):
        out, again = self.path("o.gguf"), self.path("again.gguf")
        for name, model, steps in self.known_steps():
            self.ok("convert", self.folder_with(steps, **model), "-o", out, "--force")
            self.assertEqual(self.pre_of(out), name)
            folder = self.path("out-" + name)
            self.assertEqual(self.json("convert", out, "--to", "safetensors", "-o", folder)["remarks"], [])
            written = tool.read_json(os.path.join(folder, "tokenizer.json"))
            listed = written["pre_tokenizer"].get("pretokenizers", [written["pre_tokenizer"]])
            self.assertEqual(listed, steps)
            self.assertEqual(written["model"]["ignore_merges"], model.get("ignore_merges", False))
            settings = os.path.join(folder, "tokenizer_config.json")
            stated = tool.read_json(settings)
            self.assertEqual(stated.pop("ggufx_pre"), name)
            with open(settings, "w", encoding="utf-8") as file:
                json.dump(stated, file)
            self.ok("convert", folder, "-o", again, "--force")
            self.assertEqual(self.pre_of(again), name)

    def test_other_steps_are_not_assumed(self):
        out = self.path("o.gguf")
        llama = self.split(self.WORDS + r"\p{N}{1,3}|" + self.REST)
        removed = {**llama, "behavior": "Removed", "invert": True}
        self.ok("convert", self.folder_with([removed, self.BYTES], ignore_merges=True), "-o", out)
        self.assertEqual(self.pre_of(out), "llama-bpe")
        for steps in ([llama], [llama, llama, self.BYTES], [llama, self.BYTES, self.BYTES], [self.DIGITS, llama, self.BYTES],
                      [{**llama, "behavior": "Removed"}, self.BYTES], [{**llama, "invert": True}, self.BYTES],
                      [llama, {**self.BYTES, "add_prefix_space": True}], [llama, {**self.BYTES, "use_regex": True}],
                      [{"type": "Split", "pattern": {"String": " "}}, self.BYTES],
                      [{"type": "Digits", "individual_digits": False}, {**self.BYTES, "use_regex": True}],
                      [{"type": "Punctuation"}, self.BYTES]):
            folder = self.folder_with(steps + ([] if steps[-1]["type"] == "ByteLevel" else [self.DIGITS, self.BYTES]))
            text = self.fails(4, "convert", folder, "-o", self.path("x.gguf"))
            for name, _, _ in self.known_steps():
                self.assertIn(name, text)
            self.assertIn("--pre", text)

    def test_names_without_steps_are_kept_and_reported(self):
        out, back = self.path("o.gguf"), self.path("b.gguf")
        source = self.folder_with([self.DIGITS, {**self.BYTES, "use_regex": True}])
        for name, remarks in (("starcoder", 0), ("own", 1)):
            folder = self.path("out-" + name)
            self.ok("convert", source, "-o", out, "--pre", name, "--force")
            told = self.json("convert", out, "--to", "safetensors", "-o", folder)["remarks"]
            self.assertEqual(len(told), remarks)
            self.assertTrue(all('"own"' in text for text in told))
            self.ok("convert", folder, "-o", back, "--force")
            self.assertEqual(self.pre_of(back), name)

    def test_merges_of_a_sentencepiece_become_scores(self):
        bpe = self.bpe(byte_fallback=True, unk_token="c",
                       vocab={"c": 0, "a": 1, "b": 2, "ab": 3, "aba": 4, "<0x41>": 6}, merges=["a b", "ab a"])
        bpe.pop("pre_tokenizer")
        keys = self.tokenizer(bpe=bpe)
        scores = [float(s["v"]) for s in keys["scores"]["values"]]
        self.assertEqual((scores[3], scores[4], keys["unknown_token_id"]), (0, -1, 0))
        self.assertLess(max(scores[:3]), -1)
        self.assertEqual((keys["token_type"]["values"][0], keys["token_type"]["values"][6]), (2, 6))

    def test_faults(self):
        out = self.path("o.gguf")
        cases = [(3, {"model": b""}), (3, {"model": b"\x0a\x05ab"}), (3, {"model": b"\x0a\xff" + b"\xff" * 9}),
                 (3, {"model": field(1, 2, field(1, 2, b"a") + field(3, 0, varint(9)))}),
                 (3, {"model": b"\x07\x00"}), (3, {"model": field(1, 0, varint(3))}),
                 (4, {"model": piece("a", 0, 1) + field(2, 2, field(3, 0, varint(1)))}),
                 (3, {"model": piece("a", 0, 1) * 13}),
                 (3, {"bpe": b"{"}), (3, {"bpe": b'{"a":1,"a":2}'}), (3, {"bpe": b"[" * 100 + b"]" * 100}),
                 (3, {"bpe": {}}), (4, {"bpe": {"model": {"type": "WordPiece"}}}),
                 (3, {"bpe": self.bpe(vocab={"a": 0, "b": 0})}), (3, {"bpe": self.bpe(vocab={"a": -1})}),
                 (3, {"bpe": self.bpe(vocab={"a": 1 << 40})}), (3, {"bpe": self.bpe(merges=["ab"])}),
                 (3, {"bpe": self.bpe(merges=[["a"]])}),
                 (4, {"bpe": {**self.bpe(), "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                     {"type": "Split", "pattern": {"Regex": "\\w"}}, {"type": "ByteLevel"}]}}})]
        for i, (code, files) in enumerate(cases):
            folder = self.folder_of(llama_tensors(), name="c%d" % i, **files)
            text = self.fails(code, "convert", folder, "-o", out)
            self.assertIn("tokenizer", text, files)
        self.ok("convert", folder, "-o", out, "--pre", "own")
        self.assertEqual(self.keys(out)["tokenizer.ggml.pre"], ("str", "own"))


if __name__ == "__main__":
    tool.main()
