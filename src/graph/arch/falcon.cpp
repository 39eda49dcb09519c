// falcon, nemotron, stablelm: layer norms with a bias, the only required biases; parallel attention
// and feed-forward network in some.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

namespace {

ArchConfig falcon_config(Builder &b) {
    ArchConfig t;
    t.norms.kind = NormKind::layer;
    t.attention.needs = {"attn_norm.bias"};
    b.require({"output_norm.bias"});
    return t;
}

} // namespace

void falcon(Builder &b) {
    ArchConfig t = falcon_config(b);
    t.ffn.plain = true;
    t.ffn.act = Act::gelu;
    t.norms.order = NormOrder::parallel;
    standard(b, t);
}

void nemotron(Builder &b) {
    ArchConfig t = falcon_config(b);
    t.ffn.plain = true;
    t.ffn.act = Act::relu2;
    standard(b, t);
}

// Without ffn_norm, attention and the feed-forward network are parallel.
void stablelm(Builder &b) {
    ArchConfig t = falcon_config(b);
    t.ffn.act = Act::silu;
    t.attention.qk_norm = HeadNorm::own;
    if (!b.binder().has({0, "ffn_norm"})) t.norms.order = NormOrder::parallel;
    standard(b, t);
}

} // namespace ggufx::model::arch
