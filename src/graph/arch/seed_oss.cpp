// seed_oss: qwen2 with another name for the norm before the feed-forward network.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void seed_oss(Builder &b) {
    ArchConfig t;
    t.norms.ffn = "post_attention_norm";
    standard(b, t);
}

} // namespace ggufx::model::arch
