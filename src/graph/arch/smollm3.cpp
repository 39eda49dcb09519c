// smollm3: no RoPE in every fourth layer.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void smollm3(Builder &b) {
    ArchConfig t;
    t.rope.style = RopeStyle::pairs;
    t.rope.layers = all_but_last_of(4);
    standard(b, t);
}

} // namespace ggufx::model::arch
