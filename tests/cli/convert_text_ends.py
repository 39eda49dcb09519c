# convert: special tokens around a text, by the post_processor of tokenizer.json.
# SPDX-License-Identifier: MIT
import json

import tool
from convert_case import Convert
from tool import MODEL, tiny

END, FIRST, SECOND = 317, 318, 319  # <|endoftext|>, which is BOS and EOS, <|first|>, <|second|>
HELLO = [256, 273, 78]
A, B = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}
ROWS = {"<|endoftext|>": END, "<|first|>": FIRST, "<|second|>": SECOND}


def special(text):
    return {"SpecialToken": {"id": text, "type_id": 0}}


def template(single, pair=()):
    return {"type": "TemplateProcessing", "single": list(single), "pair": list(pair),
            "special_tokens": {t: {"id": t, "ids": [i], "tokens": [t]} for t, i in ROWS.items()}}


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}


class TextEnds(Convert):
    def setUp(self):
        super().setUp()
        self.source = self.exported(tiny("qwen2"))
        self.settings(add_bos_token=None)

    def settings(self, **members):
        self.change_json(self.source, "tokenizer_config.json", lambda c: [c.pop(k) for k, v in members.items() if v is None],
                         **members)

    def ends(self, post, *warnings):
        """Returns the ids of "hello", and the keys add_*_token."""
        self.change_json(self.source, "tokenizer.json", post_processor=post)
        out, keys, told = self.converted(self.source)
        self.assertEqual(len(told), len(warnings), told)
        for text, words in zip(told, warnings):
            for word in words:
                self.assertIn(word, text)
        flags = {n: keys["tokenizer.ggml.add_%s_token" % n] for n in ("bos", "eos", "sep")
                 if "tokenizer.ggml.add_%s_token" % n in keys}
        self.all_keys = keys
        return self.token_ids(out, "hello"), flags

    def test_a_trailing_end(self):
        for post in (template([A, special("<|endoftext|>")]),
                     {"type": "Sequence", "processors": [BYTES, template([A, special("<|endoftext|>")])]}):
            self.assertEqual(self.ends(post), (HELLO + [END], {"bos": False, "eos": True}))

    def test_a_prompt_prefix_is_kept(self):
        self.assertEqual(self.ends(template([special("<|endoftext|>"), A])), ([END] + HELLO, {"bos": True}))
        self.assertEqual(self.ends(template([special("<|endoftext|>"), A, special("<|endoftext|>")])),
                         ([END] + HELLO + [END], {"bos": True, "eos": True}))

    def test_none(self):
        for post, flags in ((None, {}), (BYTES, {}), (template([A]), {"bos": False})):
            self.assertEqual(self.ends(post), (HELLO, flags))

    def test_tokens_that_are_neither_bos_nor_eos_are_named(self):
        self.assertEqual(self.ends(template([A, special("<|first|>")]), ("<|first|>", "after", "not EOS")),
                         (HELLO, {"bos": False}))
        self.assertEqual(self.ends(template([special("<|first|>"), A]), ("<|first|>", "before", "not BOS")),
                         (HELLO, {"bos": False}))
        self.assertEqual(self.ends(template([special("<|endoftext|>"), special("<|first|>"), A, special("<|second|>")]),
                                   ("<|first|>", "before"), ("<|second|>", "after")), ([END] + HELLO, {"bos": True}))

    def test_a_folder_without_special_tokens_takes_those_of_the_template(self):
        self.settings(bos_token=None, eos_token=None)
        self.change_json(self.source, "config.json", lambda c: [c.pop(k) for k in ("bos_token_id", "eos_token_id")])
        self.assertEqual(self.ends(template([special("<|first|>"), A, special("<|second|>")])),
                         ([FIRST] + HELLO + [SECOND], {"bos": True, "eos": True}))
        self.assertEqual(self.all_keys["tokenizer.ggml.bos_token_id"], FIRST)
        self.assertEqual(self.all_keys["tokenizer.ggml.eos_token_id"], SECOND)

    def test_processors_of_roberta_and_bert(self):
        self.settings(sep_token="<|first|>", eos_token="<|second|>", bos_token="<|endoftext|>")
        cls = ["<|endoftext|>", END]
        self.assertEqual(self.ends({"type": "RobertaProcessing", "sep": ["<|second|>", SECOND], "cls": cls, "trim_offsets": True}),
                         ([END] + HELLO + [SECOND], {"bos": True, "eos": True, "sep": True}))
        self.assertEqual(self.ends({"type": "BertProcessing", "sep": ["<|second|>", SECOND], "cls": cls}),
                         ([END] + HELLO + [SECOND], {"bos": True, "eos": True}))
        self.assertEqual(self.ends({"type": "BertProcessing", "sep": ["<|first|>", FIRST], "cls": cls},
                                   ("<|first|>", "after", "not EOS")), ([END] + HELLO, {"bos": True}))

    def test_separators_of_pairs(self):
        self.settings(sep_token="<|first|>")
        end, sep = special("<|endoftext|>"), special("<|first|>")
        single = [A, end]
        for pair, flags in (([A, end, sep, B, end], {"sep": True}), ([A, end, end, B, end], {"sep": True}),
                            ([A, end, B, end], {})):
            self.assertEqual(self.ends(template(single, pair)), (HELLO + [END], {"bos": False, "eos": True, **flags}))
        self.ends(template(single, [A, end, special("<|second|>"), B, end]), ("<|second|>", "between"))
        # Two prompts in sequence: no separator.
        self.assertEqual(self.ends(template([end, A], [end, A, end, B])), ([END] + HELLO, {"bos": True, "sep": True}))
        self.settings(bos_token="<|second|>")
        start = special("<|second|>")
        self.assertEqual(self.ends(template([start, A], [start, A, start, B])), ([SECOND] + HELLO, {"bos": True}))

    def test_the_config_wins_and_says_so(self):
        self.settings(add_eos_token=False)
        self.assertEqual(self.ends(template([A, special("<|endoftext|>")]), ("add_eos_token is false", "tokenizer.json")),
                         (HELLO, {"bos": False, "eos": False}))
        self.settings(add_eos_token=True)
        self.assertEqual(self.ends(template([A, special("<|endoftext|>")])), (HELLO + [END], {"bos": False, "eos": True}))

    def test_an_embedding_model_takes_its_last_token(self):
        self.settings(eos_token="<|second|>")
        self.write_text(self.source, "modules.json", "[]")
        post = template([A, special("<|endoftext|>")])
        self.assertEqual(self.ends(post), (HELLO + [END], {"bos": False, "eos": True}))
        self.assertEqual((self.all_keys["tokenizer.ggml.eos_token_id"], self.all_keys["tokenizer.ggml.eot_token_id"]), (END, SECOND))

    def test_beside_a_sentencepiece_model(self):
        source = self.source = self.exported(MODEL, "spm")
        self.settings(add_bos_token=None, add_eos_token=None)
        stub = {"added_tokens": [], "model": {"type": "BPE", "vocab": {}, "merges": []}}
        self.write_text(source, "tokenizer.json", json.dumps(stub))
        self.assertEqual(self.ends(template([special("<s>"), A, special("</s>")]))[1], {"bos": True, "eos": True})
        ids, flags = self.ends(template([A, special("</s>")]))
        self.assertEqual((ids[-1], flags), (2, {"bos": False, "eos": True}))
        self.assertNotEqual(ids[0], 1)
        self.assertEqual(self.ends(None)[1], {})

    def test_after_a_round_trip(self):
        self.ends(template([special("<|endoftext|>"), A, special("<|endoftext|>")]))
        out = self.converted(self.source)[0]
        again, keys, warnings = self.converted(self.exported(out, "again"))
        self.assertEqual((keys, warnings), ({k: v[1] for k, v in self.keys(out).items()}, []))
        self.assertEqual(self.token_ids(again, "hello"), [END] + HELLO + [END])


if __name__ == "__main__":
    tool.main()
