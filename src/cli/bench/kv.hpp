// Shared by the benchmarks of KV caches.
// SPDX-License-Identifier: MIT
#pragma once

#include "bench/products.hpp"

#include <atomic>

namespace ggufx::cli {

struct KvOptions {
    std::vector<std::string> types = {"f16", "q8_0", "gx4"};
    std::vector<uint64_t> lengths = {4096, 32768};
    unsigned rounds = 9;
    uint32_t q_heads = 32, kv_heads = 8, head_dim = 128, queries = 1;
    std::string cache = "memory";
    Clock clock = Clock::wall;

    size_t per_token() const { return size_t{kv_heads} * head_dim; }
    size_t per_query() const { return size_t{q_heads} * head_dim; }
};

struct KvCase {
    std::string k, v; // types
    uint64_t tokens;
};

// A runtime's memory in one buffer, which can also be read plainly.
class Arena {
public:
    explicit Arena(size_t n_bytes) : buffer_(n_bytes) {}
    const ColdBuffer &buffer() const { return buffer_; }

    ggufx_allocator hooks() {
        ggufx_allocator hooks = {};
        hooks.struct_size = sizeof hooks;
        hooks.user = this;
        hooks.alloc = [](void *self, size_t size, size_t align) -> void * {
            return static_cast<Arena *>(self)->take(size, align);
        };
        hooks.free = [](void *, void *, size_t, size_t) {}; // freed at once with the buffer
        return hooks;
    }

private:
    void *take(size_t size, size_t align) {
        align = std::max<size_t>(align, 64);
        const size_t room = (size + align - 1) / align * align + align;
        const size_t at = used_.fetch_add(room);
        if (room > buffer_.size() || at > buffer_.size() - room) return nullptr;
        auto address = reinterpret_cast<uintptr_t>(buffer_.data() + at);
        address = (address + align - 1) / align * align;
        return reinterpret_cast<void *>(address);
    }
    ColdBuffer buffer_;
    std::atomic<size_t> used_ = 0;
};

ggufx_kv_options kv_shape(const KvOptions &options, const KvCase &pair, uint32_t n_layers);
uint64_t kv_estimate(const ggufx_runtime *rt, const ggufx_kv_options &shape, uint64_t tokens);
Runtime runtime_in(Arena &arena, int32_t isa, unsigned threads);
Kv make_kv(const ggufx_runtime *rt, const ggufx_kv_options &shape);
std::vector<float> random_floats(size_t n, uint64_t seed); // -1 .. 1

// Appends `tokens` tokens: values[0 .. tokens * per_token - 1], as keys and as values.
void kv_append(ggufx_kv *kv, uint32_t layer, size_t tokens, const float *values, size_t per_token);
// Computes attention of the last tokens, for as many queries as lse has room for.
void kv_attend(const ggufx_kv *kv, uint32_t layer, const KvOptions &options,
               const std::vector<float> &q, std::vector<float> &out, std::vector<float> &lse);
// Fills all layers with random tokens.
void kv_fill(ggufx_kv *kv, uint32_t n_layers, const KvOptions &options, const KvCase &pair,
             const Globals &globals);
// Returns whether a short cache has the same bits with this instruction set and the scalar one.
bool kv_bits_equal(const KvOptions &options, const Runner &runner, const KvCase &pair);

// Cost of appends to a layer whose memory was used before.
struct KvEncodeTimes {
    double vector_us; // per head vector of K or V, pages at a time
    double token_us;  // per token with all heads, one token at a time
};
KvEncodeTimes measure_kv_encode(const KvOptions &options, const Runner &runner, const KvCase &pair);

} // namespace ggufx::cli
