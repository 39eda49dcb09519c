// config.json <-> the keys "ARCH.*" of a GGUF.
// SPDX-License-Identifier: MIT
#include "convert/model_map.hpp"

#include "convert/config_reader.hpp"
#include "convert/meta_lookup.hpp"

#include <algorithm>
#include <cmath>

namespace ggufx::cli {

namespace {

// Defaults of classes in transformers. Configs inside a larger one omit equal values.
struct ClassDefault {
    std::string_view architecture; // name in GGUF
    const char *name;
    uint64_t value;
};
constexpr ClassDefault kClassDefaults[] = {
    {"gemma", "head_dim", 256},
    {"gemma2", "head_dim", 256},
    {"gemma3", "head_dim", 256},
    {"gemma3", "hidden_size", 2304},
    {"gemma3", "intermediate_size", 9216},
    {"gemma3", "num_hidden_layers", 26},
    {"gemma3", "num_attention_heads", 8},
    {"gemma3", "num_key_value_heads", 4},
    {"gemma3", "max_position_embeddings", 131072},
    {"gemma3", "rope_theta", 1000000},
    {"gemma3", "sliding_window", 4096},
    {"qwen3", "head_dim", 128},
};

constexpr const char *kTokenTypesKey = "tokenizer.ggml.token_type_count";

bool is_gemma(const Architecture &a) {
    return std::string_view(a.gguf).starts_with("gemma");
}

bool has_value(const Json &json, const char *name) {
    const Json *value = json.find(name);
    return value && !value->is_null();
}

// Returns YaRN's usual attention factor, which readers multiply by the key's value.
double usual_attention(double factor) {
    return 0.1 * std::log(std::max(factor, 1.0)) + 1;
}

void set_scaling_kind(KeyWriter &keys, const std::string &arch, const std::string &type,
                      const Config &scaling) {
    const double factor = scaling.number("factor").value_or(1);
    keys.text(arch + ".rope.scaling.type", type);
    keys.f32(arch + ".rope.scaling.factor", factor);
    if (type != "yarn") return;
    for (const char *name : {"beta_fast", "beta_slow"})
        if (const auto beta = scaling.number(name))
            keys.f32(arch + ".rope.scaling.yarn_" + name, *beta);
    const double usual = usual_attention(factor), log_factor = usual - 1;
    std::optional<double> attention = scaling.number("attention_factor");
    const auto above = scaling.number("mscale"), below = scaling.number("mscale_all_dim");
    if (!attention && above && below)
        attention = (*above * log_factor + 1) / (*below * log_factor + 1);
    if (attention) keys.f32(arch + ".rope.scaling.attn_factor", *attention / usual);
}

void set_long_scaling(KeyWriter &keys, const std::string &arch, const Config &config,
                      const Config &scaling, uint64_t original) {
    const double ratio = static_cast<double>(config.count("max_position_embeddings", UINT32_MAX)) /
                         static_cast<double>(original);
    const double stretch = std::log(ratio) / std::log(static_cast<double>(original));
    const double usual = ratio > 1 ? std::sqrt(1 + stretch) : 1;
    (void)scaling.find("factor"); // the ratio itself
    keys.f32(arch + ".rope.scaling.attn_factor",
             scaling.number("attention_factor").value_or(usual));
}

void set_scaling(KeyWriter &keys, const std::string &arch, const Config &config) {
    const std::string type = scaling_type(config);
    if (type.empty() || type == "default" || type == "llama3")
        return; // llama3: a tensor of factors
    const Config scaling = *rope_scaling(config);
    auto original = scaling.count_if("original_max_position_embeddings", UINT32_MAX);
    if (!original) original = config.count_if("original_max_position_embeddings", UINT32_MAX);
    const bool is_long = type == "longrope" || type == "su";
    if (!is_long && type != "linear" && type != "yarn")
        throw Failure(kUnsupported, "config.json: rope scaling \"" + shorten(type, 40) +
                                        "\" is not supported; supported: linear, yarn, llama3, "
                                        "longrope");
    if (!is_long) set_scaling_kind(keys, arch, type, scaling);
    if (original) keys.u32(arch + ".rope.scaling.original_context_length", *original);
    if (is_long && original && *original >= 2)
        set_long_scaling(keys, arch, config, scaling, *original);
}

void set_optional(KeyWriter &keys, const std::string &arch, const Config &config) {
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

void set_decoder_keys(KeyWriter &keys, const Config &config, const Architecture &architecture,
                      const HeadCounts &counts, std::vector<std::string> &notes) {
    const std::string arch = architecture.gguf;
    const auto stated = config.count_if("head_dim");
    const uint64_t dims = stated.value_or(config.count("hidden_size") / counts.n_heads);
    keys.u32(arch + ".attention.head_count_kv", counts.n_kv_heads);
    keys.f32(arch + ".attention.layer_norm_rms_epsilon",
             config.number("rms_norm_eps").value_or(1e-6));
    keys.f32(arch + ".rope.freq_base", rope_base(config));
    const double part = std::clamp(rotated_part(config), 0.0, 1.0);
    keys.u32(arch + ".rope.dimension_count",
             static_cast<uint64_t>(part * static_cast<double>(dims)));
    if (stated) {
        keys.u32(arch + ".attention.key_length", dims);
        keys.u32(arch + ".attention.value_length", dims);
    }
    set_optional(keys, arch, config);
    set_windows(keys, config, architecture, notes);
    set_scaling(keys, arch, config);
    if (arch == "phi3" && scaling_type(config).empty()) {
        const auto original = config.count_if("original_max_position_embeddings", UINT32_MAX);
        if (original) keys.u32(arch + ".rope.scaling.original_context_length", *original);
    }
}

void set_encoder_keys(KeyWriter &keys, const std::string &arch, const Config &config) {
    keys.f32(arch + ".attention.layer_norm_epsilon",
             config.number("layer_norm_eps").value_or(1e-12));
    keys.flag(arch + ".attention.causal", false);
    keys.u32(kTokenTypesKey, config.count_if("type_vocab_size").value_or(2));
}

} // namespace

Json with_class_defaults(const Json &config, const Architecture &architecture) {
    Json out = config;
    for (const ClassDefault &known : kClassDefaults) {
        const bool is_base = std::string_view(known.name) == "rope_theta";
        const bool stated =
            has_value(config, known.name) || (is_base && has_value(config, "rope_parameters"));
        if (known.architecture == architecture.gguf && !stated) out[known.name] = known.value;
    }
    return out;
}

HeadCounts set_model_keys(KeyWriter &keys, const Config &config, const Architecture &architecture,
                          uint64_t n_tokens, std::vector<std::string> &notes) {
    const std::string arch = architecture.gguf;
    HeadCounts counts;
    counts.n_layers = config.count("num_hidden_layers", 65536);
    counts.n_heads = config.count("num_attention_heads");
    counts.n_kv_heads = config.count_if("num_key_value_heads").value_or(counts.n_heads);
    counts.n_experts = config.count_if("num_local_experts").value_or(0);
    counts.tied = config.flag("tie_word_embeddings", is_gemma(architecture));
    keys.u32(arch + ".vocab_size", n_tokens);
    keys.u32(arch + ".context_length", config.count("max_position_embeddings", UINT32_MAX));
    keys.u32(arch + ".embedding_length", config.count("hidden_size"));
    keys.u32(arch + ".block_count", counts.n_layers);
    keys.u32(arch + ".feed_forward_length", config.count("intermediate_size"));
    keys.u32(arch + ".attention.head_count", counts.n_heads);
    if (architecture.computation.encoder)
        set_encoder_keys(keys, arch, config);
    else
        set_decoder_keys(keys, config, architecture, counts, notes);
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

// Returns nothing if RoPE rotates whole heads.
static std::optional<double> rotated_part_of_file(const ggufx_file *file, const std::string &arch) {
    const auto rotated = meta_natural(file, arch + ".rope.dimension_count");
    auto dims = meta_natural(file, arch + ".attention.key_length");
    const uint64_t n_embd = meta_natural(file, arch + ".embedding_length").value_or(0);
    const uint64_t n_heads = meta_natural(file, arch + ".attention.head_count").value_or(0);
    if (!dims && n_heads > 0) dims = n_embd / n_heads;
    if (!rotated || !dims || *dims == 0 || *rotated >= *dims) return std::nullopt;
    return static_cast<double>(*rotated) / static_cast<double>(*dims);
}

static Json scaling_of_file(const ggufx_file *file, const std::string &arch,
                            const std::string &type) {
    const std::string place = arch + ".rope.scaling.";
    const double factor = meta_number(file, place + "factor").value_or(1);
    Json rope = {{"rope_type", type}, {"factor", factor}};
    const auto original = meta_natural(file, place + "original_context_length");
    if (original) rope["original_max_position_embeddings"] = *original;
    if (type != "yarn") return rope;
    for (const char *name : {"beta_fast", "beta_slow"})
        if (const auto beta = meta_number(file, place + "yarn_" + name)) rope[name] = *beta;
    if (const auto attention = meta_number(file, place + "attn_factor"))
        rope["attention_factor"] = *attention * usual_attention(factor);
    return rope;
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
    number("layer_norm_eps", ".attention.layer_norm_epsilon");
    number("rope_theta", ".rope.freq_base");
    if (const auto part = rotated_part_of_file(file, arch)) out["partial_rotary_factor"] = *part;
    natural("sliding_window", ".attention.sliding_window");
    set_window_settings(out, file, architecture);
    number("attn_logit_softcapping", ".attn_logit_softcapping");
    number("final_logit_softcapping", ".final_logit_softcapping");
    natural("num_local_experts", ".expert_count");
    natural("num_experts_per_tok", ".expert_used_count");
    const std::string scaling = meta_text(file, arch + ".rope.scaling.type").value_or("none");
    if (scaling == "linear" || scaling == "yarn") {
        out["rope_scaling"] = scaling_of_file(file, arch, scaling);
    } else {
        natural("original_max_position_embeddings", ".rope.scaling.original_context_length");
    }
    for (const char *name : {"bos", "eos", "pad"}) {
        const std::string key = std::string_view(name) == "pad" ? "padding" : name;
        const auto id = meta_natural(file, "tokenizer.ggml." + key + "_token_id");
        if (id) out[std::string(name) + "_token_id"] = *id;
    }
    const Computation &computation = architecture.computation;
    out["hidden_act"] = computation.encoder ? "gelu"
                        : computation.gelu  ? "gelu_pytorch_tanh"
                                            : "silu";
    if (computation.encoder)
        out["type_vocab_size"] = meta_natural(file, kTokenTypesKey).value_or(2);
    out["tie_word_embeddings"] = tied;
    out["torch_dtype"] = dtype;
    return out;
}

} // namespace ggufx::cli
