// jamba: Mamba-1 with norms of its time steps in most layers, attention without RoPE in some,
// experts with unnormalized weights in every second layer.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void jamba(Builder &b) {
    ArchConfig t;
    t.rope.style = RopeStyle::none;
    t.recurrent.kind = Recurrent::mamba1;
    t.recurrent.time_step_norms = true;
    t.experts.normalize = t.experts.scaled = false;
    standard(b, t);
}

} // namespace ggufx::model::arch
