// minimax-m2 (M2, M2.1, M2.5): norms over all heads, partial RoPE, experts with sigmoid gating.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void minimax_m2(Builder &b) {
    ArchConfig t;
    t.attention.qk_norm = HeadNorm::whole;
    t.attention.needs = {"attn_q_norm.weight", "attn_k_norm.weight"};
    t.experts = {.gating = Gating::sigmoid, .needs = {"exp_probs_b.bias"}};
    standard(b, t);
}

} // namespace ggufx::model::arch
