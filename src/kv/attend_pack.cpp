// Queries as pages want them: rotated back by the shift of the keys, equalised,
// in the basis of the type, then floats side by side or integer codes with
// their scales.
// SPDX-License-Identifier: MIT
#include "kv/attend.hpp"

#include "base/bytes.hpp"

namespace ggufx::kv {

namespace {

using namespace kernels;

bool all_finite(const float *x, uint32_t n) {
    uint32_t largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t magnitude = f32_bits(x[i]) & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest < 0x7f800000u;
}

void put_floats(PackedQuery &out, uint32_t row, uint32_t width, const float *x, uint32_t n) {
    for (uint32_t c = 0; c < n; c++) out.x[size_t(c) * width + row] = x[c];
}

// A row that is not there, or not finite: zeros.
void pack_nothing(const AttendCall &call, PackedQuery &out, uint32_t row, uint32_t width,
                  float *x) {
    const uint32_t n = call.state->config.head_dim_k;
    const TypeOps &type = *call.layer->k;
    const uint32_t padded = type.is_float() ? n : padded_values(type, n);
    for (uint32_t c = 0; c < padded; c++) x[c] = 0.0f;
    put_floats(out, row, width, x, n);
    out.bias[row] = 0.0f;
    if (!type.is_float())
        call.kernels->pack({type.kind, row, width, out.codes, out.d_q, out.s_q, out.q_sum}, x,
                           padded);
}

// False when the query is not finite.
bool pack_row(const AttendCall &call, const Group &group, uint32_t row, PackedQuery &out,
              float *x) {
    const Config &config = call.state->config;
    const Layer &layer = *call.layer;
    const TypeOps &type = *layer.k;
    const uint32_t n = config.head_dim_k, width = group.width;
    const float *q = group.rows[row].q;
    if (!all_finite(q, n)) return false;
    for (uint32_t c = 0; c < n; c++) x[c] = q[c];
    rotate_position(*call.state, x, -out.delta);
    put_floats(out, row, width, x, n);
    out.bias[row] = 0.0f;
    if (type.is_float()) return true;
    const HeadCalibration calibration = calibration_head(
        call.state->config, layer, calibration_of(layer, *group.track), group.kv_head);
    if (calibration.mu_k) {
        // by two chains over even and odd coordinates, as scores of float keys
        out.bias[row] = call.kernels->dot(x, calibration.mu_k, n) * call.options.scale;
        for (uint32_t c = 0; c < n; c++) x[c] = x[c] * calibration.eq_k[c];
    }
    const uint32_t padded = padded_values(type, n);
    for (uint32_t c = n; c < padded; c++) x[c] = 0.0f;
    call.kernels->rotate(type.transform, x, transformed_values(type, n));
    return call.kernels->pack({type.kind, row, width, out.codes, out.d_q, out.s_q, out.q_sum}, x,
                              padded);
}

} // namespace

void pack_query(const AttendCall &call, const Group &group, int32_t delta, PackedQuery &out,
                float *vector, bool not_finite[kRows]) {
    const uint32_t n = call.state->config.head_dim_k;
    const bool coded = !call.layer->k->is_float();
    out.delta = delta;
    for (uint32_t row = 0; row < group.width; row++) {
        if (row < group.n_rows && pack_row(call, group, row, out, vector)) continue;
        pack_nothing(call, out, row, group.width, vector);
        not_finite[row] = row < group.n_rows;
    }
    const float scale = call.options.scale;
    out.plain = {n, scale, out.x, nullptr, nullptr, nullptr, nullptr, nullptr};
    const uint32_t values = coded ? padded_values(*call.layer->k, n) : n;
    const float *bias = coded && call.layer->centre_k ? out.bias : nullptr;
    out.coded = {values, scale, nullptr, out.codes, out.d_q, out.s_q, out.q_sum, bias};
}

} // namespace ggufx::kv
