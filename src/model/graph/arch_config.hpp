// What differs between architectures whose layers are put together in the common ways. Which
// tensors a file has decides the rest: biases, fused matrices, norms of queries and keys, a tied
// output, experts.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/graph/op.hpp"

#include <array>
#include <functional>

namespace ggufx::model {

// Full names behind "blk.N.".
using Names = std::array<const char *, 8>; // those behind the last are null
using LayerTest = std::function<bool(uint32_t layer)>;

struct Experts {
    Gating gating = Gating::softmax; // `expert_gating_func` decides where a file has it
    bool normalize = true;
    bool scaled = true; // by expert_weights_scale
    Act act = Act::silu;
    bool plain = false; // without a gate: act(up x)
    bool weighed =
        false;        // what goes into an expert is weighed, by sigmoid(score), not what comes out
    Names needs = {}; // beside the matrices
    // Keys with a limit for each layer, 0: none; act(gate) and up stay within it.
    const char *limit = nullptr, *shared_limit = nullptr;
};

// Where norms stand: before a sublayer; behind its sum with the stream (attn_output_norm,
// layer_output_norm); on its output alone (post_attention_norm, post_ffw_norm). parallel: attention
// and network look at one norm of the stream, or have one each.
// single: a layer is one mixer or one network.
enum class NormOrder : uint8_t { before, after_sum, after_output, parallel, single };

// What layers with a state are. by_key: value heads of a key head stand together.
enum class Recurrent : uint8_t { delta, delta_by_key, mamba1, mamba2 };

// Weights of the norms of queries and keys: those of one head for all (RMS), over all heads at once
// or for each head its own (both of the kind of the others).
enum class HeadNorm : uint8_t { shared, whole, own };

// RopeTable of layers with a window, where it differs.
struct WindowRope {
    bool differs = false;
    double base = 10000;
    bool scaled = false;          // by the model's factor and kind of scaling
    bool attention_factor = true; // rope.scaling.attn_factor counts
    bool divisors = true;         // so do rope_freqs
};

class Keys;

struct ArchConfig {
    NormKind norm = NormKind::rms;
    RopeStyle rope = RopeStyle::halves;
    Act act = Act::silu;
    NormOrder order = NormOrder::before;
    bool first_norm = true; // the first layer has an attn_norm
    bool causal = true;     // tokens see those before them alone; a key may say no
    bool logits = true;     // a next token is predicted; else it makes embeddings only
    bool plain_ffn = false; // without a gate: act(up x)
    Recurrent recurrent = Recurrent::delta;
    HeadNorm qk_norm = HeadNorm::shared;
    bool norm_rotated = false;               // norms of q and k stand behind the rotation
    bool unit_rotated = false;               // an RMS norm of turned q and k, without weights
    float alibi = 0;                         // largest bias of ALiBi; 0: none
    bool post_norms = false;                 // post_attention_norm and post_ffw_norm on the outputs
    const char *ffn_norm = "ffn_norm";       // before the feed-forward network
    const char *output_norm = "output_norm"; // null: none
    bool gated_query = false;                // attn_q has a gate behind each head's query
    Squash attention_gate = Squash::none;    // of attn_gate x, on what attention gives
    bool shared_gate = false;                // sigmoid(ffn_gate_inp_shexp x) on the shared expert
    bool keys_as_values = false;             // without attn_v values are keys before their norm
    bool value_norm = false;                 // RMS norm without weights on values
    Experts experts;
    Names needs = {};     // of attention, beside the matrices
    Names ffn_needs = {}; // of a dense network, the same
    // What rerankers look at (none: the first token, or the last where tokens see those before them
    // alone), and what is between their two matrices.
    Pooling rank_pooling = Pooling::none;
    bool rank_gelu = false;    // in place of tanh
    bool rank_softmax = false; // over the scores

    // The layer whose keys and values a layer reads; none: its own.
    std::function<uint32_t(uint32_t layer)> shares;
    LayerTest rotates;    // none: all layers
    uint32_t window = 0;  // 0: none
    bool chunked = false; // it begins at a multiple of itself
    LayerTest has_window; // none: all, where there is one
    WindowRope window_rope;
    bool half_rope = false;   // layers without a window turn half of what the key says
    bool both_mixers = false; // attention beside what has a state, in each layer
    bool op_norms = false;    // Mamba-1: of time steps, b and c
    bool plain_mamba = false; // Mamba-2 may go without a bias of its convolution and its norm

    float embedding_scale = 1, residual_scale = 1, logit_scale = 1;
    float attention_scale = 0;  // 0: 1 / sqrt(head_dim_k)
    float attention_factor = 1; // of what a layer's attention adds
    float shared_factor = 1;    // of what experts and a shared one add together
    float attention_cap = 0, logit_cap = 0;
    // Queries times 1 + scale * log(floor((position + offset) / floor) + 1).
    float temperature_scale = 0, temperature_floor = 0, temperature_offset = 0;
    LayerTest tempers; // none: all layers, where the scale is not 0
};

// Of files whose queries grow from the model's original context on.
void temper_by_keys(const Keys &keys, ArchConfig *config);

// Layers l with l mod n < n - 1; n = 1: none, n = 0: all.
LayerTest all_but_last_of(uint32_t n);
// Layers l with l mod n != 0; n = 1: none, n = 0: all.
LayerTest all_but_first_of(uint32_t n);
// By attention.sliding_window_pattern: a flag for each layer. Missing: there is no such key.
LayerTest window_flags(const Keys &keys);
// The same, or n of one of the two above; `usual` where there is no such key.
LayerTest window_pattern(const Keys &keys, LayerTest (*of)(uint32_t n), uint32_t usual);

} // namespace ggufx::model
