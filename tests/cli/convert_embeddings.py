# convert: embedding models: BERT, and pooling of any architecture, to safetensors and back.
# SPDX-License-Identifier: MIT
import json
import os

import tool
from convert_case import Convert, read_safetensors, safetensors
from tool import tiny

TEXTS = ["Once upon a time", "a little dog", "Tom was happy!"]


class Embeddings(Convert):
    def vectors(self, model):
        lines = self.lines("embed", model, *TEXTS)
        self.assertIn("0.", json.dumps(lines))
        return lines

    def known(self, model):
        """Returns the keys without the texts of unused tokens, which no folder has."""
        keys = {k: v[1] for k, v in self.keys(model).items()}
        kinds = keys["tokenizer.ggml.token_type"]["values"]
        tokens = keys["tokenizer.ggml.tokens"]["values"]
        keys["tokenizer.ggml.tokens"] = [None if k == 5 else t for t, k in zip(tokens, kinds)]
        return keys

    def check_comes_back(self, name):
        model = tiny(name)
        folder = self.exported(model, name)
        back, _, warnings = self.converted(folder)
        keys = self.known(back)
        self.assertEqual(warnings, [])
        self.assertEqual(sorted(self.raw(back)), sorted(self.raw(model)))
        self.assertEqual(keys.pop("general.type"), "model")
        self.assertEqual(keys, self.known(model))
        self.assertEqual(self.vectors(back), self.vectors(model))
        return folder

    def test_bert_comes_back(self):
        folder = self.check_comes_back("bert")
        config = tool.read_json(os.path.join(folder, "config.json"))
        self.assertEqual({k: config[k] for k in ("model_type", "hidden_size", "num_hidden_layers", "type_vocab_size", "hidden_act")},
                         {"model_type": "bert", "hidden_size": 64, "num_hidden_layers": 2, "type_vocab_size": 2, "hidden_act": "gelu"})
        names = read_safetensors(os.path.join(folder, "model.safetensors"))[0]
        self.assertIn("encoder.layer.1.attention.output.LayerNorm.bias", names)
        self.assertEqual(names["embeddings.position_embeddings.weight"][1], [512, 64])

    def test_pooling_of_another_architecture_comes_back(self):
        folder = self.check_comes_back("qwen3-embedding")
        modules = tool.read_json(os.path.join(folder, "modules.json"))
        self.assertEqual([m["type"].rpartition(".")[2] for m in modules], ["Transformer", "Pooling"])
        pooling = tool.read_json(os.path.join(folder, "1_Pooling", "config.json"))
        self.assertEqual([k for k, v in pooling.items() if v is True], ["pooling_mode_lasttoken"])

    def test_a_published_folder_of_bert(self):
        """Tests tensor names of a model with a head, a vocabulary of words alone, and a complete config."""
        model = tiny("bert")
        folder = self.exported(model)
        tensors, metadata = read_safetensors(os.path.join(folder, "model.safetensors"))
        more = [("bert.pooler.dense.weight", "F32", [2], bytes(8)), ("bert.embeddings.position_ids", "I64", [1, 2], bytes(16))]
        self.write_text(folder, "model.safetensors", safetensors([("bert." + n, *t) for n, t in tensors.items()] + more, metadata))
        self.change_json(folder, "config.json", attention_probs_dropout_prob=0.1, hidden_dropout_prob=0.1, classifier_dropout=None,
                         gradient_checkpointing=False, initializer_range=0.02, position_embedding_type="absolute", transformers_version="4.8.2",
                         use_cache=True, _name_or_path="org/name", pad_token_id=0, architectures=["BertModel"])
        words = tool.read_json(os.path.join(folder, "tokenizer.json"))
        ids = {**words["model"]["vocab"], **{t["content"]: t["id"] for t in words["added_tokens"]}}
        tokens = sorted(ids, key=ids.get)
        self.assertEqual(sorted(ids.values()), list(range(len(ids))))  # unused ones are at the end
        os.remove(os.path.join(folder, "tokenizer.json"))
        self.write_text(folder, "vocab.txt", "".join(t + "\n" for t in tokens))
        self.change_json(folder, "tokenizer_config.json", model_max_length=512, never_split=None, tokenize_chinese_chars=True)
        for name, content in (("sentence_bert_config.json", {"max_seq_length": 256, "do_lower_case": False}),
                              ("config_sentence_transformers.json", {"__version__": {"transformers": "4.6.1"}}),
                              ("special_tokens_map.json", {"unk_token": "[UNK]", "sep_token": "[SEP]", "cls_token": "[CLS]"})):
            self.write_text(folder, name, json.dumps(content))
        back, _, warnings = self.converted(folder)
        self.assertEqual(warnings, [])
        keys, expected = self.known(back), self.known(model)
        for key in ("tokens", "token_type", "cls_token_id", "seperator_token_id", "unknown_token_id", "token_type_count"):
            self.assertEqual(keys["tokenizer.ggml." + key], expected["tokenizer.ggml." + key], key)
        self.assertEqual(self.vectors(back), self.vectors(model))

    def test_heads_that_are_left_out_are_named(self):
        folder = self.exported(tiny("bert"))
        for file in ("modules.json", "1_Pooling/config.json"):
            os.remove(os.path.join(folder, file))
        tensors, metadata = read_safetensors(os.path.join(folder, "model.safetensors"))
        more = [("bert.pooler.dense.weight", "F32", [2], bytes(8)), ("cls.predictions.bias", "F32", [2], bytes(8))]
        self.write_text(folder, "model.safetensors", safetensors([(n, *t) for n, t in tensors.items()] + more, metadata))
        _, keys, warnings = self.converted(folder)
        self.assertNotIn("bert.pooling_type", keys)
        self.assertEqual(len(warnings), 1)
        self.assertIn("1 of cls.*, 1 of pooler.*", warnings[0])

    def test_another_way_of_positions_is_named(self):
        folder = self.exported(tiny("bert"))
        self.change_json(folder, "config.json", position_embedding_type="relative_key")
        warnings = self.converted(folder)[2]
        self.assertEqual(len(warnings), 1)
        self.assertIn("position_embedding_type", warnings[0])

    def test_vocabularies_that_no_folder_has_are_named(self):
        plain = tiny("qwen3-embedding")
        other = self.path("t5.gguf")
        self.ok("set", plain, "tokenizer.ggml.model=rwkv", "-o", other)
        result = tool.run("convert", other, "--to", "safetensors", "-o", self.path("rwkv"))
        self.assertEqual(result.returncode, 0)
        self.assertIn(b'"rwkv" is dropped', result.stderr)
        self.assertFalse([n for n in os.listdir(self.path("rwkv")) if n.startswith("tokenizer")])


if __name__ == "__main__":
    tool.main()
