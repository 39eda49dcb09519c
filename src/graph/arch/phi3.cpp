// phi3: Phi-3, 3.5, 4 and 4-mini; fused matrices and LongRoPE, if the tensors are present.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void phi3(Builder &b) {
    ArchConfig t;
    const uint32_t window = b.keys().count_or("attention.sliding_window", {0, kMaxContext}, 0);
    if (window < b.graph().shape.n_context) t.window.tokens = window;
    standard(b, t);
}

} // namespace ggufx::model::arch
