// glm4, glm4moe: half of each head turns; norms on both sides (glm4), experts chosen by sigmoids of
// their scores and a bias beside a shared one (glm4moe: GLM 4.5 to 4.7).
// SPDX-License-Identifier: MIT
#include "model/arch/architectures.hpp"

namespace ggufx::model::arch {

void glm4(Builder &b) {
    ArchConfig t;
    t.rope = RopeStyle::pairs;
    t.post_norms = true;
    standard(b, t);
}

void glm4moe(Builder &b) {
    ArchConfig t;
    t.ffn_norm = "post_attention_norm";
    t.experts = {.gating = Gating::sigmoid, .normalize = false, .needs = {"exp_probs_b.bias"}};
    standard(b, t);
}

} // namespace ggufx::model::arch
