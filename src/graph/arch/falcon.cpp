// falcon, nemotron, stablelm: layer norms with a bias, the only required biases; parallel attention
// and feed-forward network in some.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

namespace {

ArchConfig falcon_config(Builder &b) {
    ArchConfig t;
    t.norm = NormKind::layer;
    t.needs = {"attn_norm.bias"};
    b.require({"output_norm.bias"});
    return t;
}

} // namespace

void falcon(Builder &b) {
    ArchConfig t = falcon_config(b);
    t.plain_ffn = true;
    t.act = Act::gelu;
    t.order = NormOrder::parallel;
    standard(b, t);
}

void nemotron(Builder &b) {
    ArchConfig t = falcon_config(b);
    t.plain_ffn = true;
    t.act = Act::relu2;
    standard(b, t);
}

// Without ffn_norm, attention and the feed-forward network are parallel.
void stablelm(Builder &b) {
    ArchConfig t = falcon_config(b);
    t.act = Act::silu;
    t.qk_norm = HeadNorm::own;
    if (!b.binder().has({0, "ffn_norm"})) t.order = NormOrder::parallel;
    standard(b, t);
}

} // namespace ggufx::model::arch
