// Known models as numbers, and the header of a file that would hold one: `ggufx fit --shape`.
// SPDX-License-Identifier: MIT
#pragma once

#include "api.hpp"

namespace ggufx::cli {

struct Shape {
    const char *name, *architecture;
    uint32_t n_layers, n_embd, n_ff, n_heads, n_kv_heads, head_dim, n_vocab, n_context;
    unsigned traits = 0; // kTied ...
    uint32_t n_experts = 0, n_used_experts = 0;
};

enum Trait : unsigned {
    kTied = 1,       // the embedding is the output matrix
    kRopeFreqs = 2,  // a table of rotation factors
    kBias = 4,       // of queries, keys and values
    kHeadNorms = 8,  // of queries and keys
    kPostNorms = 16, // behind attention and feed-forward
    kFused = 32,     // queries, keys and values are one matrix, gate and up another
};

// Throws Failure (usage) with the names there are.
const Shape &find_shape(const std::string &name);

// A GGUF header without data: f16 matrices, f32 vectors, the names that recipes go by.
std::string shape_header(const ggufx_runtime *rt, const Shape &shape);

} // namespace ggufx::cli
