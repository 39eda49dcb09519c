// Known models as numbers: their metadata keys and tensors, and the header of a file that would
// hold one. For `ggufx fit --shape` and `ggufx bench make-model`.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/key_writer.hpp"

#include <span>

namespace ggufx::cli {

struct Shape {
    const char *name, *architecture;
    uint32_t n_layers, n_embd, n_ff, n_heads, n_kv_heads, head_dim, n_vocab, n_context;
    unsigned traits = 0; // bits of Trait
    uint32_t n_experts = 0, n_used_experts = 0;
};

enum Trait : unsigned {
    kTied = 1,       // the embedding matrix is the output matrix
    kRopeFreqs = 2,  // RoPE frequency factors
    kBias = 4,       // biases of query, key and value
    kHeadNorms = 8,  // norms of query and key heads
    kPostNorms = 16, // norms after attention and feed-forward
    kFused = 32,     // one matrix for query, key and value, another for gate and up
    kDelta = 64,     // qwen35: a gated delta net in 3 of 4 layers, gated attention in the others
    kSinks = 128,    // gpt-oss: attention sinks, all biases, YaRN, window in every other layer
    kEncoder = 256,  // bert: norms after blocks, learned positions, token types, no output
};

// Values of a tensor in a generated model.
enum class Fill {
    matrix, // products with unit inputs have unit size; f16 in a header, the others f32
    weight, // the same, never quantized by converters
    norm,   // about 1
    bias,   // about 0
    ones,
    decay, // decay of a recurrent state: -1 .. 0
    step,  // gate of a recurrent state: about -2
};

struct ShapeTensor {
    std::string name;
    std::vector<uint64_t> ne;
    Fill fill;
};

std::span<const Shape> all_shapes();
// Throws Failure (usage) that lists the known names.
const Shape &find_shape(const std::string &name);

// Returns the tensors in the order of converters, with the names that quantization mixes match.
std::vector<ShapeTensor> shape_tensors(const Shape &shape);
uint64_t shape_parameters(const Shape &shape); // without RoPE frequency factors
void write_shape_keys(KeyWriter &keys, const Shape &shape);

// Opens a header-only file for plans and estimates: f16 matrices, f32 vectors.
File open_shape(const ggufx_runtime *rt, const Shape &shape);

} // namespace ggufx::cli
