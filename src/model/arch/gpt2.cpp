// gpt2, starcoder2, phi2, falcon, nemotron, stablelm: norms with a mean and a bias, mostly networks
// without a gate, attention and network side by side in some.
// SPDX-License-Identifier: MIT
#include "model/arch/architectures.hpp"

namespace ggufx::model::arch {

namespace {

Traits common(Builder &b) {
    Traits t;
    t.norm = NormKind::layer;
    t.plain_ffn = true;
    t.act = Act::gelu;
    t.needs = {"attn_norm.bias"};
    b.require({"output_norm.bias"});
    return t;
}

// Every matrix of a layer has a bias.
void need_biases(Traits &t) {
    t.needs = {"attn_q.bias", "attn_k.bias", "attn_v.bias", "attn_output.bias", "attn_norm.bias"};
    t.ffn_needs = {"ffn_up.bias", "ffn_down.bias"};
}

} // namespace

void gpt2(Builder &b) {
    Traits t = common(b);
    need_biases(t);
    t.rope = RopeStyle::none;
    const View x = b.embed(1);
    b.add_positions(x, "position_embd");
    standard_from(b, t, x);
}

void starcoder2(Builder &b) {
    Traits t = common(b);
    need_biases(t);
    t.ffn_needs = {"ffn_norm.bias", "ffn_up.bias", "ffn_down.bias"};
    standard(b, t);
}

void phi2(Builder &b) {
    Traits t = common(b);
    need_biases(t);
    t.order = NormOrder::parallel;
    standard(b, t);
}

void falcon(Builder &b) {
    Traits t = common(b);
    t.order = NormOrder::parallel;
    standard(b, t);
}

void nemotron(Builder &b) {
    Traits t = common(b);
    t.act = Act::relu2;
    standard(b, t);
}

// Without norms of the network it stands beside attention.
void stablelm(Builder &b) {
    Traits t = common(b);
    t.plain_ffn = false;
    t.act = Act::silu;
    t.qk_norm = HeadNorm::own;
    if (!b.binder().has({0, "ffn_norm"})) t.order = NormOrder::parallel;
    standard(b, t);
}

} // namespace ggufx::model::arch
