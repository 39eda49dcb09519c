// The KV cache: layers x sequences of encoded keys and values on pages of 64 tokens, and attention
// over them. The bits are defined in README.md beside this file.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::kernels {
struct Kernels;
}

namespace ggufx::kv {

// Ids of include/ggufx/types.h.
enum class Type : uint32_t { f32 = 1, f16 = 2, bf16 = 3, q8_0 = 8 };

struct TypeFacts {
    uint32_t id;
    const char *name;
    uint32_t block_values;
    uint32_t block_bytes;
    uint32_t flags; // as GGUFX_TYPE_IS_*
};
const TypeFacts *type_facts(uint32_t id);                       // null when unknown
const TypeFacts *type_by_name(const char *name, size_t length); // without regard to case
const TypeFacts *type_at(size_t index);                         // 0, 1, ... then null

struct Config {
    uint32_t n_layers = 1;
    uint32_t n_kv_heads = 1;
    uint32_t n_q_heads = 1;
    uint32_t head_dim_k = 1;
    uint32_t head_dim_v = 1;
    uint32_t type_k = 2; // checked at create
    uint32_t type_v = 2;
    uint32_t n_sequences = 1;
    uint64_t max_tokens = 0; // 0 = as memory allows
};

struct AttendOptions {
    bool causal = true;
    float scale = 0.0f; // 0 = 1 / sqrt(head_dim_k)
};

struct Stats {
    uint64_t n_tokens, n_pages, page_bytes, bytes_per_token;
};

class Cache {
public:
    struct State; // state.hpp: for the files of this folder

    // Throws Error / std::bad_alloc.
    static Cache *create(Ref<Host> host, const kernels::Kernels *kernels, const Config &config);
    static void destroy(Cache *cache);
    const Config &config() const;

    // The contracts of include/ggufx/kv.h; none throws. positions may be null.
    Status reserve(uint32_t sequence, uint64_t n_tokens, Failure *failure);
    Status append(uint32_t layer, uint32_t sequence, size_t n_tokens, const int32_t *positions,
                  const float *k, const float *v, Failure *failure);
    Status attend(float *out, float *lse, uint32_t layer, uint32_t sequence, const float *q,
                  size_t n_queries, const int32_t *positions, const AttendOptions &options,
                  Failure *failure) const;
    Status read(float *k, float *v, uint32_t layer, uint32_t sequence, uint64_t first,
                uint64_t n_tokens, Failure *failure) const;
    Status length(uint64_t *out, uint32_t sequence, Failure *failure) const;
    Status positions(int32_t *out, uint32_t sequence, uint64_t first, uint64_t n,
                     Failure *failure) const;
    Status truncate(uint32_t sequence, uint64_t n_tokens, Failure *failure);
    Status rollback(uint32_t sequence, Failure *failure);
    void clear();
    Stats stats() const;

private:
    Cache() = default;
    ~Cache() = default;
    State *state_ = nullptr;
};

} // namespace ggufx::kv
