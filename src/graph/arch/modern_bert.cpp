// modern-bert: pre-norms without biases, symmetric sliding windows, a RoPE base per kind of layer.
// The first layer's input is already normalized.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void modern_bert(Builder &b) {
    const Keys &keys = b.keys();
    ArchConfig t;
    t.norms.kind = NormKind::layer;
    t.attention.causal = t.output.logits = false;
    t.norms.first = false;
    t.ffn.act = Act::gelu;
    t.window.tokens = keys.count_or("attention.sliding_window", {0, kMaxContext}, 0);
    t.window.layers = window_pattern(b.keys(), all_but_first_of, 3);
    t.rope.windows = {.differs = true, .base = 10000};
    t.output.rank_pooling = Pooling::mean;
    t.output.rank_gelu = true;
    const View x = b.embed(1);
    b.norm(x, x, "token_embd_norm", NormKind::layer);
    standard_from(b, t, x);
}

} // namespace ggufx::model::arch
