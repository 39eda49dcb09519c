// Configuration of an architecture whose layers combine the common blocks. The tensors of a file
// decide the rest: biases, fused matrices, norms of queries and keys, a tied output, experts.
// SPDX-License-Identifier: MIT
#pragma once

#include "graph/op.hpp"

#include <array>
#include <functional>

namespace ggufx::model {

// Full names after "blk.N.".
using Names = std::array<const char *, 8>; // unused entries are null
using LayerTest = std::function<bool(uint32_t layer)>;

struct Experts {
    Gating gating = Gating::softmax; // the key `expert_gating_func` overrides it
    bool normalize = true;
    bool scaled = true; // by expert_weights_scale
    Act act = Act::silu;
    bool plain = false; // without a gate: act(up x)
    bool weighed =
        false; // expert weights sigmoid(score) multiply the input of an expert, not its output
    Names needs = {}; // required tensors besides the matrices
    // Keys with a limit for each layer, 0: none; act(gate) and up are clamped to it.
    const char *limit = nullptr, *shared_limit = nullptr;
};

// Position of the norms:
// - before: before a sublayer;
// - after_sum: after its sum with the residual stream (attn_output_norm, layer_output_norm);
// - after_output: on its output alone (post_attention_norm, post_ffw_norm);
// - parallel: attention and feed-forward network read one norm of the stream, or have one each;
// - single: a layer is one mixer or one network.
enum class NormOrder : uint8_t { before, after_sum, after_output, parallel, single };

// Kind of recurrent layers. delta_by_key: the value heads of a key head are adjacent.
enum class Recurrent : uint8_t { delta, delta_by_key, mamba1, mamba2 };

// Weights of the norms of queries and keys: one head's weights for all heads (RMS), one norm over
// all heads, or weights for each head. The latter two use the norm kind of the model.
enum class HeadNorm : uint8_t { shared, whole, own };

// RoPE of sliding-window layers, where it differs.
struct WindowRope {
    bool differs = false;
    double base = 10000;
    bool scaled = false;          // by the model's RoPE factor and scaling type
    bool attention_factor = true; // rope.scaling.attn_factor applies
    bool divisors = true;         // rope_freqs apply
};

class Keys;

struct ArchConfig {
    NormKind norm = NormKind::rms;
    RopeStyle rope = RopeStyle::halves;
    Act act = Act::silu;
    NormOrder order = NormOrder::before;
    bool first_norm = true; // the first layer has an attn_norm
    bool causal = true;     // causal attention; a key may turn it off
    bool logits = true;     // the model predicts a next token; otherwise it only makes embeddings
    bool plain_ffn = false; // without a gate: act(up x)
    Recurrent recurrent = Recurrent::delta;
    HeadNorm qk_norm = HeadNorm::shared;
    bool norm_rotated = false;               // norms of q and k come after RoPE
    bool unit_rotated = false;               // RMS norm without weights on q and k after RoPE
    float alibi = 0;                         // largest ALiBi bias; 0: none
    bool post_norms = false;                 // post_attention_norm and post_ffw_norm on the outputs
    const char *ffn_norm = "ffn_norm";       // before the feed-forward network
    const char *output_norm = "output_norm"; // null: none
    bool gated_query = false;                // attn_q has a gate after each head's query
    Squash attention_gate = Squash::none;    // multiplies the attention output, from attn_gate x
    bool shared_gate = false;                // sigmoid(ffn_gate_inp_shexp x) on the shared expert
    bool keys_as_values = false; // without attn_v, values are the keys before their norm
    bool value_norm = false;     // RMS norm without weights on values
    Experts experts;
    Names needs = {};     // required tensors of attention, besides the matrices
    Names ffn_needs = {}; // required tensors of a dense network, besides the matrices
    // Pooling of rerankers and the activation between their two matrices. Pooling none: the last
    // token with causal attention, else the first.
    Pooling rank_pooling = Pooling::none;
    bool rank_gelu = false;    // GELU instead of tanh
    bool rank_softmax = false; // over the scores

    // Returns the layer whose keys and values a layer reads; empty: its own.
    std::function<uint32_t(uint32_t layer)> shares;
    LayerTest rotates;    // layers with RoPE; empty: all
    uint32_t window = 0;  // 0: none
    bool chunked = false; // the window starts at a multiple of its length
    LayerTest has_window; // layers with a window; empty: all, if there is a window
    WindowRope window_rope;
    bool half_rope = false;   // layers without a window rotate half of the dimensions that the key
                              // gives
    bool both_mixers = false; // attention and a recurrent mixer in each layer
    bool time_step_norms = false; // Mamba-1: norms of time steps, b and c
    bool plain_mamba = false;     // Mamba-2: the convolution's bias and the norm are optional

    float embedding_scale = 1, residual_scale = 1, logit_scale = 1;
    float attention_scale = 0;  // 0: 1 / sqrt(head_dim_k)
    float attention_factor = 1; // multiplies the attention output that is added to the residual
                                // stream
    float shared_factor = 1;    // multiplies the sum of the experts and the shared expert
    float attention_cap = 0, logit_cap = 0;
    // Queries are multiplied by 1 + scale * log(floor((position + offset) / floor) + 1).
    float temperature_scale = 0, temperature_floor = 0, temperature_offset = 0;
    LayerTest tempers; // layers with this scale; empty: all, if the scale is not 0
};

// Sets the temperature of queries beyond the model's original context, from the keys.
void temper_by_keys(const Keys &keys, ArchConfig *config);

// Returns layers l with l mod n < n - 1; n = 1: none, n = 0: all.
LayerTest all_but_last_of(uint32_t n);
// Returns layers l with l mod n != 0; n = 1: none, n = 0: all.
LayerTest all_but_first_of(uint32_t n);
// Reads attention.sliding_window_pattern with a flag for each layer; empty without such a key.
LayerTest window_flags(const Keys &keys);
// Reads the same key as flags or as n for one of the two functions above; `usual` without the key.
LayerTest window_pattern(const Keys &keys, LayerTest (*of)(uint32_t n), uint32_t usual);

} // namespace ggufx::model
