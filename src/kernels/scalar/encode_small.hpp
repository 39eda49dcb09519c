// Encoders of small types. TQ1_0 and TQ2_0: values -1, 0, 1 times the largest magnitude. MXFP4: a
// power-of-two scale per 32 values. NVFP4: an unsigned E4M3 scale per 16.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/log2_floor.hpp"
#include "kernels/scalar/encode_blocks.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

// Returns 0, 1, 2 for -1, 0, 1.
inline uint32_t trit(float x, float id) {
    return static_cast<uint32_t>(round_away(x * id)) + 1u;
}

// A byte stores its ternary digits, most significant first, as a fraction of 3^5 in units of 1/256,
// rounded up.
inline void encode_tq1_0(fmt::TQ1_0::Block &to, const float *x, const float *, const EncodeJob &) {
    constexpr int kValues = fmt::TQ1_0::kValues;
    constexpr uint8_t kWorth[5] = {81, 27, 9, 3, 1};
    const float d = largest_magnitude(x, kValues), id = inverse(d);
    uint32_t digits[sizeof to] = {};
    for (unsigned i = 0; i < kValues; i++) {
        const fmt::TQ1_0::Place at = fmt::TQ1_0::digit_at(i);
        digits[at.byte] += trit(x[i], id) * kWorth[at.digit];
    }
    for (size_t i = 0; i < offsetof(fmt::TQ1_0::Block, d); i++)
        fmt::bytes_of(&to)[i] = low8(((digits[i] & 0xffu) * 256 + 242) / 243);
    store_f16(to.d, d);
}

inline void encode_tq2_0(fmt::TQ2_0::Block &to, const float *x, const float *, const EncodeJob &) {
    constexpr int kValues = fmt::TQ2_0::kValues;
    const float d = largest_magnitude(x, kValues), id = inverse(d);
    for (unsigned i = 0; i < kValues; i++)
        write(to, fmt::TQ2_0::code_at(i), static_cast<int>(trit(x[i], id)));
    store_f16(to.d, d);
}

// Returns the e2m1 code of least absolute error.
inline int nearest_fp4(float x, float d) {
    int best = 0;
    float least = magnitude(to_f32(fmt::kCodesFp4[0]) * d - x);
    for (int code = 1; code < 16; code++) {
        const float error = magnitude(to_f32(fmt::kCodesFp4[code]) * d - x);
        if (error < least) {
            least = error;
            best = code;
        }
    }
    return best;
}

inline void encode_mxfp4(fmt::MXFP4::Block &to, const float *x, const float *, const EncodeJob &) {
    constexpr int kValues = fmt::MXFP4::kValues;
    to.e = fmt::mxfp4_exponent(largest_magnitude(x, kValues));
    const float d = fmt::MXFP4::d(to);
    for (unsigned i = 0; i < kValues; i++) write(to, fmt::MXFP4::code_at(i), nearest_fp4(x[i], d));
}

inline void encode_nvfp4(fmt::NVFP4::Block &to, const float *x, const float *, const EncodeJob &) {
    constexpr unsigned n = fmt::NVFP4::kGroup;
    for (unsigned g = 0; g < 4; g++) {
        to.d[g] = f32_to_ue4m3(largest_magnitude(x + n * g, n) / 6.0f);
        const float d = fmt::NVFP4::d(to, g);
        for (unsigned i = n * g; i < n * (g + 1); i++)
            write(to, fmt::NVFP4::code_at(i), nearest_fp4(x[i], d));
    }
}

} // namespace
} // namespace scalar
} // namespace kernels
} // namespace ggufx
