// exaone4: norms on outputs. The 32B model has sliding windows in three of four layers, and only
// those use RoPE. exaone-moe (K-EXAONE): norms before, the same windows, experts with sigmoid
// gating and a shared expert.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void exaone4(Builder &b) {
    ArchConfig t;
    t.norms.order = NormOrder::after_output;
    t.attention.needs = {"attn_q_norm.weight", "attn_k_norm.weight"};
    const uint32_t usual = b.n_layers() == 64 ? 4096 : 0; // for files without the key
    t.window.tokens = b.keys().count_or("attention.sliding_window", {0, kMaxContext}, usual);
    t.window.layers = all_but_last_of(4);
    if (t.window.tokens) t.rope.layers = t.window.layers;
    standard(b, t);
}

void exaone_moe(Builder &b) {
    ArchConfig t;
    t.attention.needs = {"attn_q_norm.weight", "attn_k_norm.weight"};
    t.window.tokens = b.keys().count_or("attention.sliding_window", {1, kMaxContext}, 128);
    t.window.layers = t.rope.layers = window_pattern(b.keys(), all_but_last_of, 4);
    t.experts = {.gating = Gating::sigmoid, .normalize = false};
    standard(b, t);
}

} // namespace ggufx::model::arch
