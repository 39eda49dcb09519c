// hunyuan-dense, hunyuan-moe: norms of queries and keys after RoPE. hy_v3 (Hunyuan 3): norms before
// RoPE, experts with sigmoid gating and a shared expert.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void hunyuan(Builder &b) {
    ArchConfig t;
    t.attention.norm_rotated = true;
    t.attention.needs = {"attn_q_norm.weight", "attn_k_norm.weight"};
    standard(b, t);
}

void hy_v3(Builder &b) {
    ArchConfig t;
    t.attention.needs = {"attn_q_norm.weight", "attn_k_norm.weight"};
    t.experts = {.gating = Gating::sigmoid, .normalize = false};
    standard(b, t);
}

} // namespace ggufx::model::arch
