// SPDX-License-Identifier: MIT
#include "eval/outline.hpp"

#include "distributed/all_gather.hpp"
#include "graph/keys.hpp"

#include <algorithm>
#include <inttypes.h>
#include <string.h>

namespace ggufx::model {

namespace {

// Numbers "{architecture}.suffix". For an array with one element per layer, the largest counts.
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
                 "%s.%s is %" PRIu64 ", the limits are %" PRIu64 " to %" PRIu64, shown().c_str(),
                 suffix, most, low, high);
        return static_cast<uint32_t>(most);
    }
    uint32_t get_or(const char *suffix, uint64_t low, uint64_t high, uint64_t fallback) const {
        return has(suffix) ? get(suffix, low, high) : static_cast<uint32_t>(fallback);
    }

private:
    Quoted shown() const { return {architecture_.data(), architecture_.size()}; }
    // Longer architecture names (over 64 bytes) have no keys: no known name comes near this length.
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

// Widths of the buffers that are live together in a llama layer of this shape.
struct Widths {
    uint64_t embd, ff, q, k, v, a, angles;

    uint64_t row_floats() const {
        const auto padded = [](uint64_t n) { return (n + 15) / 16 * 16; };
        const uint64_t attention = padded(q) + padded(k) + padded(v) + padded(a);
        return 2 * padded(embd) + padded(angles) + std::max(attention, 2 * padded(ff));
    }
};

void read_experts(Shape &shape, uint64_t &ff, const Numbers &numbers) {
    shape.n_experts = numbers.get_or("expert_count", 0, kMaxExperts, 0);
    if (shape.n_experts == 0) return;
    shape.n_used_experts = numbers.get("expert_used_count", 1, shape.n_experts);
    const uint64_t one = numbers.get_or("expert_feed_forward_length", 1, kMaxWidth, ff);
    ff = std::max(ff, one * shape.n_used_experts);
}

void read_numbers(Outline &out, const Numbers &numbers, const gguf::File &file) {
    Shape &shape = out.graph.shape;
    shape.n_layers = numbers.get("block_count", 1, kMaxLayers);
    shape.n_context = numbers.get("context_length", 1, kMaxContext);
    shape.n_embd = numbers.get("embedding_length", 1, kMaxWidth);
    shape.n_heads = numbers.get("attention.head_count", 1, kMaxHeads);
    shape.n_kv_heads = numbers.get_or("attention.head_count_kv", 1, kMaxHeads, shape.n_heads);
    const uint32_t dim = shape.n_embd / shape.n_heads;
    shape.head_dim_k = numbers.get_or("attention.key_length", 1, kMaxHeads, dim);
    shape.head_dim_v = numbers.get_or("attention.value_length", 1, kMaxHeads, dim);
    const uint32_t turning =
        numbers.get_or("rope.dimension_count", 0, kMaxHeads, shape.head_dim_k) & ~1u;
    if (shape.n_heads % shape.n_kv_heads)
        fail(Status::hparam, {}, "%" PRIu32 " heads cannot share %" PRIu32 " heads of keys",
             shape.n_heads, shape.n_kv_heads);
    uint64_t ff = numbers.get_or("feed_forward_length", 0, kMaxWidth, 0);
    read_experts(shape, ff, numbers);
    const uint64_t heads = shape.n_heads, kv_heads = shape.n_kv_heads;
    const Widths widths = {shape.n_embd,
                           ff,
                           heads * shape.head_dim_k,
                           kv_heads * shape.head_dim_k,
                           kv_heads * shape.head_dim_v,
                           heads * shape.head_dim_v,
                           turning};
    out.graph.row_floats = widths.row_floats();
    out.model_bytes = (uint64_t{2} * shape.n_layers + 1) * shape.n_embd * sizeof(float);
    const HostAllocator<CacheLayer> allocator(file.host().get());
    const CacheShape cache = {shape.n_heads,
                              shape.n_kv_heads,
                              shape.head_dim_k,
                              shape.head_dim_v,
                              false,
                              RopeStyle::none,
                              0,
                              kNoIndex};
    out.graph.caches.push_back({cache, Vector<CacheLayer>(allocator)});
    for (uint32_t i = 0; i < shape.n_layers; i++) out.graph.caches[0].layers.push_back({i, {}});
}

} // namespace

Outline read_outline(const gguf::File &file, const RankOptions &ranks) {
    const size_t index = file.find_meta("general.architecture");
    if (index == gguf::kNotFound)
        fail(Status::missing, {}, "key general.architecture is missing: not a language model");
    const std::string_view architecture = file.get_string(index);
    if (has_architecture(architecture)) {
        Roles roles{HostAllocator<Role>(file.host().get())};
        BuildOptions options;
        options.roles = &roles;
        Graph graph = build_rank_graph(file, ranks, options);
        const uint64_t bytes = graph.memory_bytes() + AllGatherMemory::bytes(graph, ranks.size);
        return {std::move(graph), true, bytes, std::move(roles)};
    }
    if (ranks.size > 1)
        fail(Status::unsupported, {}, "this architecture is not supported: no ranks");
    Outline out = {Graph(file.host().get()), false, 0,
                   Roles{HostAllocator<Role>(file.host().get())}};
    read_numbers(out, Numbers(file, architecture), file);
    const size_t table = file.find_tensor("token_embd.weight");
    if (table == gguf::kNotFound)
        fail(Status::missing, {}, "tensor \"token_embd.weight\" is missing");
    out.graph.shape.n_vocab = file.tensor(table).ne[1];
    if (out.graph.shape.n_vocab > INT32_MAX)
        fail(Status::hparam, {}, "the vocabulary exceeds 2^31 tokens");
    return out;
}

} // namespace ggufx::model
