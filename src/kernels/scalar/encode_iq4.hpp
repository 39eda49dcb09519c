// Encoders of IQ4_NL and IQ4_XS: 32 values share a scale for a table of 16 levels. Tries 15
// candidate scales.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/scalar/encode_blocks.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

constexpr int kTries = 7, kGroup = 32; // candidates per side; values per scale

inline float level(int code) {
    return to_f32(fmt::kCodesIq4[code]);
}

// Returns the nearest level; ties go up.
inline int nearest_level(float v) {
    if (v <= level(0)) return 0;
    if (v >= level(15)) return 15;
    int below = 0, above = 15;
    while (above - below > 1) {
        const int middle = (below + above) / 2;
        if (v < level(middle)) {
            above = middle;
        } else {
            below = middle;
        }
    }
    return v - level(below) < level(above) - v ? below : above;
}

struct LevelSums {
    float qx = 0.0f, q2 = 0.0f;
};

inline LevelSums sums_with(const float *x, const float *w, float id) {
    LevelSums sums;
    for (int i = 0; i < kGroup; i++) {
        const float q = level(nearest_level(id * x[i]));
        sums.qx += w[i] * q * x[i];
        sums.q2 += w[i] * q * q;
    }
    return sums;
}

inline float fit_levels(const float *x, const float *w) {
    const float max = signed_largest(x, kGroup);
    if (magnitude(max) < kTiny) return 0.0f;
    LevelSums sums = sums_with(x, w, 1.0f / (-max / level(0)));
    float d = sums.q2 > 0.0f ? sums.qx / sums.q2 : 0.0f;
    float best = d * sums.qx;
    for (int t = -kTries; t <= kTries; t++) {
        sums = sums_with(x, w, (to_f32(t) + level(0)) / max);
        if (sums.q2 > 0.0f && sums.qx * sums.qx > best * sums.q2) {
            d = sums.qx / sums.q2;
            best = d * sums.qx;
        }
    }
    return d;
}

// Fits the scales of the groups of a (super-)block of n values.
inline void fit_groups(float *scales, const float *x, const float *qw, int n) {
    float sigma2 = sum_squares(x, static_cast<size_t>(n));
    sigma2 *= 2.0f / to_f32(n);
    for (int k = 0; k < n / kGroup; k++) {
        const float *from = x + kGroup * k;
        float w[kGroup];
        if (qw) {
            imatrix_weights(w, from, qw + kGroup * k, kGroup, sigma2);
        } else {
            for (int i = 0; i < kGroup; i++) w[i] = from[i] * from[i];
        }
        scales[k] = fit_levels(from, w);
    }
}

// Stores the codes of the group of 32 from value `first` on.
template <class F>
void put_levels(typename F::Block &to, const float *x, unsigned first, float id) {
    for (unsigned i = 0; i < kGroup; i++)
        write(to, F::code_at(first + i), nearest_level(id * x[first + i]));
}

inline void encode_iq4_nl(fmt::IQ4_NL::Block &to, const float *x, const float *qw,
                          const EncodeJob &) {
    float scale;
    fit_groups(&scale, x, qw, kGroup);
    store_f16(to.d, scale);
    put_levels<fmt::IQ4_NL>(to, x, 0, inverse(scale));
}

inline void encode_iq4_xs(fmt::IQ4_XS::Block &to, const float *x, const float *qw,
                          const EncodeJob &) {
    float scales[8];
    fit_groups(scales, x, qw, 256);
    const float d = -signed_largest(scales, 8) / 32.0f, id = inverse(d);
    store_f16(to.d, d);
    for (unsigned g = 0; g < 8; g++) {
        const int code = clamp(nearest(id * scales[g]), -32, 31);
        put_levels<fmt::IQ4_XS>(to, x, kGroup * g, inverse(d * to_f32(code)));
        write(to, fmt::IQ4_XS::scale_at(g), code + 32);
    }
}

} // namespace
} // namespace scalar
} // namespace kernels
} // namespace ggufx
