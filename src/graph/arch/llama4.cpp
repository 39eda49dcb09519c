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
    t.rope = RopeStyle::pairs;
    t.rotates = t.has_window = all_but_last_of(4);
    t.window = keys.count_or("attention.sliding_window", {1, kMaxContext}, kChunk);
    t.chunked = true;
    t.unit_rotated = keys.count_or("expert_count", {0, kMaxExperts}, 0) != kLargest;
    t.temperature_scale =
        static_cast<float>(keys.number_or("attention.temperature_scale", 0, 1e6, 0.1));
    t.temperature_floor =
        static_cast<float>(keys.count_or("attention.temperature_length", {1, kMaxContext}, kChunk));
    t.temperature_offset = 1;
    t.tempers = [turns = t.rotates](uint32_t layer) { return !turns(layer); };
    t.experts.weighed = true;
    standard(b, t);
}

} // namespace ggufx::model::arch
