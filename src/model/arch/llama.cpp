// Shapes: n tokens, E = n_embd, F = n_ff; matrices of activations are [n][values], dense.
// RMS norm, rotation of adjacent pairs, grouped-query attention, SwiGLU; see README.md.
// SPDX-License-Identifier: MIT
#include "model/arch/llama.hpp"

#include "base/math.hpp"
#include "model/rows.hpp"

#include <math.h>

namespace ggufx::model {

namespace {

// 8 partial sums in binary64, where the squares are exact; lane = index % 8.
double sum_of_squares(const float *x, size_t n) {
    double lane[8] = {};
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        for (size_t j = 0; j < 8; j++) {
            lane[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
        }
    }
    for (; i < n; i++) lane[i % 8] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    for (size_t j = 0; j < 4; j++) lane[j] += lane[j + 4];
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

void normalize_row(float *out, const float *x, const float *weight, size_t n, float epsilon) {
    const double mean = sum_of_squares(x, n) / static_cast<double>(n);
    // Division and square root are correctly rounded everywhere.
    const float scale = static_cast<float>(1.0 / sqrt(mean + static_cast<double>(epsilon)));
    for (size_t i = 0; i < n; i++) out[i] = (x[i] * scale) * weight[i];
}

// gate = silu(gate) * up, silu(x) = x / (1 + exp(-x)).
void swiglu_row(float *gate, const float *up, size_t n) {
    for (size_t i = 0; i < n; i++) gate[i] = (gate[i] / (1.0f + exp_f32(-gate[i]))) * up[i];
}

// Dense columns.
matmul::Product to(float *y, const matmul::Weights &w) {
    return {w, y, static_cast<size_t>(w.n_rows)};
}

} // namespace

Status Graph::product(float *y, const matmul::Weights &w, const float *x, size_t n,
                      Failure *failure) {
    return model_.engine().matmul(y, static_cast<size_t>(w.n_rows), w, x,
                                  static_cast<size_t>(w.n_cols), n, options_, failure);
}

// Several matrices times the same input.
Status Graph::products(const matmul::Product *list, size_t n_list, const float *x, size_t n,
                       Failure *failure) {
    return model_.engine().matmul_many(list, n_list, x, static_cast<size_t>(list[0].w.n_cols), n,
                                       options_, failure);
}

Status Graph::embed(const int32_t *tokens, size_t n, Failure *failure) {
    const size_t embd = model_.hyper().n_embd;
    for (size_t i = 0; i < n; i++) {
        const Status status = model_.engine().dequantize(
            s_.x + i * embd, model_.embedding(), static_cast<uint64_t>(tokens[i]), 1, failure);
        if (status != Status::ok) return status;
    }
    return Status::ok;
}

Status Graph::normalize(const float *x, const float *weight, size_t n, Failure *failure) {
    const size_t embd = model_.hyper().n_embd;
    const float epsilon = model_.hyper().rms_epsilon;
    const Status status = for_rows(*model_.host(), n, embd, [&](size_t row) {
        normalize_row(s_.h + row * embd, x + row * embd, weight, embd, epsilon);
    });
    return status == Status::ok ? status : set_failure(failure, status, {}, "the executor failed");
}

// Angles in binary64, cos and sin rounded once: right for positions up to 2^31.
Status Graph::set_angles(uint64_t first, size_t n, Failure *failure) {
    const size_t pairs = model_.hyper().rope_dims / 2;
    const double *frequencies = model_.rope_frequencies();
    const Status status = for_rows(*model_.host(), n, 32 * pairs, [&](size_t row) {
        const double position = static_cast<double>(first + row);
        for (size_t i = 0; i < pairs; i++) {
            const SinCos angle = sin_cos_f64(position * frequencies[i]);
            s_.angles[2 * (row * pairs + i)] = static_cast<float>(angle.cos);
            s_.angles[2 * (row * pairs + i) + 1] = static_cast<float>(angle.sin);
        }
    });
    return status == Status::ok ? status : set_failure(failure, status, {}, "the executor failed");
}

// Pairs (2i, 2i+1) of the first rope_dims values of each head turn by their token's angles.
Status Graph::rotate(float *heads, size_t n_heads, size_t n, Failure *failure) {
    const size_t pairs = model_.hyper().rope_dims / 2, dim = model_.hyper().head_dim_k;
    const Status status = for_rows(*model_.host(), n, n_heads * dim, [&](size_t row) {
        const float *angles = s_.angles + 2 * row * pairs;
        for (size_t head = 0; head < n_heads; head++) {
            float *x = heads + (row * n_heads + head) * dim;
            for (size_t i = 0; i < pairs; i++) {
                const float c = angles[2 * i], s = angles[2 * i + 1];
                const float x0 = x[2 * i], x1 = x[2 * i + 1];
                x[2 * i] = x0 * c - x1 * s;
                x[2 * i + 1] = x0 * s + x1 * c;
            }
        }
    });
    return status == Status::ok ? status : set_failure(failure, status, {}, "the executor failed");
}

Status Graph::add_to_stream(size_t n, Failure *failure) {
    const size_t embd = model_.hyper().n_embd;
    const Status status = for_rows(*model_.host(), n, embd / 4, [&](size_t row) {
        float *x = s_.x + row * embd;
        const float *h = s_.h + row * embd;
        for (size_t i = 0; i < embd; i++) x[i] += h[i];
    });
    return status == Status::ok ? status : set_failure(failure, status, {}, "the executor failed");
}

// Page by page where the cache encodes; its bits do not depend on that.
Status Graph::append_and_attend(uint32_t index, size_t n, Failure *failure) {
    const HyperParameters &hp = model_.hyper();
    const size_t q_row = size_t(hp.n_heads) * hp.head_dim_k;
    const size_t k_row = size_t(hp.n_kv_heads) * hp.head_dim_k;
    const size_t v_row = size_t(hp.n_kv_heads) * hp.head_dim_v;
    const size_t out_row = size_t(hp.n_heads) * hp.head_dim_v;
    const uint32_t sequence = 0;
    kv::AttendOptions options;
    options.progress = options_.progress;
    for (size_t done = 0, step; done < n; done += step) {
        step = cache_.whole_step(index, sequence, n - done);
        const kv::Source source = {s_.k + done * k_row, s_.v + done * v_row};
        Status status = cache_.append(index, sequence, step, nullptr, source, failure);
        if (status == Status::ok)
            status = cache_.attend(s_.a + done * out_row, nullptr, index, &sequence, 1,
                                   s_.q + done * q_row, step, nullptr, options, failure);
        if (status != Status::ok) return status;
    }
    return Status::ok;
}

Status Graph::attention(const Layer &layer, uint32_t index, size_t n, Failure *failure) {
    const HyperParameters &hp = model_.hyper();
    Status status = normalize(s_.x, model_.vector(layer.attn_norm), n, failure);
    const matmul::Product inputs[] = {to(s_.q, layer.q), to(s_.k, layer.k), to(s_.v, layer.v)};
    if (status == Status::ok) status = products(inputs, 3, s_.h, n, failure);
    if (status == Status::ok) status = rotate(s_.q, hp.n_heads, n, failure);
    if (status == Status::ok) status = rotate(s_.k, hp.n_kv_heads, n, failure);
    if (status == Status::ok) status = append_and_attend(index, n, failure);
    if (status == Status::ok && poll_)
        status = poll_->attention_done(index, n, s_.q, s_.k, s_.v, s_.a, failure);
    if (status == Status::ok) status = product(s_.h, layer.attn_output, s_.a, n, failure);
    if (status == Status::ok) status = add_to_stream(n, failure);
    return status;
}

Status Graph::feed_forward(const Layer &layer, size_t n, Failure *failure) {
    const size_t ff = model_.hyper().n_ff;
    Status status = normalize(s_.x, model_.vector(layer.ffn_norm), n, failure);
    const matmul::Product inputs[] = {to(s_.gate, layer.gate), to(s_.up, layer.up)};
    if (status == Status::ok) status = products(inputs, 2, s_.h, n, failure);
    if (status != Status::ok) return status;
    status = for_rows(*model_.host(), n, 8 * ff,
                      [&](size_t row) { swiglu_row(s_.gate + row * ff, s_.up + row * ff, ff); });
    if (status != Status::ok) return set_failure(failure, status, {}, "the executor failed");
    status = product(s_.h, layer.down, s_.gate, n, failure);
    return status == Status::ok ? add_to_stream(n, failure) : status;
}

Status Graph::forward(const int32_t *tokens, size_t n, uint64_t first, Failure *failure) {
    Status status = embed(tokens, n, failure);
    if (status == Status::ok) status = set_angles(first, n, failure);
    for (uint32_t i = 0; i < model_.hyper().n_layers && status == Status::ok; i++) {
        const Layer &layer = model_.layer(i);
        status = attention(layer, i, n, failure);
        if (status == Status::ok) status = feed_forward(layer, n, failure);
        if (status == Status::ok && poll_) status = poll_->layer_done(i, failure);
    }
    return status;
}

Status Graph::project(float *logits, size_t row, size_t n, Failure *failure) {
    const float *x = s_.x + row * model_.hyper().n_embd;
    const Status status = normalize(x, model_.output_norm(), n, failure);
    return status == Status::ok ? product(logits, model_.output(), s_.h, n, failure) : status;
}

} // namespace ggufx::model
