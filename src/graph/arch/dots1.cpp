// dots1: qwen3's attention, deepseek2's experts.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void dots1(Builder &b) {
    ArchConfig t;
    t.attention.needs = {"attn_q_norm.weight", "attn_k_norm.weight"};
    t.experts = {.gating = Gating::sigmoid, .normalize = false};
    standard(b, t);
}

} // namespace ggufx::model::arch
