// granite, granitemoe, granitehybrid: scale factors on embedding, residuals, attention scores and
// logits; granitehybrid has Mamba-2 in most layers.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

namespace {

// Returns a factor; 1 if it is missing or 0.
float factor(const Keys &keys, const char *name) {
    const double value = keys.number_or(name, 0, 1e6, 0);
    return value == 0 ? 1 : static_cast<float>(value);
}

} // namespace

void granite(Builder &b) {
    const Keys &keys = b.keys();
    ArchConfig t;
    t.recurrent.kind = Recurrent::mamba2;
    t.rope.style =
        keys.flag_or("rope.scaling.finetuned", true) ? RopeStyle::pairs : RopeStyle::none;
    t.attention.scale = static_cast<float>(keys.number_or("attention.scale", 0, 1e6, 0));
    t.embedding_scale = factor(keys, "embedding_scale");
    t.residual_scale = factor(keys, "residual_scale");
    t.output.scale = 1 / factor(keys, "logit_scale");
    standard(b, t);
}

} // namespace ggufx::model::arch
