// SPDX-License-Identifier: MIT
#include "model/outline.hpp"

#include "model/model.hpp"

#include <inttypes.h>
#include <string.h>

namespace ggufx::model {

namespace {

constexpr uint64_t kMaxLayers = 4096, kMaxWidth = 1u << 24, kMaxHeads = 1u << 14;

// Numbers "{architecture}.suffix". Of an array, one element per layer, the largest counts.
class Numbers {
public:
    Numbers(const gguf::File &file, std::string_view architecture)
        : file_(file), architecture_(architecture) {}

    bool has(const char *suffix) const { return find(suffix) != gguf::kNotFound; }
    uint32_t get(const char *suffix, uint64_t low, uint64_t high) const {
        const size_t index = find(suffix);
        if (index == gguf::kNotFound)
            fail(Status::missing, {}, "key %s.%s is missing", shown().c_str(), suffix);
        const gguf::MetaEntry entry = file_.meta(index);
        const uint64_t n = entry.type == gguf::ValueType::array ? entry.count : 1;
        uint64_t most = 0;
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t value = file_.get_u64(index, i);
            if (value > most) most = value;
        }
        if (most < low || most > high)
            fail(Status::hparam, {entry.offset, index},
                 "%s.%s is %" PRIu64 ", outside of %" PRIu64 "..%" PRIu64, shown().c_str(), suffix,
                 most, low, high);
        return static_cast<uint32_t>(most);
    }
    uint32_t get_or(const char *suffix, uint64_t low, uint64_t high, uint64_t fallback) const {
        return has(suffix) ? get(suffix, low, high) : static_cast<uint32_t>(fallback);
    }

private:
    Quoted shown() const { return {architecture_.data(), architecture_.size()}; }
    // Architectures of more bytes have no keys: no name of the field's comes near it.
    size_t find(const char *suffix) const {
        char key[160];
        const size_t n = architecture_.size(), more = strlen(suffix);
        if (n > 64 || n + 1 + more > sizeof key) return gguf::kNotFound;
        memcpy(key, architecture_.data(), n);
        key[n] = '.';
        memcpy(key + n + 1, suffix, more);
        return file_.find_meta({key, n + 1 + more});
    }

    const gguf::File &file_;
    std::string_view architecture_;
};

HyperParameters read_numbers(const Numbers &numbers) {
    HyperParameters hp{};
    hp.n_layers = numbers.get("block_count", 1, kMaxLayers);
    hp.n_context = numbers.get("context_length", 1, INT32_MAX);
    hp.n_embd = numbers.get("embedding_length", 1, kMaxWidth);
    hp.n_ff = numbers.get_or("feed_forward_length", 0, kMaxWidth, 0);
    hp.n_heads = numbers.get("attention.head_count", 1, kMaxHeads);
    hp.n_kv_heads = numbers.get_or("attention.head_count_kv", 1, kMaxHeads, hp.n_heads);
    const uint32_t dim = hp.n_embd / hp.n_heads;
    hp.head_dim_k = numbers.get_or("attention.key_length", 1, kMaxHeads, dim);
    hp.head_dim_v = numbers.get_or("attention.value_length", 1, kMaxHeads, dim);
    hp.rope_dims = numbers.get_or("rope.dimension_count", 0, kMaxHeads, hp.head_dim_k) & ~1u;
    if (hp.n_heads % hp.n_kv_heads)
        fail(Status::hparam, {}, "%" PRIu32 " heads cannot share %" PRIu32 " heads of keys",
             hp.n_heads, hp.n_kv_heads);
    return hp;
}

void read_experts(Outline &out, const Numbers &numbers) {
    constexpr uint64_t kMaxExperts = 1u << 16;
    out.n_experts = numbers.get_or("expert_count", 0, kMaxExperts, 0);
    if (out.n_experts == 0) return;
    out.n_used_experts = numbers.get("expert_used_count", 1, out.n_experts);
    const uint64_t one = numbers.get_or("expert_feed_forward_length", 1, kMaxWidth, out.hyper.n_ff);
    const uint64_t width = one * out.n_used_experts;
    if (width > UINT32_MAX)
        fail(Status::hparam, {}, "experts of %" PRIu64 " values are too wide", one);
    if (width > out.hyper.n_ff) out.hyper.n_ff = static_cast<uint32_t>(width);
}

} // namespace

Outline read_outline(const gguf::File &file) {
    const size_t index = file.find_meta("general.architecture");
    if (index == gguf::kNotFound)
        fail(Status::missing, {}, "key general.architecture is missing: not a language model");
    const std::string_view architecture = file.get_string(index);
    const Numbers numbers(file, architecture);
    Outline out;
    out.has_graph = architecture == Model::architecture() &&
                    numbers.get_or("expert_count", 0, UINT32_MAX, 0) == 0;
    out.hyper = out.has_graph ? read_hyper_parameters(file) : read_numbers(numbers);
    if (!out.has_graph) read_experts(out, numbers);
    const size_t table = file.find_tensor("token_embd.weight");
    if (table == gguf::kNotFound)
        fail(Status::missing, {}, "tensor \"token_embd.weight\" is missing");
    out.hyper.n_vocab = file.tensor(table).ne[1];
    if (out.hyper.n_vocab > INT32_MAX)
        fail(Status::hparam, {}, "the vocabulary exceeds 2^31 tokens");
    out.has_rope_freqs =
        out.hyper.rope_dims > 1 && file.find_tensor("rope_freqs.weight") != gguf::kNotFound;
    return out;
}

} // namespace ggufx::model
