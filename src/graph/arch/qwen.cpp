// qwen2 to qwen3: NEOX-style RoPE; biases, per-head norms and experts if the tensors are present.
// Text of vision models has equal positions in all sections, which is plain RoPE.
// SPDX-License-Identifier: MIT
#include "graph/arch/architectures.hpp"

namespace ggufx::model::arch {

void qwen2(Builder &b) {
    ArchConfig t;
    t.attention.needs = {"attn_q.bias", "attn_k.bias", "attn_v.bias"};
    standard(b, t);
}

void qwen2moe(Builder &b) {
    ArchConfig t;
    t.attention.needs = {"attn_q.bias", "attn_k.bias", "attn_v.bias"};
    t.experts.normalize = false;
    t.ffn.shared_gate = true;
    standard(b, t);
}

void qwen3(Builder &b) {
    ArchConfig t;
    t.attention.needs = {"attn_q_norm.weight", "attn_k_norm.weight"};
    t.output.rank_pooling = Pooling::last; // rerankers answer yes or no
    t.output.rank_softmax = true;
    standard(b, t);
}

} // namespace ggufx::model::arch
