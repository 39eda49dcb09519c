// Row-wise operations. Bits: docs/reproducibility/models.md.
// SPDX-License-Identifier: MIT
#include "base/math.hpp"
#include "run/ops/context.hpp"
#include "run/ops/route.hpp"

#include <math.h>
#include <string.h>

namespace ggufx::model {

namespace {

// Angles in binary64, cos and sin rounded once: exact enough for positions up to 2^31.
void run(const Context &c, const op::Angles &s, size_t row) {
    const RopeTable &rope_table = c.graph.rope_tables[s.rope_table];
    const double *frequencies = c.frequencies[s.rope_table];
    const double position = static_cast<double>(c.positions[row]);
    float *out = c.at(s.out, row);
    for (size_t i = 0; i < rope_table.pairs; i++) {
        const SinCos angle = sin_cos_f64(position * frequencies[i]);
        out[2 * i] = static_cast<float>(angle.cos * rope_table.factor);
        out[2 * i + 1] = static_cast<float>(angle.sin * rope_table.factor);
    }
}

void run(const Context &c, const op::Norm &s, size_t row) {
    const size_t n = s.in.width / s.groups;
    const float *w = c.graph.vector(s.w), *b = c.graph.vector(s.b);
    for (size_t g = 0; g < s.groups; g++) {
        const float *x = c.at(s.in, row) + g * n;
        float *y = c.at(s.out, row) + g * n;
        if (s.kind == NormKind::rms)
            c.rows.rms(y, x, w, n, s.epsilon);
        else if (s.kind == NormKind::layer)
            c.rows.layer_norm(y, x, w, b, n, s.epsilon);
        else
            c.rows.l2(y, x, n, s.epsilon);
    }
}

void run(const Context &c, const op::Rotate &s, size_t row) {
    const size_t dim = s.x.width / s.heads;
    const float *angles = c.at(s.angles, row);
    const auto turn = s.style == RopeStyle::pairs ? c.rows.rotate_pairs : c.rows.rotate_halves;
    for (size_t head = 0; head < s.heads; head++)
        turn(c.at(s.x, row) + head * dim + s.first, angles, s.pairs);
}

void run(const Context &c, const op::Temperature &s, size_t row) {
    const double position = static_cast<double>(c.positions[row]) + static_cast<double>(s.offset);
    const double steps = floor(position / static_cast<double>(s.floor)) + 1;
    const double factor = static_cast<double>(s.scale) * log_f64(steps) + 1;
    c.rows.scale(c.at(s.x, row), static_cast<float>(factor), s.x.width);
}

void run(const Context &c, const op::Scale &s, size_t row) {
    c.rows.scale(c.at(s.x, row), s.factor, s.x.width);
}

void run(const Context &c, const op::Add &s, size_t row) {
    if (s.scale == 1)
        c.rows.add(c.at(s.x, row), c.at(s.y, row), s.x.width);
    else
        c.rows.add_scaled(c.at(s.x, row), c.at(s.y, row), s.scale, s.x.width);
}

void run(const Context &c, const op::AddVector &s, size_t row) {
    c.rows.add(c.at(s.x, row), c.graph.vector(s.v), s.x.width);
}

void run(const Context &c, const op::MultiplyVector &s, size_t row) {
    const float *v = c.graph.vector(s.v);
    if (s.one)
        c.rows.scale(c.at(s.x, row), *v, s.x.width);
    else
        c.rows.multiply(c.at(s.x, row), v, s.x.width);
}

void run(const Context &c, const op::Multiply &s, size_t row) {
    c.rows.multiply(c.at(s.x, row), c.at(s.y, row), s.x.width);
}

void run(const Context &c, const op::Clamp &s, size_t row) {
    c.rows.clamp(c.at(s.x, row), s.limit, s.x.width);
}

void run(const Context &c, const op::Cap &s, size_t row) {
    c.rows.cap(c.at(s.x, row), s.cap, s.x.width);
}

void run(const Context &c, const op::Activate &s, size_t row) {
    const auto act = s.act == Act::silu    ? c.rows.silu
                     : s.act == Act::gelu  ? c.rows.gelu
                     : s.act == Act::relu2 ? c.rows.relu2
                                           : c.rows.oai;
    float *gate = c.at(s.gate, row);
    const float *up = s.up.none() ? nullptr : c.at(s.up, row);
    for (size_t i = 0; i < s.parts; i++)
        act(gate + i * s.stride, up ? up + i * s.stride : nullptr, s.width);
}

void run(const Context &c, const op::Gather &s, size_t row) {
    const float *in = c.at(s.in, row);
    float *out = c.at(s.out, row);
    for (size_t i = 0; i < s.parts; i++)
        memcpy(out + i * s.out_stride, in + i * s.in_stride, s.width * sizeof(float));
}

// log(1 + exp(x)), x itself from 20 on.
float softplus(float x) {
    if (x > 20.0f) return x;
    const float tail = log_f32(1.0f + exp_f32(-fabsf(x)));
    return x > 0.0f ? x + tail : tail;
}

// y[n] *= the gate's activated values
void squash(const Context &c, Squash kind, float *y, const float *gate, size_t n) {
    if (kind == Squash::sigmoid) return c.rows.sigmoid(y, gate, n);
    for (size_t i = 0; i < n; i++) {
        const float factor = softplus(gate[i]);
        c.rows.multiply(y + i, &factor, 1);
    }
}

void run(const Context &c, const op::Gate &s, size_t row) {
    const size_t n = s.x.width / s.parts;
    float *x = c.at(s.x, row);
    const float *gate = c.at(s.gate, row);
    for (size_t i = 0; i < s.parts; i++, x += n, gate += s.gate_stride) {
        if (!s.one) {
            squash(c, s.squash, x, gate, n);
            continue;
        }
        float factor = 1;
        squash(c, s.squash, &factor, gate, 1);
        c.rows.scale(x, factor, n);
    }
}

void run(const Context &c, const op::Route &s, size_t row) {
    route(c.rows, s, c.at(s.scores, row), c.graph.vector(s.bias),
          reinterpret_cast<uint32_t *>(c.at(s.ids, row)), c.at(s.weights, row));
}

void run(const Context &c, const op::ExpertSum &s, size_t row) {
    const size_t n = s.out.width;
    const float *in = c.at(s.in, row), *weights = s.weights.none() ? nullptr : c.at(s.weights, row);
    float *out = c.at(s.out, row);
    memcpy(out, in, n * sizeof(float));
    if (weights) c.rows.scale(out, weights[0], n);
    for (size_t k = 1; k < s.used; k++) {
        if (weights)
            c.rows.add_scaled(out, in + k * n, weights[k], n);
        else
            c.rows.add(out, in + k * n, n);
    }
}

// Calls f for part k of a row and its expert's id.
template <class F>
void each_expert(const Context &c, const View &x, const View &ids, size_t row, const F &f) {
    const size_t n = x.width / ids.width;
    const uint32_t *id = reinterpret_cast<const uint32_t *>(c.at(ids, row));
    for (size_t k = 0; k < ids.width; k++) f(c.at(x, row) + k * n, id[k], n);
}

void run(const Context &c, const op::ExpertScale &s, size_t row) {
    const float *v = c.graph.vector(s.v);
    each_expert(c, s.x, s.ids, row,
                [&](float *x, uint32_t id, size_t n) { c.rows.scale(x, v[id], n); });
}

void run(const Context &c, const op::ExpertBias &s, size_t row) {
    const float *v = c.graph.vector(s.v);
    each_expert(c, s.x, s.ids, row,
                [&](float *x, uint32_t id, size_t n) { c.rows.add(x, v + id * n, n); });
}

void run(const Context &c, const op::DeltaGates &s, size_t row) {
    const float *bias = c.graph.vector(s.bias), *a = c.graph.vector(s.a);
    float *decay = c.at(s.decay, row), *beta = c.at(s.beta, row);
    for (size_t i = 0; i < s.decay.width; i++) {
        decay[i] = exp_f32(softplus(decay[i] + bias[i]) * a[i]);
        beta[i] = 1.0f / (1.0f + exp_f32(-beta[i]));
    }
}

void run(const Context &c, const op::TimeSteps &s, size_t row) {
    const float *bias = c.graph.vector(s.bias), *a = c.graph.vector(s.a);
    float *dt = c.at(s.dt, row);
    if (bias) c.rows.add(dt, bias, s.dt.width);
    for (size_t i = 0; i < s.dt.width; i++) dt[i] = softplus(dt[i]);
    if (s.decay.none()) return;
    float *decay = c.at(s.decay, row);
    for (size_t i = 0; i < s.dt.width; i++) decay[i] = exp_f32(dt[i] * a[i]);
}

void run(const Context &c, const op::Softmax &s, size_t row) {
    c.rows.softmax(c.at(s.x, row), s.x.width);
}

} // namespace

void run_row(const Context &c, const Op &op, size_t row) {
    std::visit(
        [&](const auto &s) {
            if constexpr (std::decay_t<decltype(s)>::kRows) run(c, s, row);
        },
        op);
}

} // namespace ggufx::model
