// Quantization of query rows for integer keys, one value at a time: codes with a scale per 32
// coordinates, or per head if the keys have one.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/kv.hpp"
#include "kernels/scalar/canonical.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

constexpr uint32_t kInfinite = 0x7f800000u, kTinyQuery = 0x0d800000u; // bits of infinity, 2^-100

// Stores one code: four adjacent coordinates of a row, then the other rows.
inline void put_code(const KvQueryRow &to, uint32_t c, int32_t code) {
    const bool wide = kv_format(to.kind).wide_query;
    int8_t *four = to.codes + (size_t(c / 4) * (wide ? 2 : 1) * to.width + to.row) * 4 + c % 4;
    const int32_t high = wide ? (code + 64) >> 7 : code;
    four[0] = static_cast<int8_t>(high);
    if (wide) four[size_t(to.width) * 4] = static_cast<int8_t>(code - 128 * high);
}

// Quantizes coordinates first .. end - 1, which share scale `index`.
inline bool pack_block(const KvQueryRow &to, const float *x, uint32_t first, uint32_t end,
                       uint32_t index) {
    uint32_t largest = 0;
    for (uint32_t c = first; c < end; c++) {
        const uint32_t magnitude = f32_bits(x[c]) & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    const KvFormat &f = kv_format(to.kind);
    const bool finite = largest < kInfinite, zero = largest < kTinyQuery || !finite;
    const float amax = zero ? 1.0f : f32_from_bits(largest),
                most = f.wide_query ? 16256.0f : 127.0f;
    const float inverse = most / amax, d = zero ? 0.0f : amax / most;
    int32_t sum = 0;
    for (uint32_t c = first; c < end; c++) {
        const int32_t code = zero ? 0 : nearest_even(x[c] * inverse);
        put_code(to, c, code);
        sum += code;
    }
    const size_t at = size_t(index) * to.width + to.row;
    to.d_q[at] = d * f.unit;
    to.s_q[at] = d * static_cast<float>(sum);
    to.q_sum[at] = sum;
    return finite;
}

inline bool kv_pack(const KvQueryRow &to, const float *x, uint32_t n) {
    for (uint32_t c = n; c % kKvStrip != 0; c++) put_code(to, c, 0);
    if (kv_format(to.kind).vector_scale) return pack_block(to, x, 0, n, 0);
    bool finite = true;
    for (uint32_t c = 0; c < n; c += kKvStrip)
        finite &= pack_block(to, x, c, c + kKvStrip, c / kKvStrip);
    return finite;
}

inline void kv_rotate(KvTransform transform, float *x, uint32_t n) {
    kv_rotate_text(transform, x, n, 1);
}
inline void kv_unrotate(KvTransform transform, float *x, uint32_t n) {
    kv_unrotate_text(transform, x, n, 1);
}

inline float kv_dot(const float *a, const float *b, uint32_t n) {
    float chain[2] = {0.0f, 0.0f};
    for (uint32_t c = 0; c < n; c++) chain[c % 2] = __builtin_fmaf(a[c], b[c], chain[c % 2]);
    return chain[0] + chain[1];
}

} // namespace
} // namespace scalar
} // namespace kernels
} // namespace ggufx
