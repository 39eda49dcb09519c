// mimo2 (MiMo V2 Flash): sliding windows with attention sinks, their own number of heads and RoPE
// base. Values are narrower than keys; experts with sigmoid gating.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void mimo2(Builder &b) {
    const Keys &keys = b.keys();
    ArchConfig t;
    t.window.tokens = keys.count("attention.sliding_window", {1, kMaxContext});
    t.window.layers = window_flags(keys);
    t.rope.windows = {.differs = true, .base = 10000};
    t.attention.factor = static_cast<float>(keys.number_or("attention.value_scale", 0, 1e6, 1));
    if (t.attention.factor == 0) t.attention.factor = 1;
    t.experts = {.gating = Gating::sigmoid};
    standard(b, t);
}

} // namespace ggufx::model::arch
