// qwen3next, qwen35, qwen35moe: three layers of gated delta net, one of gated attention.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

static void build(Builder &b, Recurrent recurrent) {
    ArchConfig t;
    t.recurrent.kind = recurrent;
    t.norms.ffn = "post_attention_norm";
    t.attention.gated_query = true;
    t.attention.needs = {"attn_q_norm.weight", "attn_k_norm.weight"};
    t.ffn.shared_gate = true;
    standard(b, t);
}

void qwen35(Builder &b) {
    build(b, Recurrent::delta);
}

void qwen3next(Builder &b) {
    build(b, Recurrent::delta_by_key);
}

} // namespace ggufx::model::arch
