// config.json <-> the keys "ARCH.*" of a GGUF.
// SPDX-License-Identifier: MIT
#include "convert/model_map.hpp"

#include "convert/config_reader.hpp"
#include "convert/meta_lookup.hpp"

#include <algorithm>
#include <cmath>

namespace ggufx::cli {

namespace {

bool is_gemma(const Architecture &a) {
    return std::string_view(a.gguf).starts_with("gemma");
}

uint64_t head_dim(const Json &json, const Architecture &architecture) {
    const Config config(json);
    if (const auto n = config.count_if("head_dim")) return *n;
    if (is_gemma(architecture)) return 256; // the defaults of their classes
    if (std::string_view(architecture.gguf) == "qwen3") return 128;
    return config.count("hidden_size") / config.count("num_attention_heads");
}

void set_scaling(KeyWriter &keys, const std::string &arch, const Json &json) {
    const std::string type = scaling_type(json);
    if (type.empty() || type == "default" || type == "llama3")
        return; // llama3: a tensor of factors
    const Config scaling(*rope_scaling(json));
    const auto factor = scaling.number("factor");
    auto original = scaling.count_if("original_max_position_embeddings", UINT32_MAX);
    if (!original) original = Config(json).count_if("original_max_position_embeddings", UINT32_MAX);
    if (type == "linear" || type == "yarn") {
        keys.text(arch + ".rope.scaling.type", type);
        keys.f32(arch + ".rope.scaling.factor", factor.value_or(1));
    } else if (type != "longrope" && type != "su") {
        throw Failure(kUnsupported, "config.json: rope scaling \"" + shorten(type, 40) +
                                        "\" is not supported; supported: linear, yarn, llama3, "
                                        "longrope");
    }
    if (original) keys.u32(arch + ".rope.scaling.original_context_length", *original);
    if (type == "linear" || type == "yarn" || !original || *original < 2) return;
    const double ratio =
        static_cast<double>(Config(json).count("max_position_embeddings", UINT32_MAX)) /
        static_cast<double>(*original);
    const double stretch = std::log(ratio) / std::log(static_cast<double>(*original));
    keys.f32(arch + ".rope.scaling.attn_factor", ratio > 1 ? std::sqrt(1 + stretch) : 1);
}

void set_optional(KeyWriter &keys, const std::string &arch, const Json &json) {
    const Config config(json);
    const Json *use_window = config.find("use_sliding_window");
    const bool windows = !use_window || use_window->truth().value_or(true);
    const auto window = config.count_if("sliding_window", UINT32_MAX);
    if (window && windows) keys.u32(arch + ".attention.sliding_window", *window);
    if (const auto cap = config.number("attn_logit_softcapping")) {
        keys.f32(arch + ".attn_logit_softcapping", *cap);
    }
    if (const auto cap = config.number("final_logit_softcapping")) {
        keys.f32(arch + ".final_logit_softcapping", *cap);
    }
    if (const auto experts = config.count_if("num_local_experts")) {
        keys.u32(arch + ".expert_count", *experts);
        keys.u32(arch + ".expert_used_count", config.count("num_experts_per_tok"));
    }
}

} // namespace

HeadCounts set_model_keys(KeyWriter &keys, const Json &json, const Architecture &architecture,
                          uint64_t n_tokens) {
    const Config config(json);
    const std::string arch = architecture.gguf;
    HeadCounts counts;
    counts.n_layers = config.count("num_hidden_layers", 65536);
    counts.n_heads = config.count("num_attention_heads");
    counts.n_kv_heads = config.count_if("num_key_value_heads").value_or(counts.n_heads);
    counts.n_experts = config.count_if("num_local_experts").value_or(0);
    const Json *tied = config.find("tie_word_embeddings");
    counts.tied = tied ? tied->truth().value_or(false) : is_gemma(architecture);
    const uint64_t dims = head_dim(json, architecture);
    keys.u32(arch + ".vocab_size", n_tokens);
    keys.u32(arch + ".context_length", config.count("max_position_embeddings", UINT32_MAX));
    keys.u32(arch + ".embedding_length", config.count("hidden_size"));
    keys.u32(arch + ".block_count", counts.n_layers);
    keys.u32(arch + ".feed_forward_length", config.count("intermediate_size"));
    keys.u32(arch + ".attention.head_count", counts.n_heads);
    keys.u32(arch + ".attention.head_count_kv", counts.n_kv_heads);
    keys.f32(arch + ".attention.layer_norm_rms_epsilon",
             config.number("rms_norm_eps").value_or(1e-6));
    keys.f32(arch + ".rope.freq_base", rope_base(json));
    const double part = config.number("partial_rotary_factor").value_or(1);
    keys.u32(arch + ".rope.dimension_count",
             static_cast<uint64_t>(std::clamp(part, 0.0, 1.0) * static_cast<double>(dims)));
    if (config.find("head_dim") || is_gemma(architecture) || arch == "qwen3") {
        keys.u32(arch + ".attention.key_length", dims);
        keys.u32(arch + ".attention.value_length", dims);
    }
    set_optional(keys, arch, json);
    set_scaling(keys, arch, json);
    if (arch == "phi3" && scaling_type(json).empty()) {
        const auto original = config.count_if("original_max_position_embeddings", UINT32_MAX);
        if (original) keys.u32(arch + ".rope.scaling.original_context_length", *original);
    }
    return counts;
}

HeadCounts head_counts_of_file(const ggufx_file *file, const Architecture &architecture) {
    const std::string arch = architecture.gguf;
    HeadCounts counts;
    counts.n_layers = meta_natural(file, arch + ".block_count").value_or(0);
    counts.n_heads = meta_natural(file, arch + ".attention.head_count").value_or(0);
    counts.n_kv_heads =
        meta_natural(file, arch + ".attention.head_count_kv").value_or(counts.n_heads);
    counts.n_experts = meta_natural(file, arch + ".expert_count").value_or(0);
    return counts;
}

Json config_of_file(const ggufx_file *file, const Architecture &architecture, const char *dtype,
                    bool tied) {
    const std::string arch = architecture.gguf;
    Json classes = Json::array();
    classes.push_back(architecture.class_name);
    Json out = {{"architectures", classes}, {"model_type", architecture.model_type}};
    const auto natural = [&](const char *name, const char *key) {
        if (const auto n = meta_natural(file, arch + key)) out[name] = *n;
    };
    const auto number = [&](const char *name, const char *key) {
        if (const auto v = meta_number(file, arch + key)) out[name] = *v;
    };
    natural("vocab_size", ".vocab_size");
    natural("max_position_embeddings", ".context_length");
    natural("hidden_size", ".embedding_length");
    natural("num_hidden_layers", ".block_count");
    natural("intermediate_size", ".feed_forward_length");
    natural("num_attention_heads", ".attention.head_count");
    natural("num_key_value_heads", ".attention.head_count_kv");
    natural("head_dim", ".attention.key_length");
    number("rms_norm_eps", ".attention.layer_norm_rms_epsilon");
    number("rope_theta", ".rope.freq_base");
    natural("sliding_window", ".attention.sliding_window");
    number("attn_logit_softcapping", ".attn_logit_softcapping");
    number("final_logit_softcapping", ".final_logit_softcapping");
    natural("num_local_experts", ".expert_count");
    natural("num_experts_per_tok", ".expert_used_count");
    const std::string scaling = meta_text(file, arch + ".rope.scaling.type").value_or("none");
    if (scaling == "linear" || scaling == "yarn") {
        Json rope = {{"rope_type", scaling},
                     {"factor", meta_number(file, arch + ".rope.scaling.factor").value_or(1)}};
        const auto original = meta_natural(file, arch + ".rope.scaling.original_context_length");
        if (original) rope["original_max_position_embeddings"] = *original;
        out["rope_scaling"] = rope;
    } else {
        natural("original_max_position_embeddings", ".rope.scaling.original_context_length");
    }
    for (const char *name : {"bos", "eos", "pad"}) {
        const std::string key = std::string_view(name) == "pad" ? "padding" : name;
        const auto id = meta_natural(file, "tokenizer.ggml." + key + "_token_id");
        if (id) out[std::string(name) + "_token_id"] = *id;
    }
    out["hidden_act"] = is_gemma(architecture) ? "gelu_pytorch_tanh" : "silu";
    out["tie_word_embeddings"] = tied;
    out["torch_dtype"] = dtype;
    return out;
}

} // namespace ggufx::cli
