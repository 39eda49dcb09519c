// lfm2, lfm2moe: short convolutions in most layers, attention in the others. The norm before the
// output is named token_embd_norm; files of Ollama name it output_norm.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void lfm2(Builder &b) {
    ArchConfig t;
    const bool by_output = b.has("output_norm") && !b.has("token_embd_norm");
    t.norms.output = by_output ? "output_norm" : "token_embd_norm";
    t.attention.needs = {"attn_q_norm.weight", "attn_k_norm.weight"};
    t.window.tokens = b.keys().count_or("attention.sliding_window", {0, kMaxContext}, 0);
    t.experts = {.gating = Gating::sigmoid, .needs = {"exp_probs_b.bias"}};
    standard(b, t);
}

} // namespace ggufx::model::arch
