// The tables of model_map.hpp: tensor names of each architecture in safetensors and GGUF.
// SPDX-License-Identifier: MIT
#include "convert/model_map.hpp"

#include <charconv>
#include <deque>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

using Rules = std::vector<NameRule>;

Rules operator+(Rules a, const Rules &b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

// Stores a name for the lifetime of the program, because rules keep pointers.
const char *kept(std::string name) {
    static std::deque<std::string> names; // elements do not move
    names.push_back(std::move(name));
    return names.back().c_str();
}

Rules ends(Change norm) {
    return {{"model.embed_tokens.weight", "token_embd.weight", Change::none},
            {"model.norm.weight", "output_norm.weight", norm},
            {"lm_head.weight", "output.weight", Change::none}};
}

Rules attention_in(Change norm, Change q, Change k) {
    return {{"model.layers.{l}.input_layernorm.weight", "blk.{l}.attn_norm.weight", norm},
            {"model.layers.{l}.self_attn.q_proj.weight", "blk.{l}.attn_q.weight", q},
            {"model.layers.{l}.self_attn.k_proj.weight", "blk.{l}.attn_k.weight", k},
            {"model.layers.{l}.self_attn.v_proj.weight", "blk.{l}.attn_v.weight", Change::none},
            {"model.layers.{l}.self_attn.q_proj.bias", "blk.{l}.attn_q.bias", q},
            {"model.layers.{l}.self_attn.k_proj.bias", "blk.{l}.attn_k.bias", k},
            {"model.layers.{l}.self_attn.v_proj.bias", "blk.{l}.attn_v.bias", Change::none}};
}

Rules head_norms(Change norm) {
    return {{"model.layers.{l}.self_attn.q_norm.weight", "blk.{l}.attn_q_norm.weight", norm},
            {"model.layers.{l}.self_attn.k_norm.weight", "blk.{l}.attn_k_norm.weight", norm}};
}

Rules attention_out() {
    return {
        {"model.layers.{l}.self_attn.o_proj.weight", "blk.{l}.attn_output.weight", Change::none},
        {"model.layers.{l}.self_attn.o_proj.bias", "blk.{l}.attn_output.bias", Change::none}};
}

Rules norm_of_ffn(Change norm) {
    return {{"model.layers.{l}.post_attention_layernorm.weight", "blk.{l}.ffn_norm.weight", norm}};
}

// gemma 2 and 3: norms before and after both halves of a block.
Rules norms_around() {
    constexpr Change one = Change::add_one;
    return {
        {"model.layers.{l}.post_attention_layernorm.weight", "blk.{l}.post_attention_norm.weight",
         one},
        {"model.layers.{l}.post_feedforward_layernorm.weight", "blk.{l}.post_ffw_norm.weight", one},
        {"model.layers.{l}.pre_feedforward_layernorm.weight", "blk.{l}.ffn_norm.weight", one}};
}

Rules ffn() {
    return {{"model.layers.{l}.mlp.gate_proj.weight", "blk.{l}.ffn_gate.weight", Change::none},
            {"model.layers.{l}.mlp.up_proj.weight", "blk.{l}.ffn_up.weight", Change::none},
            {"model.layers.{l}.mlp.down_proj.weight", "blk.{l}.ffn_down.weight", Change::none}};
}

Rules experts() {
    constexpr Change stack = Change::expert;
    return {{"model.layers.{l}.block_sparse_moe.gate.weight", "blk.{l}.ffn_gate_inp.weight",
             Change::none},
            {"model.layers.{l}.block_sparse_moe.experts.{e}.w1.weight",
             "blk.{l}.ffn_gate_exps.weight", stack},
            {"model.layers.{l}.block_sparse_moe.experts.{e}.w3.weight",
             "blk.{l}.ffn_up_exps.weight", stack},
            {"model.layers.{l}.block_sparse_moe.experts.{e}.w2.weight",
             "blk.{l}.ffn_down_exps.weight", stack}};
}

Rules phi3() {
    const Rules in = {
        {"model.layers.{l}.input_layernorm.weight", "blk.{l}.attn_norm.weight", Change::none},
        {"model.layers.{l}.self_attn.qkv_proj.weight", "blk.{l}.attn_qkv.weight", Change::none}};
    const Rules out = {
        {"model.layers.{l}.mlp.gate_up_proj.weight", "blk.{l}.ffn_up.weight", Change::none},
        {"model.layers.{l}.mlp.down_proj.weight", "blk.{l}.ffn_down.weight", Change::none}};
    return ends(Change::none) + in + attention_out() + norm_of_ffn(Change::none) + out;
}

Rules bert() {
    constexpr Change none = Change::none;
    Rules rules = {{"embeddings.word_embeddings.weight", "token_embd.weight", none},
                   {"embeddings.LayerNorm.weight", "token_embd_norm.weight", none},
                   {"embeddings.LayerNorm.bias", "token_embd_norm.bias", none},
                   {"embeddings.position_embeddings.weight", "position_embd.weight", none},
                   {"embeddings.token_type_embeddings.weight", "token_types.weight", none}};
    static constexpr const char *kPairs[][2] = {
        {"encoder.layer.{l}.attention.self.query.", "blk.{l}.attn_q."},
        {"encoder.layer.{l}.attention.self.key.", "blk.{l}.attn_k."},
        {"encoder.layer.{l}.attention.self.value.", "blk.{l}.attn_v."},
        {"encoder.layer.{l}.attention.output.dense.", "blk.{l}.attn_output."},
        {"encoder.layer.{l}.attention.output.LayerNorm.", "blk.{l}.attn_output_norm."},
        {"encoder.layer.{l}.intermediate.dense.", "blk.{l}.ffn_up."},
        {"encoder.layer.{l}.output.dense.", "blk.{l}.ffn_down."},
        {"encoder.layer.{l}.output.LayerNorm.", "blk.{l}.layer_output_norm."}};
    for (const auto &[hf, gguf] : kPairs)
        for (const char *part : {"weight", "bias"})
            rules.push_back({kept(std::string(hf) + part), kept(std::string(gguf) + part), none});
    return rules;
}

// Adds scale factors of matrices: ".scale" multiplies a product, ".input_scale" is for 4-bit
// activations.
Rules with_factors(Rules rules) {
    constexpr std::string_view kWeight = ".weight";
    const auto named = [&](std::string name, const char *ending) {
        return kept(name.substr(0, name.size() - kWeight.size()) + ending);
    };
    const size_t n = rules.size();
    for (const char *ending : {".scale", ".input_scale"}) {
        for (size_t i = 0; i < n; i++) {
            const NameRule rule = rules[i];
            const std::string_view hf = rule.hf;
            if (!hf.ends_with(kWeight) || hf.find("orm") != std::string_view::npos) continue;
            const bool expert = rule.change == Change::expert;
            rules.push_back({named(rule.hf, ending), named(rule.gguf, ending),
                             expert ? Change::expert_factor : Change::factor});
        }
    }
    return rules;
}

std::vector<Architecture> known_architectures() {
    constexpr Change none = Change::none, one = Change::add_one;
    const Rules llama = ends(none) + attention_in(none, Change::query, Change::key) +
                        attention_out() + norm_of_ffn(none);
    const Rules qwen = ends(none) + attention_in(none, none, none);
    const Rules gemma = ends(one) + attention_in(one, none, none);
    constexpr Computation gelu = {.gelu = true};
    constexpr Computation gemma2 = {Windows::all_but_second, true, true, true};
    constexpr Computation gemma3 = {Windows::all_but_nth, false, true, true};
    std::vector<Architecture> all = {
        {"llama", "LlamaForCausalLM", "llama", llama + ffn()},
        {"mistral", "MistralForCausalLM", "llama", llama + ffn()},
        {"mixtral", "MixtralForCausalLM", "llama", llama + experts()},
        {"qwen2", "Qwen2ForCausalLM", "qwen2", qwen + attention_out() + norm_of_ffn(none) + ffn()},
        {"qwen3", "Qwen3ForCausalLM", "qwen3",
         qwen + head_norms(none) + attention_out() + norm_of_ffn(none) + ffn()},
        {"gemma", "GemmaForCausalLM", "gemma", gemma + attention_out() + norm_of_ffn(one) + ffn(),
         gelu},
        {"gemma2", "Gemma2ForCausalLM", "gemma2", gemma + attention_out() + norms_around() + ffn(),
         gemma2},
        {"gemma3_text", "Gemma3ForCausalLM", "gemma3",
         gemma + head_norms(one) + attention_out() + norms_around() + ffn(), gemma3},
        {"gemma3", "Gemma3ForConditionalGeneration", "gemma3",
         gemma + head_norms(one) + attention_out() + norms_around() + ffn(), gemma3},
        {"phi3", "Phi3ForCausalLM", "phi3", phi3(), {.windows = Windows::all}},
        {"bert", "BertModel", "bert", bert(), {.gelu = true, .encoder = true}},
    };
    for (Architecture &known : all) known.rules = with_factors(std::move(known.rules));
    return all;
}

const std::vector<Architecture> &architectures() {
    static const std::vector<Architecture> all = known_architectures();
    return all;
}

std::string known_names(const char *Architecture::*name) {
    std::string out;
    for (const Architecture &known : architectures()) {
        const std::string_view text = known.*name;
        if (out.find(text) == std::string::npos)
            out += (out.empty() ? "" : ", ") + std::string(text);
    }
    return out;
}

} // namespace

const Json &text_config(const Json &config) {
    const Json *text = config.find("text_config");
    return text && text->is_object() ? *text : config;
}

const Architecture &architecture_of_config(const Json &config) {
    const Json *type = config.find("model_type");
    if (!type || !type->text()) throw Failure(kInvalidFile, "config.json: it has no model_type");
    for (const Architecture &known : architectures()) {
        if (*type->text() == known.model_type) return known;
    }
    throw Failure(kUnsupported,
                  "config.json: model_type \"" + shorten(*type->text(), 40) +
                      "\" is not supported; supported: " + known_names(&Architecture::model_type));
}

const Architecture &architecture_of_file(const ggufx_file *file) {
    const std::string name = meta_text(file, "general.architecture").value_or("");
    const bool mixture = head_counts_of_file(file, {"", "", name.c_str(), {}}).n_experts > 0;
    for (const Architecture &known : architectures()) {
        const bool experts = std::string_view(known.model_type) == "mixtral";
        if (name == known.gguf && experts == mixture) return known;
    }
    throw Failure(kUnsupported, "general.architecture \"" + shorten(name, 40) + "\"" +
                                    (mixture ? " with experts" : "") +
                                    " is not supported; supported: " +
                                    known_names(&Architecture::gguf) + " (experts: llama)");
}

std::optional<Places> match_name(std::string_view pattern, std::string_view name) {
    Places places;
    size_t at = 0;
    for (size_t i = 0; i < pattern.size(); i++) {
        if (pattern[i] != '{') {
            if (at == name.size() || name[at++] != pattern[i]) return std::nullopt;
            continue;
        }
        uint64_t &number = pattern[i + 1] == 'l' ? places.layer : places.expert;
        const char *begin = name.data() + at, *end = name.data() + name.size();
        const auto [stop, error] = std::from_chars(begin, end, number);
        const bool padded = stop - begin > 1 && *begin == '0';
        if (error != std::errc() || padded || number > 65535) return std::nullopt;
        at += static_cast<size_t>(stop - begin);
        i += 2;
    }
    return at == name.size() ? std::optional<Places>(places) : std::nullopt;
}

std::string make_name(std::string_view pattern, const Places &places) {
    std::string out;
    for (size_t i = 0; i < pattern.size(); i++) {
        if (pattern[i] != '{') {
            out += pattern[i];
            continue;
        }
        out += std::to_string(pattern[i + 1] == 'l' ? places.layer : places.expert);
        i += 2;
    }
    return out;
}

} // namespace ggufx::cli
