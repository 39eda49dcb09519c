// command-r, cohere2 (Command R, R+, A, R7B), cohere2moe: parallel attention and feed-forward
// network, norms without biases. cohere2 has RoPE in its sliding-window layers only, cohere2moe
// also in the dense layers before the experts.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

namespace {

ArchConfig cohere_config(const Keys &keys) {
    ArchConfig t;
    t.norm = NormKind::layer;
    t.order = NormOrder::parallel;
    t.rope = RopeStyle::pairs;
    t.logit_scale = static_cast<float>(keys.number_or("logit_scale", 0, 1e6, 1));
    return t;
}

} // namespace

void command_r(Builder &b) {
    ArchConfig t = cohere_config(b.keys());
    t.qk_norm = HeadNorm::own; // Command R+
    standard(b, t);
}

void cohere2(Builder &b) {
    ArchConfig t = cohere_config(b.keys());
    t.window = b.keys().count("attention.sliding_window", {1, kMaxContext});
    t.has_window = t.rotates = all_but_last_of(4);
    standard(b, t);
}

void cohere2moe(Builder &b) {
    const Keys &keys = b.keys();
    ArchConfig t = cohere_config(keys);
    if (keys.has("attention.layer_norm_rms_epsilon")) t.norm = NormKind::rms;
    t.window = keys.count("attention.sliding_window", {1, kMaxContext});
    t.has_window = window_pattern(keys, all_but_first_of, 4);
    const uint32_t dense = keys.count_or("leading_dense_block_count", {0, kMaxLayers}, 0);
    t.rotates = [windowed = t.has_window, dense](uint32_t layer) {
        return layer < dense || windowed(layer);
    };
    t.experts = {.gating = Gating::sigmoid, .normalize = false};
    t.shared_factor = 0.5f;
    standard(b, t);
}

} // namespace ggufx::model::arch
