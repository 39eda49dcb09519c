// bert and derived models: bidirectional attention, norms after the sums. bert has learned
// positions, nomic-bert RoPE (-moe: networks without gates), jina-bert-v2 ALiBi.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

static ArchConfig bert_config() {
    ArchConfig t;
    t.norms.kind = NormKind::layer;
    t.norms.order = NormOrder::after_sum;
    t.attention.causal = t.output.logits = false;
    t.norms.output = nullptr;
    t.ffn.act = Act::gelu;
    t.attention.needs = {"attn_output_norm.bias", "layer_output_norm.bias"};
    return t;
}

static void build(Builder &b, const ArchConfig &config, const char *positions = nullptr) {
    const View x = b.embed(1);
    b.add_token_types(x);
    if (positions) b.add_positions(x, positions);
    b.require({"token_embd_norm.bias"});
    b.norm(x, x, "token_embd_norm", NormKind::layer);
    standard_from(b, config, x);
}

void bert(Builder &b) {
    ArchConfig t = bert_config();
    t.rope.style = RopeStyle::none;
    t.ffn.plain = true;
    t.attention.qk_norm = HeadNorm::whole;
    t.attention.needs = {"attn_q.bias",      "attn_k.bias",           "attn_v.bias",
                         "attn_output.bias", "attn_output_norm.bias", "layer_output_norm.bias"};
    t.ffn.needs = {"ffn_up.bias", "ffn_down.bias"};
    build(b, t, "position_embd");
}

void nomic_bert(Builder &b) {
    ArchConfig t = bert_config();
    t.ffn.act = Act::silu;
    build(b, t);
}

void nomic_bert_moe(Builder &b) {
    ArchConfig t = bert_config();
    t.ffn.plain = true;
    t.experts = {.normalize = false, .act = Act::gelu, .plain = true};
    build(b, t);
}

void jina_bert_v2(Builder &b) {
    ArchConfig t = bert_config();
    t.rope.style = RopeStyle::none;
    t.attention.alibi = 8;
    t.attention.qk_norm = HeadNorm::whole;
    build(b, t);
}

} // namespace ggufx::model::arch
