// Limits here are far above any model and keep every product of two of them below 2^63.
// SPDX-License-Identifier: MIT
#include "model/arch/hparams.hpp"

#include <algorithm>
#include <inttypes.h>
#include <string.h>

namespace ggufx::model {

namespace {

constexpr uint64_t kMaxLayers = 4096, kMaxEmbd = 1u << 20, kMaxFf = 1u << 24;
constexpr uint64_t kMaxHeads = 1u << 14, kMaxHeadDim = 1u << 14;
constexpr uint64_t kMaxContext = INT32_MAX; // positions are int32_t

class Keys {
public:
    explicit Keys(const gguf::File &file) : file_(file) {}

    bool has(const char *key) const { return file_.find_meta(key) != gguf::kNotFound; }

    // Integer key in low..high.
    uint64_t integer(const char *key, uint64_t low, uint64_t high) const {
        const size_t index = require(key);
        const uint64_t offset = file_.meta(index).offset;
        uint64_t value = 0;
        try {
            value = file_.get_u64(index);
        } catch (Error &e) { // negative: of the right type, but no count
            if (e.failure.status == static_cast<int32_t>(Status::value)) {
                e.failure.status = static_cast<int32_t>(Status::hparam);
            }
            throw;
        }
        if (value < low || value > high) {
            fail(Status::hparam, {offset, index},
                 "%s is %" PRIu64 ", the limits are %" PRIu64 " to %" PRIu64, key, value, low,
                 high);
        }
        return value;
    }
    uint32_t count(const char *key, uint64_t low, uint64_t high) const {
        return static_cast<uint32_t>(integer(key, low, high));
    }
    uint32_t count_or(const char *key, uint64_t low, uint64_t high, uint32_t fallback) const {
        return has(key) ? count(key, low, high) : fallback;
    }

    double number(const char *key, double low, double high) const {
        const size_t index = require(key);
        const double value = file_.get_f64(index);
        if (!(value >= low && value <= high)) { // NaN too
            fail(Status::hparam, {file_.meta(index).offset, index}, "%s is out of range", key);
        }
        return value;
    }
    double number_or(const char *key, double low, double high, double fallback) const {
        return has(key) ? number(key, low, high) : fallback;
    }

    std::string_view text_or(const char *key, std::string_view fallback) const {
        const size_t index = file_.find_meta(key);
        return index == gguf::kNotFound ? fallback : file_.get_string(index);
    }

    [[noreturn]] void reject(const char *key, const char *text) const {
        const size_t index = file_.find_meta(key);
        At at;
        if (index != gguf::kNotFound) at = {file_.meta(index).offset, index};
        fail(Status::hparam, at, "%s: %s", key, text);
    }

private:
    size_t require(const char *key) const {
        const size_t index = file_.find_meta(key);
        if (index == gguf::kNotFound) fail(Status::missing, {}, "key %s is missing", key);
        return index;
    }

    const gguf::File &file_;
};

void check_architecture(const gguf::File &file, const Keys &keys) {
    const size_t index = file.find_meta("general.architecture");
    if (index == gguf::kNotFound) {
        fail(Status::missing, {}, "key general.architecture is missing: not a language model");
    }
    const std::string_view name = file.get_string(index);
    if (name != "llama") {
        fail(Status::unsupported, {file.meta(index).offset, index},
             "architecture %s is not supported; supported: llama",
             Quoted(name.data(), name.size()).c_str());
    }
    if (keys.has("llama.expert_count") && keys.integer("llama.expert_count", 0, UINT32_MAX) > 0) {
        fail(Status::unsupported, {},
             "mixture of experts (llama.expert_count = %" PRIu64 ") is not supported yet",
             keys.integer("llama.expert_count", 0, UINT32_MAX));
    }
}

// A set that was opened in part, or whose keys are no numbers, must not be taken for the model.
void check_split(const gguf::File &file) {
    try {
        const size_t count = file.find_meta("split.count");
        const uint64_t n_parts = count == gguf::kNotFound ? 1 : file.get_u64(count);
        const size_t tensors = file.find_meta("split.tensors.count");
        const uint64_t n_tensors = file.n_tensors();
        if (tensors != gguf::kNotFound && file.get_u64(tensors) != n_tensors) {
            fail(Status::split, {file.meta(tensors).offset, tensors},
                 "split.tensors.count is %" PRIu64 ", the opened parts hold %" PRIu64 " tensors",
                 file.get_u64(tensors), n_tensors);
        }
        if (tensors != gguf::kNotFound || n_parts <= 1) return;
        uint64_t n_present = 0;
        for (size_t i = 0; i < file.n_tensors(); i++) {
            n_present = std::max(n_present, file.tensor(i).part + uint64_t{1});
        }
        if (n_present < n_parts) {
            fail(Status::split, {file.meta(count).offset, count},
                 "split.count is %" PRIu64 ", tensors come from %" PRIu64 " parts", n_parts,
                 n_present);
        }
    } catch (Error &e) {
        const auto status = static_cast<Status>(e.failure.status);
        if (status == Status::kvtype || status == Status::value) {
            e.failure.status = static_cast<int32_t>(Status::split);
        }
        throw;
    }
}

void read_heads(HyperParameters &hp, const Keys &keys) {
    constexpr const char *heads = "llama.attention.head_count";
    constexpr const char *kv_heads = "llama.attention.head_count_kv";
    constexpr const char *key_length = "llama.attention.key_length";
    hp.n_heads = keys.count(heads, 1, kMaxHeads);
    hp.n_kv_heads = keys.count_or(kv_heads, 1, kMaxHeads, hp.n_heads);
    if (hp.n_heads % hp.n_kv_heads) keys.reject(kv_heads, "does not divide the number of heads");
    if (!keys.has(key_length) && hp.n_embd % hp.n_heads) {
        keys.reject(heads, "does not divide the embedding, and there is no key_length");
    }
    hp.head_dim_k = keys.count_or(key_length, 1, kMaxHeadDim, hp.n_embd / hp.n_heads);
    hp.head_dim_v =
        keys.count_or("llama.attention.value_length", 1, kMaxHeadDim, hp.n_embd / hp.n_heads);
    if (hp.head_dim_k < 1 || hp.head_dim_k > kMaxHeadDim || hp.head_dim_v < 1 ||
        hp.head_dim_v > kMaxHeadDim) {
        keys.reject(heads, "gives heads of no or too many values");
    }
}

void read_rope(HyperParameters &hp, const Keys &keys) {
    constexpr const char *dims = "llama.rope.dimension_count";
    hp.rope_dims = keys.count_or(dims, 0, kMaxHeadDim, hp.head_dim_k);
    if (hp.rope_dims % 2 || hp.rope_dims > hp.head_dim_k) {
        keys.reject(dims, "is odd or larger than a head");
    }
    hp.rope_base = keys.number_or("llama.rope.freq_base", 1e-3, 1e30, 10000.0);
    // Old files have scale_linear alone; the newer pair names the kind of scaling.
    hp.rope_scale = keys.number_or("llama.rope.scale_linear", 1e-6, 1e6, 1.0);
    const std::string_view kind = keys.text_or("llama.rope.scaling.type", "none");
    if (kind == "linear") {
        hp.rope_scale = keys.number("llama.rope.scaling.factor", 1e-6, 1e6);
    } else if (kind != "none") {
        fail(Status::unsupported, {}, "rope scaling %s is not supported; supported: none, linear",
             Quoted(kind.data(), kind.size()).c_str());
    }
}

} // namespace

HyperParameters read_hyper_parameters(const gguf::File &file) {
    const Keys keys(file);
    check_split(file);
    check_architecture(file, keys);
    HyperParameters hp{};
    hp.n_layers = keys.count("llama.block_count", 1, kMaxLayers);
    hp.n_context = keys.count("llama.context_length", 1, kMaxContext);
    hp.n_embd = keys.count("llama.embedding_length", 1, kMaxEmbd);
    hp.n_ff = keys.count("llama.feed_forward_length", 1, kMaxFf);
    read_heads(hp, keys);
    read_rope(hp, keys);
    hp.rms_epsilon =
        static_cast<float>(keys.number("llama.attention.layer_norm_rms_epsilon", 0.0, 1.0));
    const size_t tokens = file.find_meta("tokenizer.ggml.tokens");
    if (tokens != gguf::kNotFound) {
        hp.n_vocab = file.meta(tokens).count;
    } else if (keys.has("llama.vocab_size")) {
        hp.n_vocab = keys.integer("llama.vocab_size", 1, INT32_MAX);
    }
    return hp;
}

} // namespace ggufx::model
