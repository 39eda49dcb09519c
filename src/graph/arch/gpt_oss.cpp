// gpt-oss: attention sinks, sliding windows in every other layer, experts with biases and a clamped
// gate.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void gpt_oss(Builder &b) {
    ArchConfig t;
    t.norms.ffn = "post_attention_norm";
    t.window.tokens = b.keys().count("attention.sliding_window", {0, kMaxContext});
    t.window.layers = all_but_last_of(2);
    t.attention.needs = {"attn_sinks.weight", "attn_q.bias", "attn_k.bias", "attn_v.bias",
                         "attn_output.bias"};
    t.experts = {.gating = Gating::softmax_chosen, .normalize = false, .act = Act::oai};
    t.experts.needs = {"ffn_gate_inp.bias", "ffn_gate_exps.bias", "ffn_up_exps.bias",
                       "ffn_down_exps.bias"};
    standard(b, t);
}

} // namespace ggufx::model::arch
