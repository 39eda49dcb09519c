// Encoders of IQ4_NL and IQ4_XS, a group of 32 in each lane; same results as kernels/scalar.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/encode_k.hpp"
#include "kernels/loops/encode_simple.hpp"

namespace ggufx {
namespace kernels {
namespace {

// fmt::kCodesIq4, visible to the compiler.
constexpr int8_t kIq4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                   1,    13,   25,  38,  53,  69,  89,  113};
constexpr float iq4_level(int code) {
    return static_cast<float>(kIq4Levels[code]);
}
// Midpoint of levels k and k + 1. Near it both differences of kernels/scalar are exact, so "nearer
// to the upper level, or equally near" is a comparison with this value.
constexpr float iq4_middle(int k) {
    return (iq4_level(k) + iq4_level(k + 1)) * 0.5f;
}

// Returns the nearest level; ties and NaN go up.
template <class V> GGUFX_INLINE Lane<V> nearest_level(Lane<V> v) {
    Lane<V> level(iq4_level(15));
#pragma GCC unroll 15
    for (int k = 0; k < 15; k++)
        level = V::add_where((v < Lane<V>(iq4_middle(k))).m, level.v,
                             V::set1(iq4_level(k) - iq4_level(k + 1)));
    return level;
}
template <class V> GGUFX_INLINE Lane<V> nearest_iq4_code(Lane<V> v) {
    Lane<V> code(15.0f);
#pragma GCC unroll 15
    for (int k = 0; k < 15; k++)
        code = V::add_where((v < Lane<V>(iq4_middle(k))).m, code.v, V::set1(-1.0f));
    return code;
}

template <class V> Lane<V> fit_levels(const Group<V> &x, const Group<V> &w) {
    const Lane<V> max = signed_largest(x, kBlock);
    const auto sums_of = [&](Lane<V> id) {
        FitSums<V> sums;
        for (int i = 0; i < kBlock; i++) {
            const Lane<V> q = nearest_level(id * x[i]), wq = w[i] * q;
            sums.lx += wq * x[i];
            sums.l2 += wq * q;
        }
        return sums;
    };
    FitSums<V> sums = sums_of(Lane<V>(1.0f) / (-max / Lane<V>(iq4_level(0))));
    Lane<V> d = sums.ratio(), best = d * sums.lx;
    for (int t = -7; t <= 7; t++) {
        sums = sums_of(Lane<V>(static_cast<float>(t) + iq4_level(0)) / max);
        const Where<V> better = (Lane<V>(0.0f) < sums.l2) & (best * sums.l2 < sums.lx * sums.lx);
        const Lane<V> ratio = sums.lx / sums.l2;
        d = better.pick(ratio, d);
        best = better.pick(ratio * sums.lx, best);
    }
    return (magnitude(max) < Lane<V>(kTiny)).pick(0.0f, d);
}

template <class V> GGUFX_INLINE void encode_iq4_group(uint8_t *qs, const float *x, float id) {
    uint8_t codes[kBlock];
    for (int i = 0; i < kBlock; i += V::kLanes)
        store_bytes(codes + i, nearest_iq4_code(Lane<V>(id) * Lane<V>(V::load(x + i))));
    pack_nibbles(qs, codes, 16, 16);
}

template <class V> void encode_iq4_nl(const EncodeJob &job) {
    for (size_t first = 0; first < job.n_blocks; first += V::kLanes) {
        const Places<V, kBlock> at(job, first);
        const float *from[V::kLanes];
        Group<V> x, w, qw;
        for (int j = 0; j < static_cast<int>(V::kLanes); j++) from[j] = at.values(j);
        load_columns<V>(&x, from, kBlock);
        weigh_by_squares(&w, x, kBlock);
        if (job.imatrix) {
            Lane<V> sum;
            for (int i = 0; i < kBlock; i++) sum += w[i];
            for (int j = 0; j < static_cast<int>(V::kLanes); j++) from[j] = at.weights(j);
            load_columns<V>(&qw, from, kBlock);
            weigh(&w, x, qw, kBlock, sum * Lane<V>(2.0f / 32.0f));
        }
        alignas(64) float scale[V::kLanes];
        V::store(scale, fit_levels<V>(x, w).v);
        for (int b = 0; b < at.n; b++) {
            fmt::IQ4_NL::Block &to = block_of<fmt::IQ4_NL>(job, at.block(b));
            store_scale(to.d, scale[b]);
            encode_iq4_group<V>(to.qs, at.values(b), inverse1(scale[b]));
        }
    }
}

template <class V> void finish_iq4_xs(fmt::IQ4_XS::Block &to, const float *x, const float *scales) {
    const float d = -signed_largest1(scales, 8) / 32.0f, id = inverse1(d);
    store_scale(to.d, d);
    for (unsigned k = 0; k < 8; k++) {
        const int near = nearest_int(id * scales[k]);
        const int code = near < -32 ? -32 : near > 31 ? 31 : near;
        encode_iq4_group<V>(to.qs + 16 * k, x + kBlock * k, inverse1(d * static_cast<float>(code)));
        fmt::write(to, fmt::IQ4_XS::scale_at(k), code + 32);
    }
}

template <class V> void encode_iq4_xs(const EncodeJob &job) {
    for (size_t first = 0; first < job.n_blocks; first += V::kLanes) {
        const Places<V, kSuper> at(job, first);
        FoundGroups<V, kBlock> found;
        alignas(64) float sigma2[V::kLanes];
        if (job.imatrix) {
            sums_of_squares<V>(sigma2, at);
            for (float &s : sigma2) s *= 2.0f / 256.0f;
        }
        for (int g = 0; g < 8 * at.n; g += V::kLanes) {
            Group<V> x, w;
            load_groups<V, kBlock>(&x, &w, at, g, sigma2, Plain::squares);
            V::store(found.scale + g, fit_levels<V>(x, w).v);
        }
        for (int b = 0; b < at.n; b++)
            finish_iq4_xs<V>(block_of<fmt::IQ4_XS>(job, at.block(b)), at.values(b),
                             found.scale + 8 * b);
    }
}

} // namespace
} // namespace kernels
} // namespace ggufx
