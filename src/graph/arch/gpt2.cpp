// gpt2, starcoder2, phi2: layer norms with a bias, feed-forward networks without a gate, biases
// everywhere.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

namespace {

ArchConfig gpt2_config(Builder &b) {
    ArchConfig t;
    t.norms.kind = NormKind::layer;
    t.ffn.plain = true;
    t.ffn.act = Act::gelu;
    t.attention.needs = {"attn_q.bias", "attn_k.bias", "attn_v.bias", "attn_output.bias",
                         "attn_norm.bias"};
    t.ffn.needs = {"ffn_up.bias", "ffn_down.bias"};
    b.require({"output_norm.bias"});
    return t;
}

} // namespace

void gpt2(Builder &b) {
    ArchConfig t = gpt2_config(b);
    t.rope.style = RopeStyle::none;
    const View x = b.embed(1);
    b.add_positions(x, "position_embd");
    standard_from(b, t, x);
}

void starcoder2(Builder &b) {
    ArchConfig t = gpt2_config(b);
    t.ffn.needs = {"ffn_norm.bias", "ffn_up.bias", "ffn_down.bias"};
    standard(b, t);
}

void phi2(Builder &b) {
    ArchConfig t = gpt2_config(b);
    t.norms.order = NormOrder::parallel;
    standard(b, t);
}

} // namespace ggufx::model::arch
