// The closed list of operations on the activations of a batch. An operation is plain data: input
// and output buffers, weights, numbers. Formulas: docs/reproducibility/models.md.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

#include <variant>

namespace ggufx::model {

using BufferId = uint32_t;
constexpr uint32_t kNoIndex = UINT32_MAX;

// Columns first .. first + width - 1 of a buffer's rows.
struct View {
    BufferId buffer = kNoIndex;
    uint32_t first = 0, width = 0;

    bool none() const { return buffer == kNoIndex; }
    View part(uint32_t from, uint32_t n) const { return {buffer, first + from, n}; }
};

// Start of floats in Graph::vectors; none: kNoIndex.
using Vec = uint32_t;

enum class NormKind : uint8_t { rms, layer, l2 };
enum class Act : uint8_t { silu, gelu, relu2, oai };
enum class Squash : uint8_t { none, sigmoid, softplus }; // activation of a gate
enum class RopeStyle : uint8_t { none, pairs, halves };
// Rows that make the embedding of a sequence; values of the key `pooling_type`.
enum class Pooling : uint8_t { none = 0, mean = 1, first = 2, last = 3, rank = 4 };
// Router's gating function, by key values; none: the weights are the raw scores.
enum class Gating : uint8_t { none = 0, softmax = 1, sigmoid = 2, softmax_chosen = 3 };

namespace op {

// kRows: row-wise, each token's row is independent. views(f) calls f with every view that an
// operation reads or writes; some are none().

// ---- row-wise: each token's row is independent ----------------------------------------------

// cos and sin of a token's position times each RoPE frequency.
struct Angles {
    static constexpr bool kRows = true;
    View out;
    uint32_t rope_table;
    template <class F> void views(F f) const { f(out); }
};

// Normalizes `groups` equal parts of a row independently; w and b have the size of one part.
struct Norm {
    static constexpr bool kRows = true;
    View in, out;
    NormKind kind;
    Vec w, b;
    uint32_t groups;
    float epsilon;
    template <class F> void views(F f) const {
        f(in);
        f(out);
    }
};

// RoPE of the coordinates first .. first + 2 * pairs - 1 of each head.
struct Rotate {
    static constexpr bool kRows = true;
    View x, angles;
    uint32_t heads, first, pairs;
    RopeStyle style;
    template <class F> void views(F f) const {
        f(x);
        f(angles);
    }
};

// x *= 1 + scale * log(floor((position + offset) / floor) + 1)
struct Temperature {
    static constexpr bool kRows = true;
    View x;
    float scale, floor, offset;
    template <class F> void views(F f) const { f(x); }
};

struct Scale {
    static constexpr bool kRows = true;
    View x;
    float factor;
    template <class F> void views(F f) const { f(x); }
};

// x += scale * y
struct Add {
    static constexpr bool kRows = true;
    View x, y;
    float scale;
    template <class F> void views(F f) const {
        f(x);
        f(y);
    }
};

// x += v, or x *= v (one value for all with `one`): the same v for every token
struct AddVector {
    static constexpr bool kRows = true;
    View x;
    Vec v;
    template <class F> void views(F f) const { f(x); }
};
struct MultiplyVector {
    static constexpr bool kRows = true;
    View x;
    Vec v;
    bool one;
    template <class F> void views(F f) const { f(x); }
};

// x *= y
struct Multiply {
    static constexpr bool kRows = true;
    View x, y;
    template <class F> void views(F f) const {
        f(x);
        f(y);
    }
};

// Clamps x to [-limit, limit].
struct Clamp {
    static constexpr bool kRows = true;
    View x;
    float limit;
    template <class F> void views(F f) const { f(x); }
};

// x = cap * tanh(x / cap)
struct Cap {
    static constexpr bool kRows = true;
    View x;
    float cap;
    template <class F> void views(F f) const { f(x); }
};

// gate = act(gate) * up in `parts` parts of each; without up: gate = act(gate).
struct Activate {
    static constexpr bool kRows = true;
    View gate, up; // part i of each begins i * stride after its first column
    uint32_t parts, width, stride;
    Act act;
    template <class F> void views(F f) const {
        f(gate);
        f(up);
    }
};

// Copies `parts` parts of width values, each a stride after the previous one; a stride of 0
// repeats.
struct Gather {
    static constexpr bool kRows = true;
    View in, out;
    uint32_t parts, in_stride, out_stride, width;
    template <class F> void views(F f) const {
        f(in);
        f(out);
    }
};

// Multiplies each of `parts` equal parts of x by sigmoid (or softplus) of as many values of `gate`.
// Its parts are gate_stride apart; with `one`, a single gate value serves a whole part.
struct Gate {
    static constexpr bool kRows = true;
    View x, gate;
    uint32_t parts, gate_stride;
    bool one;
    Squash squash = Squash::sigmoid;
    template <class F> void views(F f) const {
        f(x);
        f(gate);
    }
};

// MoE router. Input: scores of experts; output: ids (uint32 stored as floats) and weights of the
// chosen ones.
struct Route {
    static constexpr bool kRows = true;
    View scores, ids, weights;
    Vec bias; // for the choice only
    uint32_t groups, groups_used;
    Gating gating;
    bool normalize;
    float scale;
    template <class F> void views(F f) const {
        f(scores);
        f(ids);
        f(weights);
    }
};

// out = sum_k weights[k] * in[k], k ascending; without weights the plain sum of `used` parts.
struct ExpertSum {
    static constexpr bool kRows = true;
    View in, weights, out;
    uint32_t used;
    template <class F> void views(F f) const {
        f(in);
        f(weights);
        f(out);
    }
};

// x[k] *= v[ids[k]], or x[k] += row ids[k] of v
struct ExpertScale {
    static constexpr bool kRows = true;
    View x, ids;
    Vec v;
    template <class F> void views(F f) const {
        f(x);
        f(ids);
    }
};
struct ExpertBias {
    static constexpr bool kRows = true;
    View x, ids;
    Vec v;
    template <class F> void views(F f) const {
        f(x);
        f(ids);
    }
};

// decay = exp(softplus(decay + bias) * a) and beta = sigmoid(beta), per value head
struct DeltaGates {
    static constexpr bool kRows = true;
    View decay, beta;
    Vec bias, a;
    template <class F> void views(F f) const {
        f(decay);
        f(beta);
    }
};

// dt = softplus(dt + bias), decay = exp(dt * a); the bias and the decay are optional.
struct TimeSteps {
    static constexpr bool kRows = true;
    View dt, decay;
    Vec bias, a;
    template <class F> void views(F f) const {
        f(dt);
        f(decay);
    }
};

// Softmax in place, over the whole view.
struct Softmax {
    static constexpr bool kRows = true;
    View x;
    template <class F> void views(F f) const { f(x); }
};

// ---- whole batches --------------------------------------------------------------------------

// out = table[token] * scale, or table[position] * scale
struct Embed {
    static constexpr bool kRows = false;
    View out;
    uint32_t weights;
    float scale;
    bool by_position = false;
    template <class F> void views(F f) const { f(out); }
};

// Up to four matrices with one input.
struct Product {
    static constexpr bool kRows = false;
    struct To {
        View out;
        uint32_t weights;
    };
    View in;
    To to[4];
    uint32_t n;
    template <class F> void views(F f) const {
        f(in);
        for (uint32_t i = 0; i < n; i++) f(to[i].out);
    }
};

// Part h of `out` = matrix h times part h of `in`; parts begin a stride apart. `ids` is scratch
// space for a number per head.
struct HeadProduct {
    static constexpr bool kRows = false;
    View in, out, ids;
    uint32_t weights, heads, in_stride, out_stride;
    template <class F> void views(F f) const {
        f(in);
        f(out);
        f(ids);
    }
};

// Row k of a token's results is expert ids[k] times the token's row, or with `each` times part k.
// The experts are one weight, or `separate` ones from `weights` on. In the latter case the columns
// of each expert are gathered; scratch space: order [used], columns [used][in], results
// [used][out].
struct ExpertProduct {
    static constexpr bool kRows = false;
    View in, ids, out;
    uint32_t weights, used;
    bool each;
    uint32_t separate; // number of experts, 0: one weight
    View order, columns, results;
    template <class F> void views(F f) const {
        for (const View &v : {in, ids, out, order, columns, results}) f(v);
    }
};

// All-gather of `parts` equal parts: each rank has the columns between its boundaries, in `in`,
// part after part. Afterwards `out` is complete on all ranks. packs: rows are sent as packed
// activations, since all readers of `out` take only these.
struct AllGather {
    static constexpr bool kRows = false;
    View in, out;
    uint32_t parts;
    uint32_t borders; // start in Graph::borders, n_ranks + 1 values
    bool packs;
    template <class F> void views(F f) const {
        f(in);
        f(out);
    }
};

// Appends k and v (none: another layer's are read), then computes attention.
struct Attend {
    static constexpr bool kRows = false;
    View q, k, v, out;
    uint32_t cache, layer; // in Graph::caches
    uint32_t model_layer;
    float scale, cap;
    Vec sinks;
    uint32_t slopes; // ALiBi: start in Graph::slopes, or kNoIndex
    bool causal;     // otherwise a token sees all tokens, or half a window on both sides
    bool shared;     // other layers read these keys and values
    template <class F> void views(F f) const {
        f(q);
        f(k);
        f(v);
        f(out);
    }
};

// Row t of `out` from the rows of sequence t of the batch; `rank` pools the rows for a reranker.
struct Pool {
    static constexpr bool kRows = false;
    View in, out;
    Pooling rank;
    template <class F> void views(F f) const {
        f(in);
        f(out);
    }
};

// ---- along the tokens of a sequence, with a recurrent state ----------------------------------

// Causal convolution over `taps` tokens, then silu where `activate`. in and out must differ.
struct Conv {
    static constexpr bool kRows = false;
    View in, out;
    uint32_t state;
    uint32_t taps;
    Vec w, b; // [taps][values], [values]
    bool activate;
    template <class F> void views(F f) const {
        f(in);
        f(out);
    }
};

// Gated delta net; key head of a value head: head / (heads / key_heads), or with `interleaved` head
// % key_heads.
struct Delta {
    static constexpr bool kRows = false;
    View q, k, v, decay, beta, out;
    uint32_t state, heads, key_heads, values;
    bool interleaved;
    template <class F> void views(F f) const {
        f(q);
        f(k);
        f(v);
        f(decay);
        f(beta);
        f(out);
    }
};

// Mamba-2: heads are equal parts of u, each with a time step and a decay; the heads of a group
// share b and c.
struct Scan {
    static constexpr bool kRows = false;
    View u, b, c, dt, decay, out;
    uint32_t state, heads, groups;
    template <class F> void views(F f) const {
        for (const View &v : {u, b, c, dt, decay, out}) f(v);
    }
};

// Mamba-1: each value of u has its own time step and decays, a[value][size of the state].
struct ScanEach {
    static constexpr bool kRows = false;
    View u, b, c, dt, out;
    Vec a;
    uint32_t state;
    template <class F> void views(F f) const {
        for (const View &v : {u, b, c, dt, out}) f(v);
    }
};

} // namespace op

using Op = std::variant<op::Embed, op::Angles, op::Norm, op::Rotate, op::Temperature, op::Scale,
                        op::Add, op::AddVector, op::MultiplyVector, op::Multiply, op::Clamp,
                        op::Cap, op::Activate, op::Gather, op::Gate, op::Route, op::ExpertSum,
                        op::ExpertScale, op::ExpertBias, op::DeltaGates, op::TimeSteps, op::Softmax,
                        op::Product, op::HeadProduct, op::ExpertProduct, op::AllGather, op::Attend,
                        op::Pool, op::Conv, op::Delta, op::Scan, op::ScanEach>;

} // namespace ggufx::model
