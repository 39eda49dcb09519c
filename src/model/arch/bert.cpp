// bert and what came of it: all tokens see all, norms stand behind the sums. bert has learned
// positions, nomic-bert turns queries and keys, jina-bert-v2 has ALiBi.
// SPDX-License-Identifier: MIT
#include "model/arch/architectures.hpp"

namespace ggufx::model::arch {

namespace {

Traits common() {
    Traits t;
    t.norm = NormKind::layer;
    t.order = NormOrder::after_sum;
    t.causal = t.logits = false;
    t.output_norm = nullptr;
    t.act = Act::gelu;
    return t;
}

// Token types are 0 all over: those of the second text of a pair are for training.
void build(Builder &b, const Traits &traits, const char *positions) {
    const View x = b.embed(1);
    if (b.has("token_types")) {
        const char *types = "tokenizer.ggml.token_type_count";
        const gguf::File &file = b.keys().file();
        const size_t key = file.find_meta(types);
        const uint64_t n = key == gguf::kNotFound ? 0 : file.get_u64(key);
        b.emit(step::AddVector{x, b.first_row("token_types", n)});
    }
    if (positions) b.add_positions(x, positions);
    b.require({"token_embd_norm.bias"});
    b.norm(x, x, "token_embd_norm", NormKind::layer);
    standard_from(b, traits, x);
}

} // namespace

void bert(Builder &b) {
    Traits t = common();
    t.rope = RopeStyle::none;
    t.plain_ffn = true;
    t.qk_norm = HeadNorm::whole;
    t.needs = {"attn_q.bias",      "attn_k.bias",           "attn_v.bias",
               "attn_output.bias", "attn_output_norm.bias", "layer_output_norm.bias"};
    t.ffn_needs = {"ffn_up.bias", "ffn_down.bias"};
    build(b, t, "position_embd");
}

// With experts in some layers: nomic-bert-moe, whose networks have no gates.
void nomic_bert(Builder &b) {
    Traits t = common();
    t.needs = {"attn_output_norm.bias", "layer_output_norm.bias"};
    t.act = Act::silu;
    build(b, t, nullptr);
}

void nomic_bert_moe(Builder &b) {
    Traits t = common();
    t.needs = {"attn_output_norm.bias", "layer_output_norm.bias"};
    t.plain_ffn = true;
    t.experts = {.normalize = false, .act = Act::gelu, .plain = true};
    build(b, t, nullptr);
}

void jina_bert_v2(Builder &b) {
    Traits t = common();
    t.rope = RopeStyle::none;
    t.alibi = 8;
    t.qk_norm = HeadNorm::whole;
    t.needs = {"attn_output_norm.bias", "layer_output_norm.bias"};
    build(b, t, nullptr);
}

} // namespace ggufx::model::arch
