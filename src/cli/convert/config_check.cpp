// Checks for settings of config.json that compute something different from the GGUF.
// SPDX-License-Identifier: MIT
#include "convert/key_notes.hpp"
#include "convert/model_map.hpp"

#include <algorithm>
#include <cmath>

namespace ggufx::cli {

namespace {

// Keys without effect at any value: training, library classes, tokens (read elsewhere), losses,
// other parts of a larger model, or facts that the tensors show.
constexpr std::string_view kHarmless[] = {
    // names and versions
    "_name_or_path", "name_or_path", "_commit_hash", "auto_map", "model_type", "architectures",
    "transformers_version", "unsloth_version", "unsloth_fixed", "tokenizer_class", "torch_dtype",
    "dtype", "vocab_size", "seq_length", "max_sequence_length", "model_max_length",
    "task_specific_params", "finetuning_task", "problem_type", "id2label", "label2id", "num_labels",
    // how a library runs the model
    "use_cache", "cache_implementation", "_attn_implementation", "_attn_implementation_autoset",
    "_attn_implementation_internal", "attn_implementation", "_experts_implementation",
    "return_dict", "return_dict_in_generate", "output_attentions", "output_hidden_states",
    "output_scores", "torchscript", "use_bfloat16", "tf_legacy_loss", "chunk_size_feed_forward",
    "pretraining_tp", "gradient_checkpointing", "is_decoder", "use_flash_attn",
    "_flash_attn_2_enabled", "remove_invalid_values",
    // training
    "initializer_range", "initializer_factor", "attention_dropout", "hidden_dropout",
    "hidden_dropout_prob", "attention_probs_dropout_prob", "resid_pdrop", "embd_pdrop",
    "attn_pdrop", "classifier_dropout", "output_router_logits", "router_aux_loss_coef",
    "router_jitter_noise", "embedding_dropout",
    // tokens
    "bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id", "sep_token_id", "cls_token_id",
    "mask_token_id", "decoder_start_token_id",
    // biases and norms, shown by the tensors
    "attention_bias", "mlp_bias", "qkv_bias", "lm_head_bias", "bias", "use_bias", "use_qk_norm",
    "qk_norm", "qk_layernorm",
    // images and sound
    "text_config", "vision_config", "audio_config", "mm_tokens_per_image", "boi_token_index",
    "eoi_token_index", "image_token_index", "image_token_id", "video_token_id", "audio_token_id",
    "vision_start_token_id", "vision_end_token_id", "vision_token_id", "projector_hidden_act",
    "vision_feature_layer", "vision_feature_select_strategy",
    // sampling, read in generation_config.json
    "do_sample", "max_length", "max_new_tokens", "early_stopping", "length_penalty",
    // when sliding windows are not used
    "max_window_layers", "use_sliding_window", "sliding_window_size",
    // stated elsewhere
    "original_max_position_embeddings", "rope_type", "finetuned", "quantization_config",
    "compression_config"};

constexpr NeutralSetting kNeutral[] = {
    {"is_causal", "true"},
    {"causal", "true"},
    {"norm_topk_prob", "true"},
    {"scoring_func", "\"softmax\""},
    {"position_embedding_type", "\"rope\""},
    {"position_embedding_type", "\"absolute\""},
    {"embedding_multiplier", "1"},
    {"residual_multiplier", "1"},
    {"lm_head_multiplier", "1"},
    {"logits_scaling", "1"},
    {"logit_scale", "1"},
    {"embedding_scale", "1"},
    {"residual_scale", "1"},
    {"scale_emb", "1"},
    {"rope_ratio", "1"},
    {"rotary_pct", "1"},
    {"rotary_emb_base", "10000"},
    {"full_attn_mod", "1"},
    {"interpolate_factor", "1"},
    {"num_nextn_predict_layers", "0"},
    {"temperature", "1"},
    {"top_k", "50"},
    {"top_p", "1"},
    {"typical_p", "1"},
    {"repetition_penalty", "1"},
    {"diversity_penalty", "0"},
    {"no_repeat_ngram_size", "0"},
    {"encoder_no_repeat_ngram_size", "0"},
    {"min_length", "0"},
    {"num_beams", "1"},
    {"num_beam_groups", "1"},
    {"num_return_sequences", "1"},
};

// Checks attention scales that the library derives from the shape.
void check_query_scale(const Config &config, const Architecture &a,
                       std::vector<std::string> &notes) {
    const auto scalar = config.number("query_pre_attn_scalar");
    const Windows kind = a.computation.windows;
    if (!scalar || (kind != Windows::all_but_second && kind != Windows::all_but_nth)) return;
    const uint64_t n_layers = config.count("num_hidden_layers", 65536);
    const bool large = n_layers == (kind == Windows::all_but_second ? 46 : 62); // the 27B models
    const auto n_embd = static_cast<double>(config.count("hidden_size"));
    const auto n_heads = static_cast<double>(config.count("num_attention_heads"));
    const auto dims = static_cast<double>(config.count("head_dim"));
    const double usual = large ? n_embd / n_heads : dims;
    if (*scalar == usual) return;
    notes.push_back(fmt::format("config.json: query_pre_attn_scalar is {}, but the architecture {} "
                                "of GGUF files has {}: output will change",
                                *scalar, a.gguf, usual));
}

void check_activation(const Config &config, const Architecture &a,
                      std::vector<std::string> &notes) {
    const std::string newer = config.text("hidden_activation"), older = config.text("hidden_act");
    const std::string &name = newer.empty() ? older : newer;
    const bool gelu = name.starts_with("gelu"), silu = name == "silu" || name == "swish";
    if (name.empty() || (a.computation.gelu ? gelu : silu)) return;
    notes.push_back(
        fmt::format("config.json: the activation is {}, but the architecture {} of GGUF "
                    "files has {}: output will change",
                    shorten(name, 40), a.gguf, a.computation.gelu ? "GELU" : "SiLU"));
}

void check_caps(const Config &config, const Architecture &a, std::vector<std::string> &notes) {
    const struct {
        const char *name;
        bool applied;
    } caps[] = {{"attn_logit_softcapping", a.computation.attention_cap},
                {"final_logit_softcapping", a.computation.logit_cap}};
    for (const auto &cap : caps) {
        const Json *stated = config.json().find(cap.name);
        if (stated && stated->is_null() && cap.applied && a.computation.attention_cap)
            notes.push_back(fmt::format("config.json: {} is null, but the architecture {} of GGUF "
                                        "files has one: output will change",
                                        cap.name, a.gguf));
        if (const Json *value = config.find(cap.name); value && !cap.applied)
            notes.push_back(fmt::format("config.json: {} is {}, which the architecture {} of GGUF "
                                        "files does not have: output may change",
                                        cap.name, shorten(value->dump(), 40), a.gguf));
    }
}

// Notes a class that is not of the family ("Qwen3ForCausalLM", "Qwen3Model"); case is ignored.
void check_class(const Json &whole, const Architecture &a, std::vector<std::string> &notes) {
    const Json *list = whole.find("architectures");
    if (!list || !list->is_array()) return;
    const auto lower = [](std::string text) {
        for (char &c : text)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        return text;
    };
    const std::string_view known = a.class_name;
    const std::string family = lower(std::string(known.substr(0, known.find("For"))));
    for (const Json &name : list->elements())
        if (name.text() && !lower(*name.text()).starts_with(family))
            notes.push_back(fmt::format(
                "config.json: the class {} may differ from {}, as which it is converted",
                shorten(*name.text(), 60), a.class_name));
}

// Reports a quantization config of weights that are floats in the files.
void check_quantization(const Json &whole, std::vector<std::string> &notes) {
    for (const char *name : {"quantization_config", "compression_config"}) {
        const Json *value = whole.find(name);
        if (!value || is_neutral(name, *value, {})) continue;
        const Json *method = value->find("quant_method");
        notes.push_back(fmt::format(
            "config.json: {}{} is not used: tensors are taken as they are "
            "stored",
            name, method && method->text() ? " (" + shorten(*method->text(), 40) + ")" : ""));
    }
}

void note_unused(const std::string &name, const Json &value, std::vector<std::string> &notes) {
    const size_t dot = name.rfind('.');
    const std::string_view last =
        std::string_view(name).substr(dot == std::string::npos ? 0 : dot + 1);
    const bool harmless =
        std::find(std::begin(kHarmless), std::end(kHarmless), last) != std::end(kHarmless);
    if (!harmless && !is_neutral(last, value, kNeutral))
        notes.push_back(unused_note("config.json", name, value));
}

} // namespace

std::vector<std::string> config_notes(const Config &config, const Json &whole,
                                      const Architecture &architecture) {
    std::vector<std::string> notes;
    check_class(whole, architecture, notes);
    check_quantization(whole, notes);
    check_activation(config, architecture, notes);
    check_query_scale(config, architecture, notes);
    check_caps(config, architecture, notes);
    for (const UnreadSetting &setting : config.unread())
        note_unused(setting.name, *setting.value, notes);
    if (!whole.find("text_config")) return notes;
    for (size_t i = 0; i < whole.size(); i++)
        if (!config.json().find(whole.keys()[i]))
            note_unused(whole.keys()[i], whole.elements()[i], notes);
    return notes;
}

} // namespace ggufx::cli
