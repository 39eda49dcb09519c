// hunyuan-dense, hunyuan-moe: norms of queries and keys behind their rotation.
// SPDX-License-Identifier: MIT
#include "model/arch/architectures.hpp"

namespace ggufx::model::arch {

void hunyuan(Builder &b) {
    Traits t;
    t.norm_rotated = true;
    t.needs = {"attn_q_norm.weight", "attn_k_norm.weight"};
    standard(b, t);
}

} // namespace ggufx::model::arch
