// Encoders of Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 (encode_rows.hpp); same results as kernels/scalar. With an
// imatrix they use the searches of the K-quants.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/encode_pack.hpp"
#include "kernels/loops/encode_rows.hpp"
#include "kernels/loops/encode_search.hpp"

namespace ggufx {
namespace kernels {
namespace {

template <class V>
GGUFX_INLINE void load_blocks(Group<V> *x, Group<V> *w, const Places<V, kBlock> &at) {
    const float *from[V::kLanes];
    for (int j = 0; j < static_cast<int>(V::kLanes); j++) from[j] = at.values(j);
    load_columns<V>(x, from, kBlock);
    if (!at.job.imatrix) return;
    Group<V> qw;
    for (int j = 0; j < static_cast<int>(V::kLanes); j++) from[j] = at.weights(j);
    load_columns<V>(&qw, from, kBlock);
    weigh(w, *x, qw, kBlock, Lane<V>(at.job.row_mean_square));
}

// Extracts the codes of one block from the lanes.
template <class V> GGUFX_INLINE void lane_codes(uint8_t *to, const Group<V> &codes, int lane) {
    for (int i = 0; i < kBlock; i++)
        to[i] = static_cast<uint8_t>(static_cast<int>(codes.v[i][lane]));
}

inline uint32_t bit_of_bytes(uint64_t v, int bit) { // moves bit `bit` of byte i to bit i
    return static_cast<uint32_t>((v >> bit & kEachByte) * 0x0102040810204080u >> 56);
}
inline void pack_fifth_bits(uint8_t *to, const uint8_t *codes) {
    for (int i = 0; i < 4; i++)
        to[i] = static_cast<uint8_t>(bit_of_bytes(load_eight(codes + 8 * i), 4));
}

// Q4_0 and Q5_0 with an imatrix: NMax codes on either side of zero; pack(block, codes).
template <class V, class F, int NMax, class Pack>
GGUFX_INLINE void search_signed(const EncodeJob &job, Pack pack) {
    for (size_t first = 0; first < job.n_blocks; first += V::kLanes) {
        const Places<V, kBlock> at(job, first);
        Group<V> x, w, lanes;
        alignas(64) float d[V::kLanes];
        load_blocks<V>(&x, &w, at);
        V::store(d, fit_signed<V>(kBlock, static_cast<float>(NMax), x, w, &lanes).v);
        for (int b = 0; b < at.n; b++) {
            typename F::Block &to = block_of<F>(job, at.block(b));
            uint8_t codes[kBlock];
            store_scale(to.d, d[b]);
            lane_codes<V>(codes, lanes, b);
            pack(to, codes);
        }
    }
}
// Q4_0 and Q5_0 without an imatrix: store(block, codes of the row).
template <class V, class F, int NMax, class Store>
GGUFX_INLINE void round_signed(const EncodeJob &job, Store store) {
    for (size_t first = 0; first < job.n_blocks; first += V::kLanes) {
        const Places<V, kBlock> at(job, first);
        alignas(64) float id[V::kLanes];
        uint8_t halves[2 * V::kLanes];
        const Lane<V> d = signed_largest_of_blocks(at) / Lane<V>(static_cast<float>(-NMax));
        V::store_half(halves, d.v); // never NaN
        V::store(id, inverse(d).v);
        for (int b = 0; b < at.n; b++) {
            typename F::Block &to = block_of<F>(job, at.block(b));
            __builtin_memcpy(to.d, halves + 2 * b, 2);
            // Subtracting +0 has no effect on codes: -0 gives the same code.
            store(to, RowCodes<V>(at.values(b), 0.0f, id[b], static_cast<float>(NMax) + 0.5f,
                                  2 * NMax - 1));
        }
    }
}

// Q4_1 and Q5_1, codes 0 .. NMax, with and without an imatrix.
template <class V, class F, int NMax, class Pack>
GGUFX_INLINE void search_line(const EncodeJob &job, Pack pack) {
    for (size_t first = 0; first < job.n_blocks; first += V::kLanes) {
        const Places<V, kBlock> at(job, first);
        Group<V> x, w, lanes;
        alignas(64) float d[V::kLanes], min[V::kLanes];
        load_blocks<V>(&x, &w, at);
        const LineFit<V> fit =
            fit_with_min<V>({kBlock, NMax, -0.9f, 0.05f, 36, false}, x, w, &lanes);
        V::store(d, fit.scale.v);
        V::store(min, (-fit.min).v);
        for (int b = 0; b < at.n; b++) {
            typename F::Block &to = block_of<F>(job, at.block(b));
            uint8_t codes[kBlock];
            store_scale(to.d, d[b]);
            store_scale(to.m, min[b]);
            lane_codes<V>(codes, lanes, b);
            pack(to, codes);
        }
    }
}
template <class V, class F, int NMax, class Store>
GGUFX_INLINE void round_line(const EncodeJob &job, Store store) {
    for (size_t first = 0; first < job.n_blocks; first += V::kLanes) {
        const Places<V, kBlock> at(job, first);
        alignas(64) float min[V::kLanes], id[V::kLanes];
        uint8_t halves[2 * V::kLanes], mins[2 * V::kLanes];
        const Range<V> range = exact_range_of_blocks(at);
        const Lane<V> d = (range.most - range.least) / Lane<V>(static_cast<float>(NMax));
        V::store_half(halves, d.v); // never NaN
        V::store_half(mins, range.least.v);
        V::store(min, range.least.v);
        V::store(id, inverse(d).v);
        for (int b = 0; b < at.n; b++) {
            typename F::Block &to = block_of<F>(job, at.block(b));
            __builtin_memcpy(to.d, halves + 2 * b, 2);
            __builtin_memcpy(to.m, mins + 2 * b, 2);
            store(to, RowCodes<V>(at.values(b), min[b], id[b], 0.5f, NMax));
        }
    }
}

template <class F> void pack_four_bits(typename F::Block &to, const uint8_t *codes) {
    pack_nibbles(to.qs, codes, 16, 16);
}
template <class F> void pack_five_bits(typename F::Block &to, const uint8_t *codes) {
    pack_fifth_bits(to.qh, codes);
    pack_nibbles(to.qs, codes, 16, 16);
}
template <class V, class F>
GGUFX_INLINE void store_four_bits(typename F::Block &to, const RowCodes<V> &codes) {
    codes.store_nibbles(to.qs);
}
template <class V, class F>
GGUFX_INLINE void store_five_bits(typename F::Block &to, const RowCodes<V> &codes) {
    codes.store_fifth_bits(to.qh);
    codes.store_nibbles(to.qs);
}
template <class V> void encode_q4_0(const EncodeJob &job) {
    using F = fmt::Q4_0;
    if (job.imatrix) return search_signed<V, F, 8>(job, pack_four_bits<F>);
    round_signed<V, F, 8>(job, store_four_bits<V, F>);
}
template <class V> void encode_q5_0(const EncodeJob &job) {
    using F = fmt::Q5_0;
    if (job.imatrix) return search_signed<V, F, 16>(job, pack_five_bits<F>);
    round_signed<V, F, 16>(job, store_five_bits<V, F>);
}
template <class V> void encode_q4_1(const EncodeJob &job) {
    using F = fmt::Q4_1;
    if (job.imatrix) return search_line<V, F, 15>(job, pack_four_bits<F>);
    round_line<V, F, 15>(job, store_four_bits<V, F>);
}
template <class V> void encode_q5_1(const EncodeJob &job) {
    using F = fmt::Q5_1;
    if (job.imatrix) return search_line<V, F, 31>(job, pack_five_bits<F>);
    round_line<V, F, 31>(job, store_five_bits<V, F>);
}

template <class V> void encode_q8_0(const EncodeJob &job) {
    for (size_t first = 0; first < job.n_blocks; first += V::kLanes) {
        const Places<V, kBlock> at(job, first);
        alignas(64) float id[V::kLanes];
        uint8_t halves[2 * V::kLanes];
        const Lane<V> d = largest_of_blocks(at) / Lane<V>(127.0f);
        V::store_half(halves, d.v); // never NaN
        V::store(id, inverse(d).v);
        for (int b = 0; b < at.n; b++) {
            fmt::Q8_0::Block &to = block_of<fmt::Q8_0>(job, at.block(b));
            const float *x = at.values(b);
            __builtin_memcpy(to.d, halves + 2 * b, 2);
            for (int i = 0; i < kBlock; i += V::kLanes) {
                const typename V::Vi code = round_away(Lane<V>(V::load(x + i)) * Lane<V>(id[b]));
                V::store_bytes(to.qs + i, V::and_i(code, V::set1_i(255)));
            }
        }
    }
}

} // namespace
} // namespace kernels
} // namespace ggufx
