// SPDX-License-Identifier: MIT
#include "rows_cases.hpp"

namespace rowsteps {

namespace {

using namespace ggufx::kernels;

constexpr unsigned only(Vector vector) {
    return 1u << vector;
}

#define RUN                                                                                        \
    [](const RowKernels &k, [[maybe_unused]] const Memory &m, [[maybe_unused]] const Numbers &c)
#define N m.shape().n

void run_conv(const RowKernels &k, const Memory &m, const Numbers &c, float *to, const float *b) {
    const float *columns[kConvTaps];
    for (size_t j = 0; j < kConvTaps; j++) columns[j] = m.at(kTaps) + j * N;
    k.conv(to, columns, m.at(kWeights), N, b, c.n_taps, N);
}

void run_delta(const RowKernels &k, const Memory &m, const Numbers &c, float *to) {
    const OfTokens decay = {&c.delta.decay, 0}, beta = {&c.delta.beta, 0};
    const DeltaRun run = {
        1, {m.at(kW), 0}, {m.at(kX), 0}, {m.at(kV), 0}, decay, beta, c.delta.scale, to, 0};
    k.delta(run, m.at(kState), m.at(kState), m.shape().rows, N);
}

// The state comes from another buffer; each token overwrites the values of the previous one.
void run_delta_tokens(const RowKernels &k, const Memory &m, const Numbers &c) {
    const float numbers[] = {c.delta.decay, c.s, c.delta.beta, 0.5f, c.eps};
    const DeltaRun run = {3,
                          {m.at(kTaps), N},
                          {m.at(kWeights), N},
                          {m.at(kV), 0},
                          {numbers, 1},
                          {numbers + 2, 1},
                          c.delta.scale,
                          m.at(kV),
                          0};
    k.delta(run, m.at(kState), m.at(kRates), m.shape().rows, N);
}

void run_scan(const RowKernels &k, const Memory &m, const Numbers &c, float *to, Vector before) {
    k.scan({to, m.at(kW), m.at(kX), m.at(kV), c.delta.decay, c.s}, m.at(kState), m.at(before),
           m.shape().rows, N);
}

void run_scan_each(const RowKernels &k, const Memory &m, float *to, Vector before) {
    k.scan_each({to, m.at(kRates), m.at(kW), m.at(kX), m.at(kV), m.at(kDt)}, m.at(kState),
                m.at(before), m.shape().rows, N);
}

} // namespace

const Case kCases[kCaseCount] = {
    {"rms", only(kY), RUN{k.rms(m.at(kY), m.at(kX), m.at(kW), N, c.eps);
} // namespace rowsteps
, true
}
, {"rms, no weights", only(kY), RUN{k.rms(m.at(kY), m.at(kX), nullptr, N, c.eps);
}
}
, {"rms in place", only(kY), RUN{k.rms(m.at(kY), m.at(kY), m.at(kW), N, c.eps);
}
}
, {"rms over its weights", only(kW), RUN{k.rms(m.at(kW), m.at(kX), m.at(kW), N, c.eps);
}
}
, {"layer_norm", only(kY), RUN{k.layer_norm(m.at(kY), m.at(kX), m.at(kW), m.at(kB), N, c.eps);
}
, true
}
, {"layer_norm, no weights", only(kY),
   RUN{k.layer_norm(m.at(kY), m.at(kX), nullptr, m.at(kB), N, c.eps);
}
}
, {"layer_norm, no bias", only(kY),
   RUN{k.layer_norm(m.at(kY), m.at(kX), m.at(kW), nullptr, N, c.eps);
}
}
, {"layer_norm in place, alone", only(kY),
   RUN{k.layer_norm(m.at(kY), m.at(kY), nullptr, nullptr, N, c.eps);
}
}
, {"l2", only(kY), RUN{k.l2(m.at(kY), m.at(kX), N, c.eps);
}
, true
}
, {"l2 in place", only(kY), RUN{k.l2(m.at(kY), m.at(kY), N, c.eps);
}
}
, {"rotate_pairs", only(kY), RUN{k.rotate_pairs(m.at(kY), m.at(kX), N / 2);
}
, true
}
, {"rotate_halves", only(kY), RUN{k.rotate_halves(m.at(kY), m.at(kX), N / 2);
}
, true
}
, {"add", only(kY), RUN{k.add(m.at(kY), m.at(kX), N);
}
, true
}
, {"add to itself", only(kY), RUN{k.add(m.at(kY), m.at(kY), N);
}
}
, {"add_scaled", only(kY), RUN{k.add_scaled(m.at(kY), m.at(kX), c.s, N);
}
, true
}
, {"add_scaled to itself", only(kY), RUN{k.add_scaled(m.at(kY), m.at(kY), c.s, N);
}
}
, {"multiply", only(kY), RUN{k.multiply(m.at(kY), m.at(kX), N);
}
, true
}
, {"multiply by itself", only(kY), RUN{k.multiply(m.at(kY), m.at(kY), N);
}
}
, {"scale", only(kY), RUN{k.scale(m.at(kY), c.s, N);
}
, true
}
, {"clamp", only(kY), RUN{k.clamp(m.at(kY), c.s, N);
}
, true
}
, {"cap", only(kY), RUN{k.cap(m.at(kY), c.s, N);
}
, true
}
, {"silu", only(kY), RUN{k.silu(m.at(kY), m.at(kX), N);
}
, true
}
, {"silu alone", only(kY), RUN{k.silu(m.at(kY), nullptr, N);
}
}
, {"silu times itself", only(kY), RUN{k.silu(m.at(kY), m.at(kY), N);
}
}
, {"gelu", only(kY), RUN{k.gelu(m.at(kY), m.at(kX), N);
}
, true
}
, {"gelu alone", only(kY), RUN{k.gelu(m.at(kY), nullptr, N);
}
}
, {"gelu times itself", only(kY), RUN{k.gelu(m.at(kY), m.at(kY), N);
}
}
, {"relu2", only(kY), RUN{k.relu2(m.at(kY), m.at(kX), N);
}
, true
}
, {"relu2 alone", only(kY), RUN{k.relu2(m.at(kY), nullptr, N);
}
}
, {"relu2 times itself", only(kY), RUN{k.relu2(m.at(kY), m.at(kY), N);
}
}
, {"oai", only(kY), RUN{k.oai(m.at(kY), m.at(kX), N);
}
, true
}
, {"oai times itself", only(kY), RUN{k.oai(m.at(kY), m.at(kY), N);
}
}
, {"sigmoid", only(kY), RUN{k.sigmoid(m.at(kY), m.at(kX), N);
}
, true
}
, {"sigmoid of itself", only(kY), RUN{k.sigmoid(m.at(kY), m.at(kY), N);
}
}
, {"softmax", only(kY), RUN{k.softmax(m.at(kY), N);
}
, true
}
, {"exp_from", only(kY), RUN{k.exp_from(m.at(kY), m.at(kX), c.s, N);
}
}
, {"exp_from in place", only(kY), RUN{k.exp_from(m.at(kY), m.at(kY), c.s, N);
}
}
, {"maxima", only(kY), RUN{k.maxima(m.at(kY), m.at(kX), N);
for (size_t i = N / 64 + 1; i < N; i++) m.at(kY)[i] = m.at(kY)[0];
}
}
, {"conv", only(kY), RUN{run_conv(k, m, c, m.at(kY), m.at(kB));
}
, true
}
, {"conv, no bias", only(kY), RUN{run_conv(k, m, c, m.at(kY), nullptr);
}
}
, {"conv over a column", only(kTaps), RUN{run_conv(k, m, c, m.at(kTaps), m.at(kB));
}
}
, {"delta", only(kState) | only(kOut), RUN{run_delta(k, m, c, m.at(kOut));
}
, true
}
, {"delta over v", only(kState) | only(kV), RUN{run_delta(k, m, c, m.at(kV));
}
}
, {"delta over tokens", only(kState) | only(kV), RUN{run_delta_tokens(k, m, c);
}
}
, {"scan", only(kState) | only(kOut), RUN{run_scan(k, m, c, m.at(kOut), kState);
}
, true
}
, {"scan over u", only(kState) | only(kV), RUN{run_scan(k, m, c, m.at(kV), kState);
}
}
, {"scan from another state", only(kState) | only(kOut), RUN{run_scan(k, m, c, m.at(kOut), kRates);
}
}
, {"scan_each", only(kState) | only(kOut), RUN{run_scan_each(k, m, m.at(kOut), kState);
}
, true
}
, {"scan_each over u", only(kState) | only(kV), RUN{run_scan_each(k, m, m.at(kV), kState);
}
}
, {"scan_each over dt", only(kState) | only(kDt), RUN{run_scan_each(k, m, m.at(kDt), kState);
}
}
, {"scan_each from another state", only(kState) | only(kOut),
   RUN{run_scan_each(k, m, m.at(kOut), kRates);
}
}
,
}
;

} // namespace rowsteps
