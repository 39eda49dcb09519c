// afmoe (Trinity): norms on both sides, an attention output gate, sliding windows in three of four
// layers. Only those use RoPE. Experts with sigmoid gating and a shared expert.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

#include <math.h>

namespace ggufx::model::arch {

void afmoe(Builder &b) {
    ArchConfig t;
    t.norms.post = true;
    t.attention.gate = Squash::sigmoid;
    t.attention.needs = {"attn_q_norm.weight", "attn_k_norm.weight", "attn_gate.weight"};
    t.embedding_scale = sqrtf(static_cast<float>(b.n_embd()));
    t.window.tokens = b.keys().count_or("attention.sliding_window", {0, kMaxContext}, 0);
    t.window.layers = window_pattern(b.keys(), all_but_last_of, 4);
    t.rope.layers = all_but_last_of(4);
    t.experts = {.gating = Gating::sigmoid, .normalize = false};
    standard(b, t);
}

} // namespace ggufx::model::arch
