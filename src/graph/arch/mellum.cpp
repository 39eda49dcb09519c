// mellum (Mellum 2): qwen3moe with sliding windows, whose layers use RoPE without the model's
// scaling.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void mellum(Builder &b) {
    const Keys &keys = b.keys();
    ArchConfig t;
    t.attention.needs = {"attn_q_norm.weight", "attn_k_norm.weight"};
    t.window.tokens = keys.count_or("attention.sliding_window", {0, kMaxContext}, 0);
    t.window.layers = window_pattern(keys, all_but_last_of, 4);
    t.rope.windows = {.differs = true,
                      .base = keys.number_or("rope.freq_base", 1e-3, 1e30, 10000),
                      .attention_factor = false};
    standard(b, t);
}

} // namespace ggufx::model::arch
