// Encoders of Q3_K and Q6_K: scales per 16 values without minimums.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/encode_k.hpp"

namespace ggufx {
namespace kernels {
namespace {

// The scale of largest magnitude gets -32; all zero: codes 0.
template <class V> void round_q3_plain(SuperScales<V, 16> *to, const float *scales, int n) {
    for (int b = 0; b < n; b++, scales += 16) {
        const float max = signed_largest1(scales, 16);
        to->d[b] = 0.0f;
        for (int k = 0; k < 16; k++) to->codes[b][k] = 0;
        if (max == 0.0f) continue;
        const float iscale = -32.0f / max;
        for (int k = 0; k < 16; k++) {
            // As in kernels/scalar: wrapped to int8, then clamped.
            const int l = static_cast<int8_t>(nearest_int(iscale * scales[k]) & 255);
            to->codes[b][k] = static_cast<uint8_t>((l < -32 ? -32 : l > 31 ? 31 : l) + 32);
        }
        to->d[b] = 1.0f / iscale;
    }
}

// Not inlined: its groups would add 17 KB to the caller's stack frame on AVX-512.
template <class V>
__attribute__((noinline)) void round_q3_scales(SuperScales<V, 16> *to,
                                               const FoundGroups<V, 16> &found,
                                               const Places<V, kSuper> &at) {
    if (!at.job.imatrix) return round_q3_plain<V>(to, found.scale, at.n);
    Group<V> x, w, codes;
    by_super<V, 16>(&x, found.scale);
    by_super<V, 16>(&w, found.weight);
    const Lane<V> d = fit_signed<V>(16, 32.0f, x, w, &codes);
    to->store(d, codes);
}

inline void pack_q3_scales(uint8_t *s, const uint8_t *codes) {
    for (int k = 0; k < 8; k++)
        s[k] = static_cast<uint8_t>((codes[k] & 15) | (codes[k + 8] & 15) << 4);
    for (int k = 0; k < 4; k++)
        s[8 + k] = static_cast<uint8_t>(codes[k] >> 4 | codes[k + 4] >> 4 << 2 |
                                        codes[k + 8] >> 4 << 4 | codes[k + 12] >> 4 << 6);
}

template <class V> void encode_q3_k(const EncodeJob &job) {
    for (size_t first = 0; first < job.n_blocks; first += V::kLanes) {
        const Places<V, kSuper> at(job, first);
        FoundGroups<V, 16> found;
        SuperScales<V, 16> scales;
        fit_groups<V, 16>(&found, at, 2.0f, Plain::squares,
                          [&](const Group<V> &x, const Group<V> &w, Group<V> *codes, Lane<V> *) {
                              return job.imatrix ? fit_signed<V>(16, 4.0f, x, w, codes)
                                                 : fit_descent<V>(16, 4.0f, x, codes);
                          });
        round_q3_scales<V>(&scales, found, at);
        for (int b = 0; b < at.n; b++) {
            fmt::Q3_K::Block &to = block_of<fmt::Q3_K>(job, at.block(b));
            uint8_t codes[kSuper];
            const float d = store_scale(to.d, scales.d[b]);
            pack_q3_scales(to.scales, scales.codes[b]);
            for (int k = 0; k < 16; k++)
                requantize<V, 16>(codes + 16 * k, at.values(b) + 16 * k,
                                  d * static_cast<float>(scales.codes[b][k] - 32), 0.0f, -4, 3,
                                  found, 16 * b + k);
            pack_bits256(to.hmask, codes, 2);
            pack_2bit(to.qs, codes, 0);
        }
    }
}

inline void pack_q6(fmt::Q6_K::Block &to, const uint8_t *codes) {
    for (int half = 0; half < 2; half++)
        pack_nibbles(to.ql + 64 * half, codes + 128 * half, 64, 64);
    pack_2bit(to.qh, codes, 4);
}

template <class V>
void finish_q6_k(fmt::Q6_K::Block &to, const float *x, const float *scales,
                 const FoundGroups<V, 16> &found, int first_group) {
    const float max = signed_largest1(scales, 16);
    if (max < kTiny && max > -kTiny) {
        to = {};
        return;
    }
    uint8_t codes[kSuper];
    const float iscale = -128.0f / max;
    const float d = store_scale(to.d, 1.0f / iscale);
    for (int k = 0; k < 16; k++) {
        const int l = nearest_int(iscale * scales[k]);
        const auto code = static_cast<int8_t>((l < 127 ? l : 127) & 255);
        to.scales[k] = static_cast<uint8_t>(code);
        requantize<V, 16>(codes + 16 * k, x + 16 * k, d * static_cast<float>(code), 0.0f, -32, 31,
                          found, first_group + k);
    }
    pack_q6(to, codes);
}

template <class V> void encode_q6_k(const EncodeJob &job) {
    for (size_t first = 0; first < job.n_blocks; first += V::kLanes) {
        const Places<V, kSuper> at(job, first);
        FoundGroups<V, 16> found;
        for (int g = 0; g < 16 * at.n; g += V::kLanes) {
            const float *from[V::kLanes];
            Group<V> x, w, codes;
            for (int j = 0; j < static_cast<int>(V::kLanes); j++)
                from[j] = at.template group<16>(g + j);
            load_columns<V>(&x, from, 16);
            weigh_by_squares(&w, x, 16);
            if (job.imatrix) { // used directly, without the square root of the other types
                for (int j = 0; j < static_cast<int>(V::kLanes); j++)
                    from[j] = at.template group_weights<16>(g + j);
                load_columns<V>(&w, from, 16);
            }
            V::store(found.scale + g, fit_signed<V>(16, 32.0f, x, w, &codes).v);
            for (int i = 0; i < 16; i++) store_bytes(found.codes[g / V::kLanes][i], codes[i]);
        }
        for (int b = 0; b < at.n; b++)
            finish_q6_k<V>(block_of<fmt::Q6_K>(job, at.block(b)), at.values(b),
                           found.scale + 16 * b, found, 16 * b);
    }
}

} // namespace
} // namespace kernels
} // namespace ggufx
