// llama4: three of four layers have chunked attention, RoPE, and norms without weights after RoPE.
// Every fourth layer has full attention without RoPE, with queries that grow with the position.
// Router weights multiply the expert inputs.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void llama4(Builder &b) {
    const Keys &keys = b.keys();
    // Maverick, with 128 experts, has no such norms
    constexpr uint32_t kChunk = 8192, kLargest = 128;
    ArchConfig t;
    t.rope.style = RopeStyle::pairs;
    t.rope.layers = t.window.layers = all_but_last_of(4);
    t.window.tokens = keys.count_or("attention.sliding_window", {1, kMaxContext}, kChunk);
    t.window.chunked = true;
    t.attention.unit_rotated = keys.count_or("expert_count", {0, kMaxExperts}, 0) != kLargest;
    t.temperature.scale =
        static_cast<float>(keys.number_or("attention.temperature_scale", 0, 1e6, 0.1));
    t.temperature.floor =
        static_cast<float>(keys.count_or("attention.temperature_length", {1, kMaxContext}, kChunk));
    t.temperature.offset = 1;
    t.temperature.layers = [turns = t.rope.layers](uint32_t layer) { return !turns(layer); };
    t.experts.weighed = true;
    standard(b, t);
}

} // namespace ggufx::model::arch
