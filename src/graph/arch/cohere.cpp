// command-r, cohere2 (Command R, R+, A, R7B), cohere2moe: parallel attention and feed-forward
// network, norms without biases. cohere2 has RoPE in its sliding-window layers only, cohere2moe
// also in the dense layers before the experts.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

namespace {

ArchConfig cohere_config(const Keys &keys) {
    ArchConfig t;
    t.norms.kind = NormKind::layer;
    t.norms.order = NormOrder::parallel;
    t.rope.style = RopeStyle::pairs;
    t.output.scale = static_cast<float>(keys.number_or("logit_scale", 0, 1e6, 1));
    return t;
}

} // namespace

void command_r(Builder &b) {
    ArchConfig t = cohere_config(b.keys());
    t.attention.qk_norm = HeadNorm::own; // Command R+
    standard(b, t);
}

void cohere2(Builder &b) {
    ArchConfig t = cohere_config(b.keys());
    t.window.tokens = b.keys().count("attention.sliding_window", {1, kMaxContext});
    t.window.layers = t.rope.layers = all_but_last_of(4);
    standard(b, t);
}

void cohere2moe(Builder &b) {
    const Keys &keys = b.keys();
    ArchConfig t = cohere_config(keys);
    if (keys.has("attention.layer_norm_rms_epsilon")) t.norms.kind = NormKind::rms;
    t.window.tokens = keys.count("attention.sliding_window", {1, kMaxContext});
    t.window.layers = window_pattern(keys, all_but_first_of, 4);
    const uint32_t dense = keys.count_or("leading_dense_block_count", {0, kMaxLayers}, 0);
    t.rope.layers = [windowed = t.window.layers, dense](uint32_t layer) {
        return layer < dense || windowed(layer);
    };
    t.experts = {.gating = Gating::sigmoid, .normalize = false};
    t.ffn.shared_factor = 0.5f;
    standard(b, t);
}

} // namespace ggufx::model::arch
