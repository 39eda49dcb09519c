// modern-bert: pre-norms without biases, symmetric sliding windows, a RoPE base per kind of layer.
// The first layer's input is already normalized.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void modern_bert(Builder &b) {
    const Keys &keys = b.keys();
    ArchConfig t;
    t.norm = NormKind::layer;
    t.causal = t.logits = false;
    t.first_norm = false;
    t.act = Act::gelu;
    t.window = keys.count_or("attention.sliding_window", {0, kMaxContext}, 0);
    t.has_window = window_pattern(b.keys(), all_but_first_of, 3);
    t.window_rope = {.differs = true, .base = 10000};
    t.rank_pooling = Pooling::mean;
    t.rank_gelu = true;
    const View x = b.embed(1);
    b.norm(x, x, "token_embd_norm", NormKind::layer);
    standard_from(b, t, x);
}

} // namespace ggufx::model::arch
