// Encoders of Q1_0 Q2_0 TQ1_0 TQ2_0 MXFP4 NVFP4: a scale from the magnitudes, codes along the row.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/grids/grids.hpp"
#include "formats/log2_floor.hpp"
#include "kernels/loops/encode_simple.hpp"

namespace ggufx {
namespace kernels {
namespace {

// One sign bit per value; the scale is the mean magnitude, summed in order.
template <class V> void encode_q1_0(const EncodeJob &job) {
    constexpr int values = 128;
    for (size_t first = 0; first < job.n_blocks; first += V::kLanes) {
        const Places<V, values> at(job, first);
        alignas(64) float mean[V::kLanes];
        Lane<V> sum;
        for (int i = 0; i < values; i += kMaxGroup) {
            Group<V> x;
            const float *from[V::kLanes];
            for (int j = 0; j < static_cast<int>(V::kLanes); j++) from[j] = at.values(j) + i;
            load_columns<V>(&x, from, kMaxGroup);
            for (int j = 0; j < kMaxGroup; j++) sum += magnitude(x[j]);
        }
        V::store(mean, (sum / Lane<V>(128.0f)).v);
        for (int b = 0; b < at.n; b++) {
            fmt::Q1_0::Block &to = block_of<fmt::Q1_0>(job, at.block(b));
            store_scale(to.d, mean[b]);
            for (int i = 0; i < values; i += V::kLanes) {
                const Where<V> positive = Lane<V>(0.0f) <= Lane<V>(V::load(at.values(b) + i));
                const uint32_t bits = V::bits(positive.m);
                for (unsigned k = 0; k < V::kLanes / 8; k++)
                    to.qs[i / 8 + k] = static_cast<uint8_t>(bits >> (8 * k));
            }
        }
    }
}

// Runs finish(block, x, d, id) over blocks whose scale is the largest magnitude.
template <class V, class F, class Finish>
GGUFX_INLINE void by_largest(const EncodeJob &job, Finish finish) {
    for (size_t first = 0; first < job.n_blocks; first += V::kLanes) {
        const Places<V, F::kValues> at(job, first);
        alignas(64) float d[V::kLanes], id[V::kLanes];
        const Lane<V> most = largest_of_blocks(at);
        V::store(d, most.v);
        V::store(id, inverse(most).v);
        for (int b = 0; b < at.n; b++)
            finish(block_of<F>(job, at.block(b)), at.values(b), d[b], id[b]);
    }
}

// Codes 0, 1, 2 for -1, 0, 1 and 3 for more, clamped as in kernels/scalar.
template <class V> void encode_q2_0(const EncodeJob &job) {
    using F = fmt::Q2_0;
    by_largest<V, F>(job, [](F::Block &to, const float *x, float d, float id) {
        uint8_t codes[64];
        for (int i = 0; i < 64; i += V::kLanes) {
            const Lane<V> whole = V::to_float(round_away(Lane<V>(V::load(x + i)) * Lane<V>(id)));
            store_bytes(codes + i, clamped(whole, -1.0f, 2.0f) + Lane<V>(1.0f));
        }
        store_scale(to.d, d);
        for (int i = 0; i < 16; i++)
            to.qs[i] = static_cast<uint8_t>(codes[4 * i] | codes[4 * i + 1] << 2 |
                                            codes[4 * i + 2] << 4 | codes[4 * i + 3] << 6);
    });
}

// Codes 0, 1, 2 for -1, 0, 1; NaN products count as 0.
template <class V> GGUFX_INLINE void make_trits(uint8_t *trits, const float *x, float id) {
#pragma GCC unroll 4
    for (int i = 0; i < 256; i += V::kLanes) {
        const typename V::Vi whole = round_away(Lane<V>(V::load(x + i)) * Lane<V>(id));
        V::store_bytes(trits + i, V::and_i(V::add_i(whole, V::set1_i(1)), V::set1_i(255)));
    }
}

template <class V> void encode_tq2_0(const EncodeJob &job) {
    using F = fmt::TQ2_0;
    by_largest<V, F>(job, [](F::Block &to, const float *x, float d, float id) {
        uint8_t trits[256];
        make_trits<V>(trits, x, id);
        pack_2bit(to.qs, trits, 0);
        store_scale(to.d, d);
    });
}

// Packs trits that are `apart` values apart, most significant first, as a fraction of 3^5 in units
// of 1/256, rounded up.
GGUFX_INLINE void pack_trits(uint8_t *to, const uint8_t *trits, int n_bytes, int n_trits,
                             int apart) {
    for (int i = 0; i < n_bytes; i++) {
        uint32_t v = 0;
#pragma GCC unroll 5
        for (int n = 0; n < 5; n++) v = v * 3 + (n < n_trits ? trits[i + n * apart] : 0u);
        to[i] = static_cast<uint8_t>((v * 256 + 242) / 243);
    }
}

template <class V> void encode_tq1_0(const EncodeJob &job) {
    using F = fmt::TQ1_0;
    by_largest<V, F>(job, [](F::Block &to, const float *x, float d, float id) {
        uint8_t trits[256];
        make_trits<V>(trits, x, id);
        pack_trits(to.qs, trits, 32, 5, 32);
        pack_trits(to.qs + 32, trits + 160, 16, 5, 16);
        pack_trits(to.qh, trits + 240, 4, 4, 4);
        store_scale(to.d, d);
    });
}

// Codes of least absolute error, the first of equals.
template <class V> GGUFX_INLINE void fp4_codes(uint8_t *to, const float *x, int n, float d) {
    for (int i = 0; i < n; i += V::kLanes) {
        const Lane<V> v = V::load(x + i);
        Lane<V> best(0.0f),
            least = magnitude(Lane<V>(static_cast<float>(fmt::kCodesFp4[0]) * d) - v);
#pragma GCC unroll 16
        for (int code = 1; code < 16; code++) {
            const Lane<V> level(static_cast<float>(fmt::kCodesFp4[code]) * d);
            const Lane<V> error = magnitude(level - v);
            const Where<V> better = error < least;
            least = better.pick(error, least);
            best = better.pick(Lane<V>(static_cast<float>(code)), best);
        }
        store_bytes(to + i, best);
    }
}

template <class V> void encode_mxfp4(const EncodeJob &job) {
    using F = fmt::MXFP4;
    by_largest<V, F>(job, [](F::Block &to, const float *x, float most, float) {
        uint8_t codes[32];
        to.e = fmt::mxfp4_exponent(most);
        fp4_codes<V>(codes, x, 32, F::d(to));
        pack_nibbles(to.qs, codes, 16, 16);
    });
}

template <class V> void encode_nvfp4(const EncodeJob &job) {
    EncodeJob groups = job; // groups of 16 values
    groups.n_blocks = 4 * job.n_blocks;
    for (size_t first = 0; first < groups.n_blocks; first += V::kLanes) {
        const Places<V, 16> at(groups, first);
        alignas(64) float most[V::kLanes];
        V::store(most, (largest_of_blocks(at) / Lane<V>(6.0f)).v);
        for (int g = 0; g < at.n; g++) {
            const size_t group = at.block(g);
            fmt::NVFP4::Block &to = block_of<fmt::NVFP4>(job, group / 4);
            const unsigned s = group % 4;
            uint8_t codes[16];
            to.d[s] = f32_to_ue4m3(most[g]);
            fp4_codes<V>(codes, at.values(g), 16, fmt::NVFP4::d(to, s));
            pack_nibbles(to.qs + 8 * s, codes, 8, 8);
        }
    }
}

} // namespace
} // namespace kernels
} // namespace ggufx
