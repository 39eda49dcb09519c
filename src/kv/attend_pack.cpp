// Queries as pages want them: rotated back by the shift of the keys, equalised,
// in the basis of the type, then floats side by side or integer codes with
// their scales. SPDX-License-Identifier: MIT
#include "kv/attend.hpp"

#include "base/bytes.hpp"

namespace ggufx::kv {

namespace {

using namespace kernels;

constexpr uint32_t kTiny = 0x0d800000u,
                   kInfinite = 0x7f800000u; // bits of 2^-100, infinity

uint32_t largest_bits(const float *x, uint32_t n) {
    uint32_t largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t magnitude = f32_bits(x[i]) & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest;
}

int32_t nearest_even(float v) { // |v| < 2^22
    constexpr float kMagic = 0x1.8p23f;
    return static_cast<int32_t>(f32_bits(v + kMagic) - f32_bits(kMagic));
}

// Where the codes of a row go: four coordinates next to each other, then the
// other rows.
struct CodeRow {
    int8_t *codes; // of row 0
    uint32_t row, width;
    bool wide;

    void put(uint32_t c, int32_t code) const {
        const size_t planes = wide ? 2 : 1;
        int8_t *four = codes + (c / 4 * planes * width + row) * 4 + c % 4;
        const int32_t high = wide ? (code + 64) >> 7 : code;
        four[0] = static_cast<int8_t>(high);
        if (wide) four[size_t(width) * 4] = static_cast<int8_t>(code - 128 * high);
    }
};

// Coordinates first .. end - 1 share scale number `index`. False when they are
// not finite.
bool pack_block(PackedQuery &out, const CodeRow &to, const KvFormat &f, const float *x,
                uint32_t first, uint32_t end, uint32_t index) {
    const uint32_t u = largest_bits(x + first, end - first);
    const bool finite = u < kInfinite, zero = u < kTiny || !finite;
    const float amax = f32_from_bits(zero ? 0x3f800000u : u), most = to.wide ? 16256.0f : 127.0f;
    const float inverse = most / amax, d = zero ? 0.0f : amax / most;
    int32_t sum = 0;
    for (uint32_t c = first; c < end; c++) {
        const int32_t code = zero ? 0 : nearest_even(x[c] * inverse);
        to.put(c, code);
        sum += code;
    }
    const size_t at = size_t(index) * to.width + to.row;
    out.d_q[at] = d * f.unit;
    out.s_q[at] = d * static_cast<float>(sum);
    out.q_sum[at] = sum;
    return finite;
}

bool pack_codes(PackedQuery &out, const CodeRow &to, const TypeOps &type, const float *x,
                uint32_t n) {
    const KvFormat &f = type.format();
    const uint32_t padded = (n + kKvStrip - 1) / kKvStrip * kKvStrip,
                   values = padded_values(type, n);
    for (uint32_t c = values; c < padded; c++) to.put(c, 0);
    if (f.vector_scale) return pack_block(out, to, f, x, 0, values, 0);
    bool finite = true;
    for (uint32_t c = 0; c < values; c += kKvStrip)
        finite &= pack_block(out, to, f, x, c, c + kKvStrip, c / kKvStrip);
    return finite;
}

// q.mu by two chains over even and odd coordinates, as scores of float keys.
float dot_mean(const float *q, const float *mu, uint32_t n) {
    float chain[2] = {0.0f, 0.0f};
    for (uint32_t c = 0; c < n; c++) chain[c % 2] = __builtin_fmaf(q[c], mu[c], chain[c % 2]);
    return chain[0] + chain[1];
}

// A row that is not there, or not finite: zeros.
void pack_nothing(PackedQuery &out, const CodeRow &to, uint32_t n, bool coded) {
    for (uint32_t c = 0; c < n; c++) out.x[size_t(c) * to.width + to.row] = 0.0f;
    out.bias[to.row] = 0.0f;
    const uint32_t strips = (n + kKvStrip - 1) / kKvStrip;
    for (uint32_t c = 0; coded && c < strips * kKvStrip; c++) to.put(c, 0);
    for (uint32_t b = 0; coded && b < strips; b++) {
        const size_t at = size_t(b) * to.width + to.row;
        out.d_q[at] = out.s_q[at] = 0.0f;
        out.q_sum[at] = 0;
    }
}

// False when the query is not finite.
bool pack_row(const AttendCall &call, const Group &group, const CodeRow &to, PackedQuery &out,
              float *x) {
    const Config &config = call.state->config;
    const Layer &layer = *call.layer;
    const uint32_t n = config.head_dim_k;
    const float *q = group.rows[to.row].q;
    if (largest_bits(q, n) >= kInfinite) return false;
    for (uint32_t c = 0; c < n; c++) x[c] = q[c];
    rotate_position(config, x, -out.delta);
    for (uint32_t c = 0; c < n; c++) out.x[size_t(c) * to.width + to.row] = x[c];
    out.bias[to.row] = 0.0f;
    if (layer.k->is_float()) return true;
    const HeadCalibration calibration =
        layer.calibrated ? calibration_head(*call.state, layer, group.kv_head) : HeadCalibration{};
    if (calibration.mu_k) {
        out.bias[to.row] = dot_mean(x, calibration.mu_k, n) * call.options.scale;
        for (uint32_t c = 0; c < n; c++) x[c] = x[c] * calibration.eq_k[c];
    }
    rotate_vector(*layer.k, x, n);
    return pack_codes(out, to, *layer.k, x, n);
}

} // namespace

void pack_query(const AttendCall &call, const Group &group, int32_t delta, PackedQuery &out,
                float *vector, bool not_finite[kRows]) {
    const uint32_t n = call.state->config.head_dim_k;
    const bool coded = !call.layer->k->is_float();
    const bool wide = coded && call.layer->k->format().wide_query;
    out.delta = delta;
    for (uint32_t row = 0; row < group.width; row++) {
        const CodeRow to = {out.codes, row, group.width, wide};
        if (row < group.n_rows && pack_row(call, group, to, out, vector)) continue;
        pack_nothing(out, to, n, coded);
        not_finite[row] = row < group.n_rows;
    }
    const float scale = call.options.scale;
    out.plain = {n, scale, out.x, nullptr, nullptr, nullptr, nullptr};
    const uint32_t values = coded ? padded_values(*call.layer->k, n) : n;
    out.coded = {values, scale, nullptr, out.codes, out.d_q, out.s_q, out.q_sum};
}

} // namespace ggufx::kv
