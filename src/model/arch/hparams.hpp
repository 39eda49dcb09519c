// Hyper-parameters of a llama-shaped model, read from the keys "llama.*" and checked: what leaves
// this file can be multiplied and allocated without further thought.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/file.hpp"

namespace ggufx::model {

struct HyperParameters {
    uint32_t n_layers;
    uint32_t n_context; // trained
    uint32_t n_embd;
    uint32_t n_ff;
    uint32_t n_heads;
    uint32_t n_kv_heads; // divides n_heads
    uint32_t head_dim_k;
    uint32_t head_dim_v;
    uint32_t rope_dims; // of a head's first values, even; 0 = no rotation
    uint64_t n_vocab;   // 0: the file does not say, the embedding decides
    double rope_base;
    double rope_scale; // positions are divided by it ("linear"); 1 = none
    float rms_epsilon;
};

// Throws Error: unsupported, missing, kvtype, hparam, split.
HyperParameters read_hyper_parameters(const gguf::File &file);

} // namespace ggufx::model
