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
    struct {
        NormKind kind = NormKind::rms;
        NormOrder order = NormOrder::before;
        bool first = true;                  // the first layer has an attn_norm
        bool post = false;                  // post_attention_norm and post_ffw_norm on the outputs
        const char *ffn = "ffn_norm";       // before the feed-forward network
        const char *output = "output_norm"; // null: none
    } norms;

    struct {
        RopeStyle style = RopeStyle::halves;
        LayerTest layers;   // layers with RoPE; empty: all
        WindowRope windows; // RoPE of layers with a window
        bool half = false;  // layers without a window rotate half of the dimensions that the key
                            // gives
    } rope;

    struct {
        bool causal = true; // causal attention; a key may turn it off
        HeadNorm qk_norm = HeadNorm::shared;
        bool norm_rotated = false;   // norms of q and k come after RoPE
        bool unit_rotated = false;   // RMS norm without weights on q and k after RoPE
        bool value_norm = false;     // RMS norm without weights on values
        bool keys_as_values = false; // without attn_v, values are the keys before their norm
        bool gated_query = false;    // attn_q has a gate after each head's query
        Squash gate = Squash::none;  // multiplies the attention output, from attn_gate x
        float scale = 0;             // 0: 1 / sqrt(head_dim_k)
        float cap = 0;
        float factor = 1; // multiplies the attention output that is added to the residual stream
        float alibi = 0;  // largest ALiBi bias; 0: none
        Names needs = {}; // required tensors, besides the matrices
        // Returns the layer whose keys and values a layer reads; empty: its own.
        std::function<uint32_t(uint32_t layer)> shares;
    } attention;

    struct {
        uint32_t tokens = 0;  // 0: none
        bool chunked = false; // the window starts at a multiple of its length
        LayerTest layers;     // layers with a window; empty: all, if there is a window
    } window;

    // Queries are multiplied by 1 + scale * log(floor((position + offset) / floor) + 1).
    struct {
        float scale = 0, floor = 0, offset = 0;
        LayerTest layers; // layers with this scale; empty: all, if the scale is not 0
    } temperature;

    struct {
        Act act = Act::silu;
        bool plain = false;       // without a gate: act(up x)
        Names needs = {};         // required tensors of a dense network, besides the matrices
        bool shared_gate = false; // sigmoid(ffn_gate_inp_shexp x) on the shared expert
        float shared_factor = 1;  // multiplies the sum of the experts and the shared expert
    } ffn;
    Experts experts;

    struct {
        Recurrent kind = Recurrent::delta;
        bool both_mixers = false;     // attention and a recurrent mixer in each layer
        bool time_step_norms = false; // Mamba-1: norms of time steps, b and c
        bool plain = false;           // Mamba-2: the convolution's bias and the norm are optional
    } recurrent;

    struct {
        bool logits = true; // the model predicts a next token; otherwise it only makes embeddings
        float scale = 1, cap = 0;
        // Pooling of rerankers and the activation between their two matrices. Pooling none: the
        // last token with causal attention, else the first.
        Pooling rank_pooling = Pooling::none;
        bool rank_gelu = false;    // GELU instead of tanh
        bool rank_softmax = false; // over the scores
    } output;

    float embedding_scale = 1, residual_scale = 1;
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
