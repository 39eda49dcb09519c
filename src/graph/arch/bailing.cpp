// bailingmoe2 (Ling 2, Ring 2): per-head norms, grouped experts and a shared expert.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void bailingmoe2(Builder &b) {
    ArchConfig t;
    t.attention.needs = {"attn_q_norm.weight", "attn_k_norm.weight"};
    t.experts = {.gating = Gating::sigmoid, .normalize = false};
    standard(b, t);
}

} // namespace ggufx::model::arch
