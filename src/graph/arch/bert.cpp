// bert and derived models: bidirectional attention, norms after the sums. bert has learned
// positions, nomic-bert RoPE (-moe: networks without gates), jina-bert-v2 ALiBi.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

static ArchConfig bert_config() {
    ArchConfig t;
    t.norm = NormKind::layer;
    t.order = NormOrder::after_sum;
    t.causal = t.logits = false;
    t.output_norm = nullptr;
    t.act = Act::gelu;
    t.needs = {"attn_output_norm.bias", "layer_output_norm.bias"};
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
    t.rope = RopeStyle::none;
    t.plain_ffn = true;
    t.qk_norm = HeadNorm::whole;
    t.needs = {"attn_q.bias",      "attn_k.bias",           "attn_v.bias",
               "attn_output.bias", "attn_output_norm.bias", "layer_output_norm.bias"};
    t.ffn_needs = {"ffn_up.bias", "ffn_down.bias"};
    build(b, t, "position_embd");
}

void nomic_bert(Builder &b) {
    ArchConfig t = bert_config();
    t.act = Act::silu;
    build(b, t);
}

void nomic_bert_moe(Builder &b) {
    ArchConfig t = bert_config();
    t.plain_ffn = true;
    t.experts = {.normalize = false, .act = Act::gelu, .plain = true};
    build(b, t);
}

void jina_bert_v2(Builder &b) {
    ArchConfig t = bert_config();
    t.rope = RopeStyle::none;
    t.alibi = 8;
    t.qk_norm = HeadNorm::whole;
    build(b, t);
}

} // namespace ggufx::model::arch
