// gemma, gemma2, gemma3, gemma-embedding: GELU, embeddings times sqrt(n_embd); from the second on
// norms on both sides and layers with windows. The converter has added 1 to the weights of norms.
// SPDX-License-Identifier: MIT
#include "model/arch/architectures.hpp"

#include <math.h>

namespace ggufx::model::arch {

namespace {

Traits common(const Builder &b) {
    Traits t;
    t.act = Act::gelu;
    t.embedding_scale = sqrtf(static_cast<float>(b.n_embd()));
    return t;
}

// The 27B models scale by the embedding's share of a head.
float scale_of(Builder &b, uint32_t large_layers) {
    if (b.n_layers() != large_layers) return 0;
    const uint32_t heads = b.keys().count("attention.head_count", {1, kMaxHeads});
    return 1 / sqrtf(static_cast<float>(b.n_embd()) / static_cast<float>(heads));
}

} // namespace

void gemma(Builder &b) {
    standard(b, common(b));
}

void gemma2(Builder &b) {
    const Keys &keys = b.keys();
    Traits t = common(b);
    t.post_norms = true;
    t.window = keys.count_or("attention.sliding_window", {0, kMaxContext}, 4096);
    t.has_window = all_but_last_of(2);
    t.attention_cap = static_cast<float>(keys.number_or("attn_logit_softcapping", 0, 1e6, 50));
    t.logit_cap = static_cast<float>(keys.number_or("final_logit_softcapping", 0, 1e6, 30));
    t.attention_scale = scale_of(b, 46);
    standard(b, t);
}

static Traits gemma3_traits(Builder &b) {
    const Keys &keys = b.keys();
    Traits t = common(b);
    t.post_norms = true;
    t.needs = {"attn_q_norm.weight", "attn_k_norm.weight"};
    t.window = keys.count_or("attention.sliding_window", {0, kMaxContext}, 0);
    t.has_window = window_pattern(keys, all_but_last_of, 6);
    t.window_rope = {.differs = true, .base = 10000};
    t.logit_cap = static_cast<float>(keys.number_or("final_logit_softcapping", 0, 1e6, 0));
    t.attention_scale = scale_of(b, 62);
    return t;
}

void gemma3(Builder &b) {
    standard(b, gemma3_traits(b));
}

void gemma_embedding(Builder &b) {
    Traits t = gemma3_traits(b);
    t.causal = t.logits = false;
    standard(b, t);
}

} // namespace ggufx::model::arch
