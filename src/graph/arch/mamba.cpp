// mamba, mamba2, nemotron_h, nemotron_h_moe: each layer is one mixer or one feed-forward network.
// nemotron_h has Mamba-2, attention without RoPE and networks of relu^2 without a gate.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

namespace {

ArchConfig mamba_config(Recurrent recurrent) {
    ArchConfig t;
    t.norms.order = NormOrder::single;
    t.rope.style = RopeStyle::none;
    t.recurrent.kind = recurrent;
    return t;
}

} // namespace

void mamba(Builder &b) {
    standard(b, mamba_config(Recurrent::mamba1));
}

void mamba2(Builder &b) {
    standard(b, mamba_config(Recurrent::mamba2));
}

void nemotron_h(Builder &b) {
    ArchConfig t = mamba_config(Recurrent::mamba2);
    t.ffn.plain = true;
    t.ffn.act = Act::relu2;
    t.experts = {.gating = Gating::sigmoid,
                 .normalize = false,
                 .act = Act::relu2,
                 .plain = true,
                 .needs = {"exp_probs_b.bias"}};
    standard(b, t);
}

} // namespace ggufx::model::arch
