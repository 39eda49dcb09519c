// mimo2 (MiMo V2 Flash): sliding windows with attention sinks, their own number of heads and RoPE
// base. Values are narrower than keys; experts with sigmoid gating.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void mimo2(Builder &b) {
    const Keys &keys = b.keys();
    ArchConfig t;
    t.window = keys.count("attention.sliding_window", {1, kMaxContext});
    t.has_window = window_flags(keys);
    t.window_rope = {.differs = true, .base = 10000};
    t.attention_factor = static_cast<float>(keys.number_or("attention.value_scale", 0, 1e6, 1));
    if (t.attention_factor == 0) t.attention_factor = 1;
    t.experts = {.gating = Gating::sigmoid};
    standard(b, t);
}

} // namespace ggufx::model::arch
