# convert: spaces before and within a text, by normalizers, pre-tokenizers, settings and SentencePiece's model.
# SPDX-License-Identifier: MIT
import json
import os

import tool
from convert_case import Convert, field, llama_tensors, piece, varint
from tool import MODEL, tiny

SIGN = "\u2581"
TEXT = "Once upon a time"
WITH, WITHOUT = [1, 884, 468, 328, 261, 557], [1, 679, 387, 468, 328, 261, 557]  # MODEL's ids of TEXT
PREPEND = {"type": "Prepend", "prepend": SIGN}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": SIGN}
SPLIT = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}


def metaspace(**more):
    return {"type": "Metaspace", "replacement": SIGN, "split": False, **more}


def steps(name, *list_of):
    return {"type": "Sequence", name: list(list_of)}


class Spaces(Convert):
    """MODEL's vocabulary as a tokenizer.json of its pieces and merges."""

    def setUp(self):
        super().setUp()
        self.source = self.exported(MODEL)
        keys = self.keys(MODEL)
        tokens = keys["tokenizer.ggml.tokens"][1]["values"]
        scores = [float(s["v"]) for s in keys["tokenizer.ggml.scores"][1]["values"]]
        ids = {t: i for i, t in enumerate(tokens)}
        merges = []
        for i in sorted(range(259, len(tokens)), key=lambda i: -scores[i]):
            merges += [[tokens[i][:k], tokens[i][k:]] for k in range(1, len(tokens[i])) if tokens[i][:k] in ids and tokens[i][k:] in ids]
        self.tokenizer = {"added_tokens": [{"id": i, "content": t, "special": True} for i, t in enumerate(tokens[:3])],
                          "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": True, "vocab": ids, "merges": merges}}

    def prefix(self, *warnings, text=TEXT, **tokenizer):
        """Returns the key, and the ids of the text."""
        if os.path.exists(os.path.join(self.source, "tokenizer.model")) and tokenizer:
            os.remove(os.path.join(self.source, "tokenizer.model"))
        if tokenizer:
            self.write_text(self.source, "tokenizer.json", json.dumps({**self.tokenizer, **tokenizer}))
        out, keys, told = self.converted(self.source)
        self.assertEqual(len(told), len(warnings), told)
        for line, words in zip(told, warnings):
            for word in words:
                self.assertIn(word, line)
        self.last = out
        return keys.get("tokenizer.ggml.add_space_prefix"), self.token_ids(out, text)

    def test_normalizers(self):
        self.assertEqual(self.prefix(normalizer=steps("normalizers", PREPEND, REPLACE)), (True, WITH))
        self.assertEqual(self.prefix(normalizer=REPLACE), (False, WITHOUT))
        self.assertEqual(self.prefix(normalizer=REPLACE, pre_tokenizer=SPLIT), (False, WITHOUT))  # gemma's
        self.assertEqual(self.prefix(normalizer=steps("normalizers", REPLACE, PREPEND)), (True, WITH))

    def test_metaspace(self):
        for settings, expected in (({"prepend_scheme": "always"}, WITH), ({"prepend_scheme": "first"}, WITH),
                                   ({"prepend_scheme": "never"}, WITHOUT), ({"add_prefix_space": True}, WITH),
                                   ({"add_prefix_space": False}, WITHOUT), ({}, WITH)):
            self.assertEqual(self.prefix(pre_tokenizer=metaspace(**settings)), (expected == WITH, expected), settings)
        self.assertEqual(self.prefix(pre_tokenizer=steps("pretokenizers", metaspace(prepend_scheme="never"))), (False, WITHOUT))

    def test_the_settings_win(self):
        for name in ("add_prefix_space", "add_dummy_prefix"):
            for flag, expected in ((False, WITHOUT), (True, WITH)):
                for normalizer in (REPLACE, steps("normalizers", PREPEND, REPLACE)):
                    self.change_json(self.source, "tokenizer_config.json", **{name: flag})
                    self.assertEqual(self.prefix(normalizer=normalizer), (flag, expected), (name, flag))
            self.change_json(self.source, "tokenizer_config.json", **{name: None})
        self.assertEqual(self.prefix(normalizer=REPLACE), (False, WITHOUT))
        for legacy in (True, False):  # concerns only text after special tokens
            self.change_json(self.source, "tokenizer_config.json", legacy=legacy)
            self.assertEqual(self.prefix(pre_tokenizer=metaspace(prepend_scheme="first")), (True, WITH))

    def test_settings_beside_a_sentencepiece_model(self):
        self.assertEqual(self.prefix(), (True, WITH))
        self.change_json(self.source, "tokenizer_config.json", add_prefix_space=False)
        self.assertEqual(self.prefix(), (False, WITHOUT))
        self.change_json(self.source, "tokenizer_config.json", add_prefix_space=None)
        stub = {"added_tokens": [], "model": {"type": "BPE", "vocab": {}, "merges": []}}
        for more, expected in (({"normalizer": REPLACE}, WITHOUT), ({"normalizer": None, "pre_tokenizer": None}, WITH), ({}, WITH)):
            self.write_text(self.source, "tokenizer.json", json.dumps({**stub, **more}))
            self.assertEqual(self.prefix(), (expected == WITH, expected), more)

    def test_steps_that_no_key_has_are_named(self):
        nfkc, digits = {"type": "NFKC"}, {"type": "Digits", "individual_digits": True}
        self.prefix(("normalizer", "NFKC"), normalizer=steps("normalizers", nfkc, REPLACE))
        self.prefix(("normalizer", '"!"'), normalizer=steps("normalizers", REPLACE, {**REPLACE, "content": "!"}))
        self.prefix(("normalizer", "Prepend"), normalizer=steps("normalizers", {**PREPEND, "prepend": "x"}, REPLACE))
        self.prefix(("pre_tokenizer", "Digits"), normalizer=REPLACE, pre_tokenizer=digits)
        self.prefix(("pre_tokenizer", "Split"), normalizer=REPLACE, pre_tokenizer={**SPLIT, "pattern": {"Regex": "a"}})
        self.prefix(("dropout 0.1",), normalizer=REPLACE, model={**self.tokenizer["model"], "dropout": 0.1})
        self.prefix(normalizer=REPLACE, model={**self.tokenizer["model"], "dropout": None, "end_of_word_suffix": ""})

    def test_words_apart_are_named_where_tokens_span_them(self):
        apart = metaspace(split=True)
        self.prefix(pre_tokenizer=apart)
        vocab = dict(self.tokenizer["model"]["vocab"])
        del vocab["z"]
        vocab[SIGN + SIGN] = 1022
        self.prefix(("pre_tokenizer", "Metaspace"), pre_tokenizer=apart, model={**self.tokenizer["model"], "vocab": vocab})

    def test_byte_level(self):
        source = self.source = self.exported(tiny("qwen2"), "bytes")
        self.change_json(source, "tokenizer_config.json", add_prefix_space=False)
        self.change_json(source, "tokenizer.json", normalizer={"type": "NFC"})
        self.assertEqual(self.prefix(text="hello"), (None, [256, 273, 78]))
        self.change_json(source, "tokenizer_config.json", add_prefix_space=True)
        self.change_json(source, "tokenizer.json", normalizer={"type": "Lowercase"})
        self.prefix(("add_prefix_space is true",), ("normalizer", "Lowercase"))

    def test_other_settings_of_the_tokenizer(self):
        self.change_json(self.source, "tokenizer_config.json", split_special_tokens=False, do_lower_case=False)
        self.prefix()
        self.change_json(self.source, "tokenizer_config.json", split_special_tokens=True, do_lower_case=True)
        self.prefix(("split_special_tokens",), ("do_lower_case",))

    def sentencepiece(self, normalizer, trainer=b""):
        pieces = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) + piece(SIGN, -2, 1) + piece("a", -3, 1)
        pieces += piece(SIGN + "a", -1, 1) + field(2, 2, field(3, 0, varint(2)) + trainer)
        if normalizer is not None:
            pieces += field(3, 2, normalizer)
        self.source = self.folder_of(llama_tensors(vocab=6), name="s%d" % len(os.listdir(self.folder)), model=pieces)

    def flag(self, number, value):
        return field(number, 0, varint(value))

    def test_the_normalizer_of_a_sentencepiece_model(self):
        merges = "tokenizer.ggml.remove_extra_whitespaces"
        for spec, prefix, merged, ids in (
                (self.flag(3, 1) + self.flag(4, 0), True, False, [1, 3, 3, 5, 3, 5, 3]),
                (self.flag(3, 0) + self.flag(4, 0), False, False, [1, 3, 5, 3, 5, 3]),
                (self.flag(3, 1) + self.flag(4, 1), True, True, [1, 5, 5]),
                (self.flag(3, 0) + self.flag(4, 1), False, True, [1, 4, 5]),
                (b"", True, True, [1, 5, 5]), (None, True, True, [1, 5, 5])):  # true is the format's default
            self.sentencepiece(spec)
            self.assertEqual(self.prefix(text="  a  a "), (prefix, ids), spec)
            keys = self.keys(self.last)
            self.assertEqual(keys.get(merges, ("bool", False))[1], merged)
            again = self.converted(self.exported(self.last, "again%d" % len(os.listdir(self.folder))))[0]
            self.assertEqual(self.keys(again), {**keys, "general.name": self.keys(again)["general.name"]})

    def test_what_no_key_has_of_a_sentencepiece_model_is_named(self):
        plain = self.flag(3, 1) + self.flag(4, 0)
        self.sentencepiece(plain + field(2, 2, b"") + field(1, 2, b"identity"))
        self.prefix(text="a")
        self.sentencepiece(plain + field(2, 2, b"\1\2"))
        self.prefix(("precompiled_charsmap",), text="a")
        self.sentencepiece(plain + self.flag(5, 0))
        self.prefix(("escape_whitespaces",), text="a")
        self.sentencepiece(plain, self.flag(24, 1))
        self.prefix(("treat_whitespace_as_suffix",), text="a")


if __name__ == "__main__":
    tool.main()
