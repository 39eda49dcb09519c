// gemma to gemma3, gemma-embedding: GELU, embeddings times sqrt(n_embd); from gemma2 on norms on
// both sides and sliding-window layers. The converter has added 1 to the weights of norms.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

#include <math.h>

namespace ggufx::model::arch {

static ArchConfig gemma_config(const Builder &b) {
    ArchConfig t;
    t.ffn.act = Act::gelu;
    t.embedding_scale = sqrtf(static_cast<float>(b.n_embd()));
    return t;
}

// The 27B models (`large_layers`) scale attention by 1 / sqrt(n_embd / heads).
static ArchConfig windowed(Builder &b, uint32_t window, double logit_cap, uint32_t large_layers) {
    const Keys &keys = b.keys();
    ArchConfig t = gemma_config(b);
    t.norms.post = true;
    t.window.tokens = keys.count_or("attention.sliding_window", {0, kMaxContext}, window);
    t.output.cap = static_cast<float>(keys.number_or("final_logit_softcapping", 0, 1e6, logit_cap));
    if (b.n_layers() == large_layers) {
        const auto heads = static_cast<float>(keys.count("attention.head_count", {1, kMaxHeads}));
        t.attention.scale = 1 / sqrtf(static_cast<float>(b.n_embd()) / heads);
    }
    return t;
}

static ArchConfig gemma3_config(Builder &b) {
    ArchConfig t = windowed(b, 0, 0, 62);
    t.attention.needs = {"attn_q_norm.weight", "attn_k_norm.weight"};
    t.window.layers = window_pattern(b.keys(), all_but_last_of, 6);
    t.rope.windows = {.differs = true, .base = 10000};
    return t;
}

void gemma(Builder &b) {
    standard(b, gemma_config(b));
}

void gemma2(Builder &b) {
    ArchConfig t = windowed(b, 4096, 30, 46);
    t.window.layers = all_but_last_of(2);
    t.attention.cap = static_cast<float>(b.keys().number_or("attn_logit_softcapping", 0, 1e6, 50));
    standard(b, t);
}

void gemma3(Builder &b) {
    standard(b, gemma3_config(b));
}

void gemma_embedding(Builder &b) {
    ArchConfig t = gemma3_config(b);
    t.attention.causal = t.output.logits = false;
    standard(b, t);
}

} // namespace ggufx::model::arch
