# convert: settings of config.json. Published ones convert without a warning; those that change the output are converted
# or named.
# SPDX-License-Identifier: MIT
import json
import os

import tool
from convert_case import Convert, LLAMA, floats, llama_tensors, read_safetensors, safetensors
from tool import MODEL, tiny

# Settings of published configs in addition to the shape, by the name of a tiny model.
COMMON = {"attention_dropout": 0.0, "initializer_range": 0.02, "use_cache": True, "transformers_version": "4.51.0",
          "torch_dtype": "bfloat16", "pad_token_id": None, "rope_scaling": None, "_name_or_path": "org/name",
          "auto_map": {"AutoConfig": "configuration_x.X"}}
PUBLISHED = {
    "llama3": [{"attention_bias": False, "mlp_bias": False, "pretraining_tp": 1, "hidden_act": "silu", "tie_word_embeddings": False,
                "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "rope_type": "llama3",
                                 "original_max_position_embeddings": 128}},
               {"model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": None, "hidden_act": "silu"},
               {"model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": 4096, "attn_implementation": None},
               {"architectures": ["LLaMAForCausalLM"], "max_sequence_length": 2048, "unsloth_version": "2025.1", "quantization_config": None},
               {"dtype": "bfloat16", "torch_dtype": None, "rope_theta": None, "rope_parameters": {"rope_theta": 500000.0, "rope_type": "default"}}],
    "qwen2": [{"max_window_layers": 1, "use_sliding_window": False, "sliding_window": 131072, "use_mrope": False, "rms_norm_eps": 1e-6},
              {"layer_types": ["full_attention"] * 2, "sliding_window": None, "architectures": ["Qwen2Model"], "unsloth_fixed": True},
              {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 2}],
    "qwen3": [{"attention_bias": False, "max_window_layers": 28, "sliding_window": None, "use_sliding_window": False, "head_dim": 32},
              {"architectures": ["Qwen3ForSequenceClassification"], "id2label": {"0": "x"}, "label2id": {"x": 0}, "classifier_dropout": None}],
    "gemma2": [{"attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0, "cache_implementation": "hybrid", "query_pre_attn_scalar": "head_dim",
                "hidden_activation": "gelu_pytorch_tanh", "hidden_act": "gelu_pytorch_tanh", "attention_bias": False, "sliding_window_size": 64}],
    "gemma3": [{"attn_logit_softcapping": None, "final_logit_softcapping": None, "cache_implementation": "hybrid", "rope_local_base_freq": 10000,
                "query_pre_attn_scalar": "head_dim", "hidden_activation": "gelu_pytorch_tanh", "sliding_window_pattern": 6,
                "use_bidirectional_attention": False, "_sliding_window_pattern": 6,
                "layer_types": ["sliding_attention"] * 5 + ["full_attention", "sliding_attention"]}],
    "phi3": [{"attention_bias": False, "embd_pdrop": 0.0, "resid_pdrop": 0.0, "original_max_position_embeddings": 4096, "sliding_window": 2047,
              "full_attn_mod": 1, "interpolate_factor": 1, "lm_head_bias": False, "mlp_bias": False, "hidden_act": "silu"}],
    "mixtral": [{"output_router_logits": False, "router_aux_loss_coef": 0.02, "router_jitter_noise": 0.0, "sliding_window": None, "hidden_act": "silu"}],
}
# Further settings that some exporters write, with the defaults of their class.
DEFAULTS = {"return_dict": True, "output_hidden_states": False, "output_attentions": False, "torchscript": False, "use_bfloat16": False, "tf_legacy_loss": False,
            "pruned_heads": {}, "chunk_size_feed_forward": 0, "is_encoder_decoder": False, "is_decoder": False, "cross_attention_hidden_size": None,
            "add_cross_attention": False, "tie_encoder_decoder": False, "max_length": 20, "min_length": 0, "do_sample": False, "early_stopping": False,
            "num_beams": 1, "num_beam_groups": 1, "diversity_penalty": 0.0, "temperature": 1.0, "top_k": 50, "top_p": 1.0, "typical_p": 1.0,
            "repetition_penalty": 1.0, "length_penalty": 1.0, "no_repeat_ngram_size": 0, "encoder_no_repeat_ngram_size": 0, "bad_words_ids": None,
            "num_return_sequences": 1, "output_scores": False, "return_dict_in_generate": False, "forced_bos_token_id": None, "forced_eos_token_id": None,
            "remove_invalid_values": False, "exponential_decay_length_penalty": None, "suppress_tokens": None, "begin_suppress_tokens": None,
            "finetuning_task": None, "tokenizer_class": None, "prefix": None, "problem_type": None, "task_specific_params": None, "sep_token_id": None}


class Published(Convert):
    def test_published_configs_convert_without_a_word(self):
        for name, variants in PUBLISHED.items():
            source = self.exported(tiny(name), name)
            path = os.path.join(source, "config.json")
            plain = tool.read_json(path)
            for variant in [{}, DEFAULTS, *variants]:
                more = {k: plain["head_dim"] if v == "head_dim" else v for k, v in {**COMMON, **variant}.items()}
                merged = {**plain, **more}
                if more.get("rope_scaling") is None and name == "llama3":
                    merged.pop("rope_scaling")
                self.write_text(source, "config.json", json.dumps(merged))
                self.write_text(source, "generation_config.json", json.dumps(
                    {"_from_model_config": True, "bos_token_id": 1, "eos_token_id": 2, "transformers_version": "4.51.0", "max_new_tokens": 2048}))
                self.assertEqual(self.converted(source)[2], [], (name, variant))

    def test_gemma3_within_a_larger_model(self):
        """Its text_config omits the defaults of its class."""
        config = {"architectures": ["Gemma3ForConditionalGeneration"], "boi_token_index": 255999, "eoi_token_index": 256000, "image_token_index": 262144,
                  "initializer_range": 0.02, "mm_tokens_per_image": 256, "model_type": "gemma3", "eos_token_id": [1, 2], "torch_dtype": "bfloat16",
                  "vision_config": {"hidden_size": 16, "model_type": "siglip_vision_model"},
                  "text_config": {"hidden_size": 32, "intermediate_size": 32, "model_type": "gemma3_text", "num_hidden_layers": 1,
                                  "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024}}
        p = "language_model.model.layers.0."
        shapes = [("language_model.model.embed_tokens.weight", [12, 32]), ("language_model.model.norm.weight", [32])]
        shapes += [(p + n + ".weight", s) for n, s in (
            ("input_layernorm", [32]), ("post_attention_layernorm", [32]), ("pre_feedforward_layernorm", [32]), ("post_feedforward_layernorm", [32]),
            ("self_attn.q_proj", [2048, 32]), ("self_attn.k_proj", [1024, 32]), ("self_attn.v_proj", [1024, 32]), ("self_attn.o_proj", [32, 2048]),
            ("self_attn.q_norm", [256]), ("self_attn.k_norm", [256]), ("mlp.gate_proj", [32, 32]), ("mlp.up_proj", [32, 32]), ("mlp.down_proj", [32, 32]))]
        shapes += [("vision_tower.x.weight", [2]), ("vision_tower.y.weight", [2]), ("multi_modal_projector.z", [2])]
        tensors = []
        for i, (name, shape) in enumerate(shapes):
            n = shape[0] * (shape[1] if len(shape) > 1 else 1)
            tensors.append((name, "F32", shape, floats(n, i)))
        source = self.folder_of(tensors, config)
        self.write_text(source, "preprocessor_config.json", "{}")
        _, keys, warnings = self.converted(source)
        self.assertEqual(len(warnings), 1, warnings)
        self.assertIn("1 of multi_modal_projector.*, 2 of vision_tower.*", warnings[0])
        expected = {"attention.head_count": 8, "attention.head_count_kv": 4, "attention.key_length": 256, "context_length": 131072,
                    "attention.sliding_window": 1024, "block_count": 1, "rope.scaling.type": "linear"}
        self.assertEqual({k: keys["gemma3." + k] for k in expected}, expected)
        self.assertEqual(float(keys["gemma3.rope.freq_base"]["v"]), 1e6)


class Settings(Convert):
    def warnings(self, name, *words, **config):
        """Asserts the words of the only warning (no words: no warning) and returns the keys."""
        source = self.path(name)
        if not os.path.isdir(source):
            self.exported(tiny(name), name)
            self.plain = tool.read_json(os.path.join(source, "config.json"))
        self.write_text(source, "config.json", json.dumps({**self.plain, **config}))
        _, keys, warnings = self.converted(source)
        self.assertEqual(len(warnings), bool(words), (config, warnings))
        for word in words:
            self.assertIn(word, warnings[0])
        return keys

    def test_settings_that_nothing_carries_over(self):
        for name, value in (("logit_scale", 0.0625), ("embedding_multiplier", 12.0), ("residual_multiplier", 0.22), ("attention_multiplier", 0.5),
                            ("rope_ratio", 2), ("norm_topk_prob", False), ("is_causal", False), ("mup_scale", 3), ("no_rope_layers", [1, 0]),
                            ("temperature", 0.7), ("use_bidirectional_attention", True), ("sparse", {"a": 1}), ("num_beams", 4)):
            self.warnings("qwen2", "config.json", name, json.dumps(value, separators=(",", ":")), **{name: value})
        for name, value in (("logit_scale", 1), ("logit_scale", 1.0), ("is_causal", True), ("unknown", None), ("unknown", False),
                            ("unknown", []), ("unknown", {}), ("unknown", ""), ("rope_ratio", 1)):
            self.warnings("qwen2", **{name: value})

    def test_activations(self):
        self.warnings("qwen2", "gelu", "SiLU", hidden_act="gelu")
        self.warnings("qwen2", "relu2", hidden_act="relu2")
        self.warnings("qwen2", hidden_act="swish")

    def test_activations_of_gemma(self):
        self.warnings("gemma2", "silu", "GELU", hidden_act="silu")
        self.warnings("gemma2", hidden_act="silu", hidden_activation="gelu_pytorch_tanh")  # the newer one wins
        self.warnings("gemma2", hidden_act="gelu")

    def test_caps(self):
        self.warnings("qwen2", "final_logit_softcapping", "30", "qwen2", final_logit_softcapping=30.0)
        self.warnings("qwen2", "attn_logit_softcapping", attn_logit_softcapping=50.0)

    def test_caps_of_gemma(self):
        keys = self.warnings("gemma3", final_logit_softcapping=20.0)
        self.assertEqual(float(keys["gemma3.final_logit_softcapping"]["v"]), 20)
        self.warnings("gemma3", "attn_logit_softcapping", attn_logit_softcapping=50.0)

    def test_caps_that_a_config_switches_off(self):
        self.warnings("gemma2", "attn_logit_softcapping is null", attn_logit_softcapping=None)

    def test_windows_of_architectures_without(self):
        self.warnings("qwen2", "sliding_window is 16", "16", "qwen2", sliding_window=16)
        self.warnings("qwen2", sliding_window=16, use_sliding_window=False)
        self.warnings("qwen2", sliding_window=100000)
        self.warnings("qwen2", sliding_window=16, max_window_layers=2)
        self.warnings("qwen2", "sliding_window is 16", sliding_window=16, max_window_layers=1)
        self.warnings("qwen2", sliding_window=16, layer_types=["full_attention"] * 2)
        self.warnings("qwen2", "sliding_window", sliding_window=16, layer_types=["full_attention", "sliding_attention"])
        self.assertIn("chunked", self.refused("qwen2", 4, layer_types=["chunked_attention"] * 2))
        self.assertIn("2 layers", self.refused("qwen2", 3, layer_types=["full_attention"]))

    def refused(self, name, code, **config):
        self.write_text(self.path(name), "config.json", json.dumps({**self.plain, **config}))
        return self.fails(code, "convert", self.path(name), "-o", self.path("refused.gguf"))

    def test_windows_of_gemma3(self):
        pattern, base = "gemma3.attention.sliding_window_pattern", "gemma3.rope.freq_base_swa"
        keys = self.warnings("gemma3")
        self.assertFalse({pattern, base} & set(keys))
        keys = self.warnings("gemma3", sliding_window_pattern=3, rope_local_base_freq=20000)
        self.assertEqual((keys[pattern], float(keys[base]["v"])), (3, 20000))
        n = self.plain["num_hidden_layers"]
        types = ["sliding_attention", "full_attention", "full_attention"] + ["sliding_attention"] * (n - 3)
        keys = self.warnings("gemma3", layer_types=types)
        self.assertEqual(keys[pattern]["values"], [t == "sliding_attention" for t in types])
        out = self.converted(self.path("gemma3"))[0]
        again, back, warnings = self.converted(self.exported(out, "again"))
        self.assertEqual((back, warnings), ({k: v[1] for k, v in self.keys(out).items()}, []))
        both = {"full_attention": {"rope_type": "default", "rope_theta": 1e6}, "sliding_attention": {"rope_type": "default", "rope_theta": 30000.0}}
        self.plain.pop("rope_theta")
        keys = self.warnings("gemma3", rope_parameters=both)
        self.assertEqual((float(keys["gemma3.rope.freq_base"]["v"]), float(keys[base]["v"])), (1e6, 30000))

    def test_windows_of_gemma2_and_phi3(self):
        keys = self.warnings("gemma2", layer_types=["sliding_attention", "full_attention"] * 2)
        self.assertEqual(keys["gemma2.attention.sliding_window"], self.plain["sliding_window"])
        self.warnings("gemma2", "sliding_window", layer_types=["full_attention", "sliding_attention"] * 2)

    def test_scales_of_attention(self):
        self.warnings("gemma3", "query_pre_attn_scalar is 100", query_pre_attn_scalar=100)
        self.warnings("gemma3", query_pre_attn_scalar=self.plain["head_dim"])

    def test_rope(self):
        yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128}
        keys = self.warnings("qwen2", rope_scaling={**yarn, "beta_fast": 16, "beta_slow": 2.0, "attention_factor": 1.0})
        get = lambda name: float(keys["qwen2.rope.scaling." + name]["v"])
        self.assertEqual((get("factor"), get("yarn_beta_fast"), get("yarn_beta_slow")), (4, 16, 2))
        self.assertAlmostEqual(get("attn_factor"), 1 / 1.138629436, places=6)
        out = self.converted(self.path("qwen2"))[0]
        again, back, warnings = self.converted(self.exported(out, "again"))
        self.assertEqual(warnings, [])
        self.assertAlmostEqual(float(back["qwen2.rope.scaling.attn_factor"]["v"]), get("attn_factor"), places=6)
        self.assertEqual({k: v for k, v in back.items() if not k.endswith("attn_factor")},
                         {k: v for k, v in keys.items() if not k.endswith("attn_factor")})
        keys = self.warnings("qwen2", rope_scaling={**yarn, "mscale": 1.0, "mscale_all_dim": 0.5})
        self.assertAlmostEqual(get("attn_factor"), 1 / (1 + 0.05 * 1.3862943611), places=6)
        self.warnings("qwen2", "rope_scaling.truncate", rope_scaling={**yarn, "truncate": 1})
        self.warnings("qwen2", "rope_scaling.mrope_section", "[16,24,24]", rope_scaling={**yarn, "mrope_section": [16, 24, 24]})
        keys = self.warnings("qwen2", rope_parameters={"rope_type": "default", "rope_theta": 1e6, "partial_rotary_factor": 0.5})
        self.assertEqual(keys["qwen2.rope.dimension_count"], 8)
        self.warnings("qwen2", "rope_parameters.alpha", rope_parameters={"rope_type": "default", "rope_theta": 1e6, "alpha": 1000.0})

    def test_long_rope(self):
        keys = self.warnings("phi3-longrope")
        usual = keys["phi3.rope.scaling.attn_factor"]
        scaling = tool.read_json(os.path.join(self.path("phi3-longrope"), "config.json"))["rope_scaling"]
        keys = self.warnings("phi3-longrope", rope_scaling={**scaling, "attention_factor": 1.25})
        self.assertEqual(float(keys["phi3.rope.scaling.attn_factor"]["v"]), 1.25)
        self.assertNotEqual(usual, keys["phi3.rope.scaling.attn_factor"])
        self.warnings("phi3-longrope", "rope_scaling.long_mscale", "1.2", rope_scaling={**scaling, "long_mscale": 1.2})
        # RoPE on a part of each head: 12 of 16 dimensions.
        model = tiny("phi3-longrope")
        back, keys, _ = self.converted(self.exported(model, "again"))
        self.assertEqual(keys["phi3.rope.dimension_count"], 12)
        self.assertEqual(keys["phi3.rope.scaling.attn_factor"], self.keys(model)["phi3.rope.scaling.attn_factor"][1])
        tokens = lambda path: self.lines("run", path, "--tokens", "5,6,7,8", "-n", "6", "--temp", "0")
        self.assertEqual(tokens(back), tokens(model))

    def test_other_classes_and_stored_quantization(self):
        self.warnings("qwen2", "OwnForCausalLM", architectures=["OwnForCausalLM"])
        self.warnings("qwen2", "quantization_config (awq)", quantization_config={"quant_method": "awq", "bits": 4})
        self.warnings("qwen2", quantization_config=None)


class Folders(Convert):
    def setUp(self):
        super().setUp()
        self.source = self.exported(MODEL)

    def warned(self, *warnings):
        _, keys, told = self.converted(self.source)
        self.assertEqual(len(told), len(warnings), told)
        for text, words in zip(told, warnings):
            for word in words:
                self.assertIn(word, text)
        return keys

    def modules(self, *kinds):
        names = {"Transformer": ""}
        self.write_text(self.source, "modules.json", json.dumps([
            {"idx": i, "name": str(i), "path": names.get(kind, "%d_%s" % (i, kind)), "type": "sentence_transformers.models." + kind}
            for i, kind in enumerate(kinds)]))

    def test_pooling(self):
        self.modules("Transformer", "Pooling", "Normalize")
        modes = ["cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"]
        for chosen, value in (("mean_tokens", 1), ("cls_token", 2), ("lasttoken", 3)):
            self.write_text(self.source, "1_Pooling/config.json", json.dumps({"word_embedding_dimension": 256, "include_prompt": True,
                                                                              **{"pooling_mode_" + m: m == chosen for m in modes}}))
            self.assertEqual(self.warned()["llama.pooling_type"], value)
        os.remove(os.path.join(self.source, "modules.json"))
        self.assertEqual(self.warned()["llama.pooling_type"], 3)
        self.write_text(self.source, "1_Pooling/config.json", '{"pooling_mode":"cls"}')
        self.assertEqual(self.warned()["llama.pooling_type"], 2)

    def test_pooling_that_no_key_has(self):
        self.modules("Transformer", "Pooling")
        for config, word in (({"pooling_mode_max_tokens": True}, "max"), ({"pooling_mode_max_tokens": True, "pooling_mode_cls_token": True}, "cls, max"),
                             ({}, "none"), ({"pooling_mode": "new"}, "new")):
            self.write_text(self.source, "1_Pooling/config.json", json.dumps(config))
            self.assertNotIn("llama.pooling_type", self.warned(("1_Pooling/config.json", word)))

    def test_other_modules(self):
        self.modules("Transformer", "Dense", "Normalize")
        self.warned(("modules.json", '"1_Dense"', "(Dense)"))
        self.write_text(self.source, "modules.json", "[]")
        self.change_json(self.source, "config_sentence_transformers.json", prompts={"query": "Q: "}, default_prompt_name=None)
        self.warned()
        self.change_json(self.source, "config_sentence_transformers.json", default_prompt_name="query")
        self.change_json(self.source, "sentence_bert_config.json", max_seq_length=512, do_lower_case=True)
        self.warned(("default prompt", '"query"'), ("do_lower_case",))

    def test_files_beside_the_model(self):
        for name, word in (("adapter_config.json", "adapter"), ("quantize_config.json", "stored"), ("preprocessor_config.json", "text alone")):
            self.write_text(self.source, name, "{}")
            self.warned((name, word))
            os.remove(os.path.join(self.source, name))
        for name in ("README.md", "processor_config.json", "special_tokens_map.json", "training_args.bin", "model.onnx"):
            self.write_text(self.source, name, "{}")
        self.warned()

    def test_files_of_tensors_that_are_not_read(self):
        with open(os.path.join(self.source, "model.safetensors"), "rb") as file:
            content = file.read()
        self.write_text(self.source, "consolidated.safetensors", content)  # the same weights in Mistral's format
        self.warned()
        self.write_text(self.source, "mtp.safetensors", content)
        self.warned(('"mtp.safetensors"',))

    def test_folders_without_weights_say_what_they_are(self):
        weights = os.path.join(self.source, "model.safetensors")
        os.rename(weights, os.path.join(self.folder, "kept"))
        for name, word in (("adapter_model.safetensors", "adapter"), ("pytorch_model.bin", "pickle"), ("consolidated.safetensors", "other names")):
            self.write_text(self.source, name, "x")
            message = self.fails(4, "convert", self.source, "-o", self.path("x.gguf"))
            self.assertIn("no model.safetensors", message)
            self.assertIn(word, message)
            os.remove(os.path.join(self.source, name))
        self.fails(1, "convert", self.source, "-o", self.path("x.gguf"))

    def test_warnings_go_to_standard_error(self):
        self.write_text(self.source, "adapter_config.json", "{}")
        out = self.path("o.gguf")
        result = tool.run("convert", self.source, "-o", out)
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr.decode(), "ggufx: warning: adapter_config.json is not used: the adapter is not merged into the weights\n")
        self.assertTrue(result.stdout.startswith(out.encode()))
        result = tool.run("convert", self.source, "-o", out, "--force", "--quiet")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))

    def test_tensors_of_other_files_say_what_they_are(self):
        for name, word in (("base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight", "adapter"), ("model.layers.0.mlp.up_proj.qweight", "quantized"),
                           ("model.layers.0.mlp.up_proj.weight_packed", "quantized"), ("odd", "not part of a model of type llama")):
            self.write_text(self.source, "model.safetensors", safetensors([(name, "F32", [4], bytes(16))]))
            self.assertIn(word, self.fails(4, "convert", self.source, "-o", self.path("x.gguf")))

    def test_tensors_that_are_computed(self):
        path = os.path.join(self.source, "model.safetensors")
        tensors, metadata = read_safetensors(path)
        more = [("model.layers.0.self_attn.rotary_emb.inv_freq", "F32", [32], bytes(128))]
        self.write_text(self.source, "model.safetensors", safetensors([(n, *t) for n, t in tensors.items()] + more, metadata))
        self.warned()


if __name__ == "__main__":
    tool.main()
