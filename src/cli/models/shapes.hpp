// Known models as numbers: their keys and tensors, and the header of a file that would hold one, for
// `ggufx fit --shape` and `ggufx bench make-model`.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/key_writer.hpp"

#include <span>

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
    kDelta = 64,     // qwen35: a gated delta net in 3 of 4 layers, a gate in the queries of others
    kSinks = 128,    // gpt-oss: sinks, biases of all matrices, YaRN, a window in every other layer
    kEncoder = 256,  // bert: norms behind, learned positions, token types, no output
};

// What values of a tensor are like, where a model is made up.
enum class Fill {
    matrix, // a product of unit inputs is of unit size; in a header f16, the others f32
    weight, // the same, never quantized by converters
    norm,   // about 1
    bias,   // about 0
    ones,
    decay, // of a recurrent state: -1 .. 0
    step,  // of its gate: about -2
};

struct ShapeTensor {
    std::string name;
    std::vector<uint64_t> ne;
    Fill fill;
};

std::span<const Shape> all_shapes();
// Throws Failure (usage) with the names there are.
const Shape &find_shape(const std::string &name);

// In the order of converters; the names that recipes go by.
std::vector<ShapeTensor> shape_tensors(const Shape &shape);
uint64_t shape_parameters(const Shape &shape); // but tables of rotation factors
void write_shape_keys(KeyWriter &keys, const Shape &shape);

// A file that has a header alone, for plans and estimates: f16 matrices, f32 vectors.
File open_shape(const ggufx_runtime *rt, const Shape &shape);

} // namespace ggufx::cli
