// glm4, glm4moe: RoPE on half of each head. glm4 has norms on both sides. glm4moe (GLM 4.5 to 4.7)
// has experts with sigmoid gating, a selection bias and a shared expert.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void glm4(Builder &b) {
    ArchConfig t;
    t.rope.style = RopeStyle::pairs;
    t.norms.post = true;
    standard(b, t);
}

void glm4moe(Builder &b) {
    ArchConfig t;
    t.norms.ffn = "post_attention_norm";
    t.experts = {.gating = Gating::sigmoid, .normalize = false, .needs = {"exp_probs_b.bias"}};
    standard(b, t);
}

} // namespace ggufx::model::arch
