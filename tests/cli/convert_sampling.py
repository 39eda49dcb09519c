# convert: generation_config.json: sampling defaults, tokens that are never sampled, end-of-generation tokens.
# SPDX-License-Identifier: MIT
import json
import os

import tool
from convert_case import Convert
from tool import MODEL

SAMPLING = "general.sampling."
PUBLISHED = [
    {"bos_token_id": 1, "do_sample": True, "eos_token_id": [2], "temperature": 0.6, "top_p": 0.9, "max_length": 4096, "transformers_version": "4.42.3"},
    {"_from_model_config": True, "bos_token_id": 1, "eos_token_id": 2, "transformers_version": "4.38.1", "trust_remote_code": True},
    {"cache_implementation": "hybrid", "do_sample": True, "top_k": 64, "top_p": 0.95, "pad_token_id": 0},
    {"chat_format": "chatml", "max_window_size": 6144, "num_return_sequences": 1, "max_new_tokens": 512, "min_length": 0, "num_beams": 1,
     "no_repeat_ngram_size": 0, "suppress_tokens": None, "begin_suppress_tokens": None, "forced_bos_token_id": None, "guidance_scale": 1.0},
]


class Generation(Convert):
    def setUp(self):
        super().setUp()
        self.source = self.exported(MODEL)

    def generation(self, config, *warnings):
        self.write_text(self.source, "generation_config.json", json.dumps(config))
        self.out, keys, told = self.converted(self.source)
        self.assertEqual(len(told), len(warnings), told)
        for text, words in zip(told, warnings):
            for word in words:
                self.assertIn(word, text)
        number = lambda v: v if isinstance(v, int) else round(float(v["v"]), 6)
        self.all_keys = keys
        return {k[len(SAMPLING):]: number(v) for k, v in keys.items() if k.startswith(SAMPLING) and isinstance(v, (int, dict))}

    def test_published_files(self):
        found = [self.generation(config) for config in PUBLISHED]
        self.assertEqual(found, [{"temp": 0.6, "top_p": 0.9}, {}, {"top_k": 64, "top_p": 0.95}, {}])

    def test_defaults_are_those_of_the_model(self):
        self.assertEqual(self.generation({"do_sample": True, "temperature": 0.7, "top_k": 20, "top_p": 0.8, "min_p": 0.05, "repetition_penalty": 1.05}),
                         {"temp": 0.7, "top_k": 20, "top_p": 0.8, "min_p": 0.05, "penalty_repeat": 1.05, "penalty_last_n": -1})
        self.assertEqual(self.keys(self.out)[SAMPLING + "top_k"][0], "i32")
        self.assertEqual(self.keys(self.out)[SAMPLING + "temp"][0], "f32")
        facts = self.json("info", self.out)
        self.assertNotIn("ignored", json.dumps(facts.get("sampling", {})))
        # Decoding with the defaults gives the same text as with the options.
        args = ["run", self.out, "-p", "Once", "-n", "12", "--seed", "3"]
        options = ["--temp", "0.7", "--top-k", "20", "--top-p", "0.8", "--min-p", "0.05", "--repeat-penalty", "1.05", "--repeat-last-n", "512"]
        self.assertEqual(self.ok(*args), self.ok(*args, *options))
        self.assertEqual(self.generation({"repetition_penalty": 1.0}), {"penalty_repeat": 1.0})

    def test_a_model_that_does_not_sample(self):
        self.assertEqual(self.generation({"do_sample": False, "temperature": 0.7, "top_k": 20}), {"temp": 0, "top_k": 20})
        args = ["run", self.out, "-p", "Once", "-n", "12"]
        self.assertEqual(self.ok(*args), self.ok(*args, "--temp", "0"))
        self.assertEqual(self.generation({"do_sample": None, "temperature": None}), {})

    def test_values_out_of_range(self):
        self.assertEqual(self.generation({"top_p": 1.5, "temperature": "hot", "top_k": 1.5, "min_p": -0.1},
                                         ("temperature", '"hot"'), ("top_k", "1.5", "whole"), ("top_p", "1.5", "0 to 1"), ("min_p", "-0.1")), {})

    def test_tokens_that_are_never_chosen(self):
        key = "tokenizer.ggml.suppress_tokens"
        self.generation({"suppress_tokens": [7, 5, 7]})
        self.assertEqual(self.all_keys[key]["values"], [5, 7])
        self.generation({"bad_words_ids": [[9], [3, 4], [8]]}, ("1 entries of bad_words_ids",))
        self.assertEqual(self.all_keys[key]["values"], [8, 9])
        self.generation({"suppress_tokens": [-1, 5, 4096]}, ("suppress_tokens has -1",), ("suppress_tokens has 4096",))
        self.assertEqual(self.all_keys[key]["values"], [5])
        self.generation({"suppress_tokens": []})
        self.assertNotIn(key, self.all_keys)

    def test_settings_that_no_key_has(self):
        for name, value in (("begin_suppress_tokens", [220, 50256]), ("forced_bos_token_id", 5), ("forced_eos_token_id", 2), ("num_beams", 4),
                            ("typical_p", 0.9), ("penalty_alpha", 0.6), ("no_repeat_ngram_size", 3), ("min_new_tokens", 8), ("stop_strings", ["x"]),
                            ("guidance_scale", 1.5), ("epsilon_cutoff", 0.01), ("sequence_bias", [[[1], 2.0]]), ("presence_penalty", 1.5)):
            self.generation({name: value}, ("generation_config.json", name, json.dumps(value, separators=(",", ":"))))
            self.generation({name: None})

    def ends(self, config, generation, *warnings, texts=None):
        self.change_json(self.source, "config.json", eos_token_id=config)
        if generation is None and os.path.exists(os.path.join(self.source, "generation_config.json")):
            os.remove(os.path.join(self.source, "generation_config.json"))
            _, self.all_keys, told = self.converted(self.source)
            self.assertEqual(told, [])
        elif generation is None:
            _, self.all_keys, told = self.converted(self.source)
            self.assertEqual(told, [])
        else:
            self.generation({"eos_token_id": generation}, *warnings)
        return [self.all_keys.get("tokenizer.ggml.%s_token_id" % name) for name in ("eos", "eot", "eom")]

    def test_tokens_that_end_a_generation(self):
        self.assertEqual(self.ends(2, None), [2, None, None])
        self.assertEqual(self.ends([2, 884], None), [2, 884, None])
        self.assertEqual(self.ends([884, 2, 468], None), [2, 884, 468])  # EOS is the tokenizer's
        self.assertEqual(self.ends(2, [2, 468]), [2, 468, None])
        self.assertEqual(self.ends([2, 884], 2), [2, None, None])  # generation_config.json takes precedence
        self.assertEqual(self.ends(2, [2, 884, 468, 328], ("eos_token_id", "\"on\"")), [2, 884, 468])
        self.assertEqual(self.ends(2, [2, 5000], ("eos_token_id has 5000",)), [2, None, None])

    def test_a_generation_ends_at_each_of_them(self):
        self.generation({"do_sample": False})
        ids = [t["id"] for t in self.lines("run", self.out, "-p", "Once", "-n", "12") if "id" in t]
        self.assertEqual(len(ids), 12)
        stop = next(i for i in ids[2:] if i not in ids[:2])
        self.generation({"do_sample": False, "eos_token_id": [2, stop]})
        ended = [t["id"] for t in self.lines("run", self.out, "-p", "Once", "-n", "12") if "id" in t]
        self.assertEqual(ended[:2], ids[:2])
        self.assertLess(len(ended), 12)

    def test_a_message_end_keeps_its_key(self):
        self.add_rows(self.source, 2)
        self.change_json(self.source, "added_tokens.json", **{"<|eom_id|>": 1024, "<|end_of_text|>": 1025})
        self.assertEqual(self.ends([2, 1024, 1025], None), [2, 1025, 1024])

    def test_a_round_trip_keeps_all(self):
        for config in ({"do_sample": True, "temperature": 0.5, "top_k": 20, "top_p": 0.75, "min_p": 0.125, "repetition_penalty": 1.25,
                        "suppress_tokens": [5, 7], "eos_token_id": [2, 884, 468]}, {"do_sample": False, "top_k": 7}, {"top_p": 0.5}):
            self.generation(config)
            back = self.exported(self.out, "back%d" % len(os.listdir(self.folder)))
            again, keys, warnings = self.converted(back)
            self.assertEqual((keys, warnings), ({k: v[1] for k, v in self.keys(self.out).items()}, []), config)
        sequence = self.path("sequence.gguf")
        self.ok("set", self.out, SAMPLING + "sequence=top_k;temperature", "-o", sequence)
        keys = self.converted(self.exported(sequence, "sequence"))[1]
        self.assertEqual(keys, {k: v[1] for k, v in self.keys(sequence).items()})


if __name__ == "__main__":
    tool.main()
