// olmo2 (OLMo 2 and 3), olmoe: norms of queries and keys over all heads at once. OLMo 3 has sliding
// windows, whose layers use RoPE without the model's scaling.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void olmo2(Builder &b) {
    const Keys &keys = b.keys();
    ArchConfig t;
    t.norms.order = NormOrder::after_output;
    t.attention.qk_norm = HeadNorm::whole;
    t.attention.needs = {"attn_q_norm.weight", "attn_k_norm.weight"};
    t.window.tokens = keys.count_or("attention.sliding_window", {0, kMaxContext}, 0);
    t.window.layers = all_but_last_of(4);
    t.rope.windows = {.differs = true,
                      .base = keys.number_or("rope.freq_base", 1e-3, 1e30, 10000),
                      .attention_factor = false};
    standard(b, t);
}

void olmoe(Builder &b) {
    ArchConfig t;
    t.attention.qk_norm = HeadNorm::whole;
    t.attention.needs = {"attn_q_norm.weight", "attn_k_norm.weight"};
    t.experts.normalize = false;
    standard(b, t);
}

} // namespace ggufx::model::arch
