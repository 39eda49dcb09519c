# convert: tokens that folders add to a vocabulary, and vocabularies of older folders.
# SPDX-License-Identifier: MIT
import json
import os

import tool
from convert_case import Convert, LLAMA, field, llama_tensors, piece, varint
from tool import MODEL, tiny

TOKENS, TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
ONCE_UPON = [884, 468, 328]  # ids in MODEL's vocabulary of 1024 tokens, with the added space
START, END = "<|im_start|>", "<|im_end|>"


class AddedTokens(Convert):
    """A SentencePiece vocabulary of 1024 tokens, an embedding of 1027 rows."""

    def setUp(self):
        super().setUp()
        self.source = self.exported(MODEL)
        self.add_rows(self.source, 3)

    def last_tokens(self, *warnings):
        self.model, keys, told = self.converted(self.source)
        self.assertEqual(len(told), len(warnings), told)
        for text, words in zip(told, warnings):
            for word in words:
                self.assertIn(word, text)
        self.assertEqual(len(keys[TOKENS]["values"]), 1027)
        return list(zip(keys[TOKENS]["values"][1024:], keys[TYPES]["values"][1024:]))

    def refused(self, *words):
        message = self.fails(3, "convert", self.source, "-o", self.path("x.gguf"))
        for word in words:
            self.assertIn(word, message)

    def added(self, **ids):
        self.change_json(self.source, "added_tokens.json", lambda c: (c.clear(), c.update(ids)))

    def test_added_tokens_json(self):
        self.added(**{START: 1024, END: 1025})
        self.assertEqual(self.last_tokens(), [(START, 4), (END, 4), ("[PAD1026]", 5)])
        self.assertEqual(self.token_ids(self.model, START + "Once upon" + END), [1, 1024] + ONCE_UPON + [1025])

    def test_special_ones_are_control_tokens(self):
        self.added(**{START: 1024, "<tool>": 1025, END: 1026})
        self.change_json(self.source, "special_tokens_map.json", eos_token={"content": END, "special": True},
                         additional_special_tokens=[START])
        self.change_json(self.source, "tokenizer_config.json", lambda c: c.pop("eos_token"))
        self.assertEqual(self.last_tokens(), [(START, 3), ("<tool>", 4), (END, 3)])
        self.assertEqual(self.keys(self.model)["tokenizer.ggml.eos_token_id"][1], 1026)
        self.assertEqual(self.token_ids(self.model, "Once upon<tool>"), [1] + ONCE_UPON + [1025])

    def test_every_place_of_special_tokens_counts(self):
        self.added(**{START: 1024, "<tool>": 1025, END: 1026})
        self.change_json(self.source, "tokenizer_config.json", additional_special_tokens=[{"content": START}],
                         extra_special_tokens={"tool_token": "<tool>"})
        self.assertEqual(self.last_tokens(), [(START, 3), ("<tool>", 3), (END, 4)])

    def test_tokens_of_the_tokenizer_json_beside_a_sentencepiece_model(self):
        self.write_text(self.source, "tokenizer.json", json.dumps({
            "added_tokens": [{"id": 1, "content": "<s>", "special": True}, {"id": 1024, "content": START, "special": True},
                             {"id": 1026, "content": "<tool>", "special": False}],
            "model": {"type": "BPE", "vocab": {}, "merges": []}}))
        self.added(**{END: 1025})
        self.assertEqual(self.last_tokens(), [(START, 3), (END, 4), ("<tool>", 4)])

    def test_a_damaged_tokenizer_json_beside_a_sentencepiece_model_is_named(self):
        self.write_text(self.source, "tokenizer.json", "{")
        self.last_tokens(("tokenizer.json", "ignored"))

    def test_files_that_agree(self):
        self.added(**{"<s>": 1, START: 1024})
        self.change_json(self.source, "tokenizer_config.json", added_tokens_decoder={
            "1024": {"content": START, "special": True}, "2": {"content": "</s>", "special": True}})
        self.assertEqual(self.last_tokens()[0], (START, 3))

    def test_files_that_disagree(self):
        self.added(**{START: 1024})
        self.change_json(self.source, "tokenizer_config.json", added_tokens_decoder={"1024": {"content": END}})
        self.refused("1024", START, END, "tokenizer_config.json", "added_tokens.json")

    def test_clashes_with_the_base_vocabulary_name_both(self):
        self.added(**{START: 884})
        self.refused("added_tokens.json", START, "884", "\u2581Once", "tokenizer.model")
        self.added(**{"</s>": 1024})
        self.refused("added_tokens.json", '"</s>"', "1024", "2 in tokenizer.model")

    def test_tokens_without_a_row(self):
        self.added(**{START: 1027})
        self.refused("added_tokens.json", START, "1028 tokens", "1027 rows")
        self.added(**{START: 1024, "<image_soft_token>": 1027})
        self.assertEqual(self.last_tokens(("<image_soft_token>", "no row 1027"))[0], (START, 4))

    def test_a_text_with_two_ids(self):
        self.added(**{START: 1024})
        self.change_json(self.source, "tokenizer_config.json", added_tokens_decoder={"1026": {"content": START}})
        self.last_tokens((START, "1024 and 1026"))

    def test_tokens_that_take_spaces_are_named(self):
        decoder = {str(1024 + i): {"content": "<%d>" % i, "rstrip": i < 2, "special": True} for i in range(3)}
        self.change_json(self.source, "tokenizer_config.json", added_tokens_decoder=decoder)
        self.last_tokens(("2 added tokens", '"<0>", "<1>"', "rstrip"))

    def test_entries_that_are_no_tokens(self):
        for ids in ({START: -1}, {START: "1024"}, {START: None}):
            self.added(**ids)
            self.refused("added_tokens.json", "no id")

    def test_special_tokens_that_no_vocabulary_has(self):
        self.change_json(self.source, "tokenizer_config.json", pad_token="<pad>")
        self.last_tokens(("pad_token", '"<pad>"'))
        self.change_json(self.source, "tokenizer_config.json", pad_token=None)
        self.last_tokens()


class Bases(Convert):
    """Vocabularies in other files than tokenizer.json and SentencePiece's."""

    def older(self, model="qwen2"):
        """Returns the folder of a byte-level model with vocab.json and merges.txt in place of tokenizer.json."""
        source = self.exported(tiny(model))
        whole = tool.read_json(os.path.join(source, "tokenizer.json"))
        os.remove(os.path.join(source, "tokenizer.json"))
        self.write_text(source, "vocab.json", json.dumps(whole["model"]["vocab"]))
        self.write_text(source, "merges.txt", "#version: 0.2\n" + "".join(m + "\r\n" for m in whole["model"]["merges"]))
        self.write_text(source, "added_tokens.json", json.dumps({t["content"]: t["id"] for t in whole["added_tokens"]}))
        self.write_text(source, "special_tokens_map.json", json.dumps(
            {"additional_special_tokens": [t["content"] for t in whole["added_tokens"] if t["special"]]}))
        self.change_json(source, "tokenizer_config.json", lambda c: c.pop("ggufx_pre"), tokenizer_class="Qwen2Tokenizer")
        return source

    def test_vocab_json_and_merges(self):
        source, model = self.older(), tiny("qwen2")
        out, keys, warnings = self.converted(source)
        self.assertEqual(warnings, [])
        expected = {k: v[1] for k, v in self.keys(model).items()}
        for key in ("model", "pre", "tokens", "token_type", "merges", "eos_token_id", "bos_token_id"):
            self.assertEqual(keys["tokenizer.ggml." + key], expected["tokenizer.ggml." + key], key)
        for text in ("Once upon a time there was 1 \u00e9l\u00e9phant", "<|im_start|>the<|im_end|>\n"):
            self.assertEqual(self.token_ids(out, text), self.token_ids(model, text))

    def test_the_class_says_how_text_is_cut(self):
        source = self.older()
        for name, pre in (("Qwen2TokenizerFast", "qwen2"), ("GPT2Tokenizer", "gpt-2"), (None, "qwen2")):
            self.change_json(source, "tokenizer_config.json", tokenizer_class=name)
            self.assertEqual(self.converted(source)[1]["tokenizer.ggml.pre"], pre)
        self.change_json(source, "tokenizer_config.json", tokenizer_class="OwnTokenizer")
        self.change_json(source, "config.json", model_type="mistral")
        self.assertIn("--pre", self.fails(4, "convert", source, "-o", self.path("x.gguf")))

    def test_vocab_json_that_is_none(self):
        source = self.older()
        self.write_text(source, "vocab.json", "{}")
        self.assertIn("no tokens", self.fails(3, "convert", source, "-o", self.path("x.gguf")))
        self.write_text(source, "vocab.json", '{"a":0,"b":0}')
        self.assertIn("vocab.json", self.fails(3, "convert", source, "-o", self.path("x.gguf")))

    WORDS = ["[PAD]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "once", "up", "##on", "a", "time", "!"]

    def words(self, n=14, **settings):
        source = self.folder_of(llama_tensors(vocab=n), name="w%d" % len(os.listdir(self.folder)), settings=settings)
        self.write_text(source, "vocab.txt", "\n".join(self.WORDS) + "\n")
        return source

    def test_vocab_txt(self):
        source = self.words()
        self.write_text(source, "added_tokens.json", json.dumps({"[CLS]": 3, "<x>": 12}))
        out, keys, warnings = self.converted(source)
        self.assertEqual((keys["tokenizer.ggml.model"], warnings), ("bert", []))
        self.assertEqual(keys[TOKENS]["values"], ["[PAD]", "\u2581[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "\u2581once",
                                                  "\u2581up", "on", "\u2581a", "\u2581time", "\u2581!", "<x>", "[PAD13]"])
        self.assertEqual(keys[TYPES]["values"], [3, 1, 2, 3, 3, 3] + [1] * 6 + [4, 5])
        ids = {name: keys["tokenizer.ggml.%s_token_id" % name] for name in ("bos", "cls", "seperator", "unknown", "padding", "mask")}
        self.assertEqual(ids, {"bos": 3, "cls": 3, "seperator": 4, "unknown": 2, "padding": 0, "mask": 5})
        self.assertNotIn("tokenizer.ggml.normalizer.lowercase", keys)
        self.assertEqual(self.token_ids(out, "Once upon<x>a time! zebra"), [3, 6, 7, 8, 12, 9, 10, 11, 2, 4])

    def test_words_with_their_case(self):
        out, keys, _ = self.converted(self.words(do_lower_case=False))
        self.assertEqual(keys["tokenizer.ggml.normalizer.lowercase"], False)
        self.assertEqual(self.token_ids(out, "Once once"), [3, 2, 6, 4])
        _, keys, _ = self.converted(self.words(strip_accents=False))
        self.assertEqual(keys["tokenizer.ggml.normalizer.strip_accents"], False)

    def test_clashes_in_a_word_list(self):
        source = self.words()
        self.write_text(source, "added_tokens.json", '{"x":8}')
        message = self.fails(3, "convert", source, "-o", self.path("x.gguf"))
        for word in ('"x"', "8", '"##on"', "vocab.txt"):
            self.assertIn(word, message)

    def test_words_of_a_tokenizer_json(self):
        source = self.words()
        os.remove(os.path.join(source, "vocab.txt"))
        model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                 "vocab": {w: i for i, w in enumerate(self.WORDS)}}
        whole = {"added_tokens": [{"id": i, "content": self.WORDS[i], "special": True} for i in (0, 2, 3, 4, 5)], "model": model,
                 "normalizer": {"type": "BertNormalizer", "lowercase": False, "strip_accents": None}}
        self.write_text(source, "tokenizer.json", json.dumps(whole))
        self.change_json(source, "tokenizer_config.json", cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]")
        out, keys, warnings = self.converted(source)
        self.assertEqual((keys["tokenizer.ggml.model"], warnings), ("bert", []))
        self.assertEqual(self.token_ids(out, "Once upon"), [3, 2, 7, 8, 4])
        model["continuing_subword_prefix"] = "@@"
        self.write_text(source, "tokenizer.json", json.dumps(whole))
        self.assertIn("##", self.fails(4, "convert", source, "-o", self.path("x.gguf")))

    def test_a_tokenizer_json_of_before_types(self):
        source = self.exported(MODEL)
        os.remove(os.path.join(source, "tokenizer.model"))
        bpe = {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
        whole = {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}, "model": bpe}
        self.write_text(source, "tokenizer.json", json.dumps(whole))
        keys = self.converted(source)[1]
        self.assertEqual((keys["tokenizer.ggml.model"], keys["tokenizer.ggml.merges"]["values"]), ("gpt2", ["a b"]))

    def test_runs_of_spaces_of_sentencepiece(self):
        pieces = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3)
        pieces += b"".join(piece(t, 0, k) for t, k in (("\u2581", 1), ("a", 1), ("\u2581a", 1), ("\u2581\u2581\u2581", 4), ("\u2581<x>", 4)))
        pieces += field(2, 2, field(3, 0, varint(2))) + field(3, 2, field(3, 0, varint(0)) + field(4, 0, varint(0)))
        source = self.folder_of(llama_tensors(vocab=8), model=pieces)
        out, keys, _ = self.converted(source)
        self.assertEqual(keys[TOKENS]["values"][6:], ["   ", "\u2581<x>"])
        self.assertEqual(self.token_ids(out, "a   a"), [1, 4, 6, 4])
        self.assertEqual(self.ok("tokenize", out, "--ids", "4,6,4"), b"a   a")
        back, again, _ = self.converted(self.exported(out, "back"))
        self.assertEqual(again[TOKENS], keys[TOKENS])
        self.assertIn("\u2581\u2581\u2581".encode(), open(os.path.join(self.path("back"), "tokenizer.model"), "rb").read())


class ForeignFiles(Convert):
    TIKTOKEN = "IQ== 0\nIg== 1\nIw== 2\n"

    def test_tiktoken_beside_a_tokenizer_json(self):
        source = self.exported(tiny("qwen2"))
        plain = self.converted(source)[1]
        for text in (self.TIKTOKEN, self.TIKTOKEN.replace("\n", "\r\n")):
            self.write_text(source, "tokenizer.model", text)
            _, keys, warnings = self.converted(source)
            self.assertEqual((keys, warnings), (plain, []))

    def test_other_files_in_the_place_of_a_sentencepiece_model(self):
        source = self.exported(tiny("qwen2"))
        plain = self.converted(source)[1]
        for text, word in (("", "no pieces"), ("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "git lfs pull"),
                           ("{}", "tokenizer.model")):
            self.write_text(source, "tokenizer.model", text)
            _, keys, warnings = self.converted(source)
            self.assertEqual(keys, plain)
            self.assertEqual(len(warnings), 1)
            self.assertIn(word, warnings[0])
            self.assertIn("ignored", warnings[0])

    def test_alone(self):
        source = self.exported(MODEL)
        for text, code, words in ((self.TIKTOKEN, 4, ("tiktoken", "tokenizer.json")),
                                  ("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", 3, ("Git LFS", "git lfs pull")),
                                  ("{}", 3, ("tokenizer.model",))):
            self.write_text(source, "tokenizer.model", text)
            message = self.fails(code, "convert", source, "-o", self.path("x.gguf"))
            for word in words:
                self.assertIn(word, message)
        os.remove(os.path.join(source, "tokenizer.model"))
        for name in ("tekken.json", "own.tiktoken", "spiece.model"):
            self.write_text(source, name, "{}")
            warnings = self.converted(source)[2]
            self.assertEqual(len(warnings), 1)
            self.assertIn(name, warnings[0])
            self.assertIn("no vocabulary", warnings[0])
            os.remove(os.path.join(source, name))

    def test_pointers_of_git_lfs(self):
        source = self.folder_of(llama_tensors(), LLAMA)
        for name in ("config.json", "model.safetensors"):
            self.write_text(source, name, "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 7\n")
            message = self.fails(3, "convert", source, "-o", self.path("x.gguf"))
            self.assertIn(name, message)
            self.assertIn("git lfs pull", message)


if __name__ == "__main__":
    tool.main()
