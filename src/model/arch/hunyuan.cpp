// hunyuan-dense, hunyuan-moe: norms of queries and keys behind their rotation. hy_v3 (Hunyuan 3): the
// norms before it, experts by sigmoids beside a shared one.
// SPDX-License-Identifier: MIT
#include "model/arch/architectures.hpp"

namespace ggufx::model::arch {

void hunyuan(Builder &b) {
    ArchConfig t;
    t.norm_rotated = true;
    t.needs = {"attn_q_norm.weight", "attn_k_norm.weight"};
    standard(b, t);
}

void hy_v3(Builder &b) {
    ArchConfig t;
    t.needs = {"attn_q_norm.weight", "attn_k_norm.weight"};
    t.experts = {.gating = Gating::sigmoid, .normalize = false};
    standard(b, t);
}

} // namespace ggufx::model::arch
