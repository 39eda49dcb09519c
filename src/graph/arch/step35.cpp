// step35 (Step 3.5 Flash): a per-head gate on the attention output. Sliding-window layers have
// their own number of heads and RoPE on all dimensions, other layers on half of them. Experts with
// clamped activations.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void step35(Builder &b) {
    const Keys &keys = b.keys();
    ArchConfig t;
    t.attention.gate = Squash::sigmoid;
    t.window.tokens = keys.count("attention.sliding_window", {1, kMaxContext});
    t.window.layers = window_flags(keys);
    t.rope.windows = {.differs = true, .base = 10000, .divisors = false};
    t.rope.half = true;
    t.experts = {.gating = Gating::sigmoid,
                 .normalize = false,
                 .limit = "swiglu_clamp_exp",
                 .shared_limit = "swiglu_clamp_shexp"};
    standard(b, t);
}

} // namespace ggufx::model::arch
