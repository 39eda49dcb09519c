// laguna (Laguna XS, M): a softplus gate on the attention output, per value or per head. Sliding
// windows in all but every fourth layer, with unscaled RoPE. Experts with sigmoid gating and a
// shared expert.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void laguna(Builder &b) {
    const Keys &keys = b.keys();
    ArchConfig t;
    t.attention.gate = Squash::softplus;
    t.attention.needs = {"attn_q_norm.weight", "attn_k_norm.weight", "attn_gate.weight"};
    t.window.tokens = keys.count_or("attention.sliding_window", {0, kMaxContext}, 0);
    t.window.layers = window_pattern(keys, all_but_first_of, 4);
    t.rope.windows = {.differs = true,
                      .base = keys.number_or("rope.freq_base", 1e-3, 1e30, 10000),
                      .attention_factor = false};
    t.experts = {.gating = Gating::sigmoid, .normalize = false, .needs = {"exp_probs_b.bias"}};
    standard(b, t);
}

} // namespace ggufx::model::arch
