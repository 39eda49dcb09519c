// Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 as src/quant/rtn.cpp makes them: scales with a block in each lane, codes
// along the row. With an imatrix the searches of the K types.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/encode_pack.hpp"
#include "kernels/loops/encode_search.hpp"

namespace ggufx {
namespace kernels {
namespace {

constexpr int kBlock = 32;

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

// Codes of one block out of the lanes.
template <class V> GGUFX_INLINE void lane_codes(uint8_t *to, const Group<V> &codes, int lane) {
    for (int i = 0; i < kBlock; i++)
        to[i] = static_cast<uint8_t>(static_cast<int>(codes.v[i][lane]));
}

enum class Limit { none, wrapped }; // Wrapped: as int8, then at most `most`.

// Codes of x * id + shift towards zero.
template <class V, Limit Kind>
GGUFX_INLINE void truncate_codes(uint8_t *to, const float *x, float min, float id, float shift,
                                 int most) {
    for (int i = 0; i < kBlock; i += V::kLanes) {
        const Lane<V> v =
            (Lane<V>(V::load(x + i)) - Lane<V>(min)) * Lane<V>(id) + Lane<V>(shift);
        typename V::Vi code = V::to_int(v.v);
        if constexpr (Kind == Limit::wrapped) {
            code = V::template shift_right<24>(V::template shift_left<24>(code));
            code = V::min_i(code, V::set1_i(most));
        }
        V::store_bytes(to + i, V::and_i(code, V::set1_i(255)));
    }
}

inline uint32_t bit_of_bytes(uint64_t v, int bit) { // of byte i to bit i
    return static_cast<uint32_t>((v >> bit & kEachByte) * 0x0102040810204080u >> 56);
}
inline void pack_fifth_bits(uint8_t *to, const uint8_t *codes) {
    for (int i = 0; i < 4; i++)
        to[i] = static_cast<uint8_t>(bit_of_bytes(load_eight(codes + 8 * i), 4));
}

// Q4_0 and Q5_0: NMax codes on either side of zero; pack(out + 2, codes).
template <class V, int Bytes, int NMax, class Pack>
GGUFX_INLINE void encode_signed(const EncodeJob &job, Pack pack) {
    for (size_t first = 0; first < job.n_blocks; first += V::kLanes) {
        const Places<V, kBlock> at(job, first);
        Group<V> x, w, lanes;
        alignas(64) float d[V::kLanes], id[V::kLanes];
        load_blocks<V>(&x, &w, at);
        const Lane<V> scale = job.imatrix
                                  ? fit_signed<V>(kBlock, static_cast<float>(NMax), x, w, &lanes)
                                  : signed_largest(x, kBlock) / Lane<V>(static_cast<float>(-NMax));
        V::store(d, scale.v);
        V::store(id, inverse(scale).v);
        for (int b = 0; b < at.n; b++) {
            uint8_t *out = job.out + Bytes * at.block(b), codes[kBlock];
            store_scale(out, d[b]);
            if (job.imatrix) {
                lane_codes<V>(codes, lanes, b);
            } else {
                // Minus +0 changes no bit that counts: -0 comes to the same code.
                truncate_codes<V, Limit::wrapped>(codes, at.values(b), 0.0f, id[b],
                                                  static_cast<float>(NMax) + 0.5f, 2 * NMax - 1);
            }
            pack(out + 2, codes);
        }
    }
}

template <class V> void encode_q4_0(const EncodeJob &job) {
    encode_signed<V, 18, 8>(
        job, [](uint8_t *to, const uint8_t *codes) { pack_nibbles(to, codes, 16, 16); });
}
inline void pack_five_bits(uint8_t *to, const uint8_t *codes) {
    pack_fifth_bits(to, codes);
    pack_nibbles(to + 4, codes, 16, 16);
}
template <class V> void encode_q5_0(const EncodeJob &job) {
    encode_signed<V, 22, 16>(job, pack_five_bits);
}

// Q4_1 and Q5_1: codes 0 .. NMax; pack(out + 4, codes).
template <class V, int Bytes, int NMax, class Pack>
GGUFX_INLINE void encode_line(const EncodeJob &job, Pack pack) {
    // The reference limits the codes of Q4_1 alone; those of Q5_1 wrap as bytes.
    constexpr Limit limit = NMax == 15 ? Limit::wrapped : Limit::none;
    for (size_t first = 0; first < job.n_blocks; first += V::kLanes) {
        const Places<V, kBlock> at(job, first);
        Group<V> x, w, lanes;
        alignas(64) float d[V::kLanes], min[V::kLanes], id[V::kLanes];
        load_blocks<V>(&x, &w, at);
        LineFit<V> fit;
        if (job.imatrix) {
            fit = fit_with_min<V>({kBlock, NMax, -0.9f, 0.05f, 36, false}, x, w, &lanes);
            fit.min = -fit.min;
        } else {
            Lane<V> least = x[0], most = x[0];
            for (int i = 1; i < kBlock; i++) {
                least = V::lesser(x[i].v, least.v);
                most = V::greater(x[i].v, most.v);
            }
            fit = {(most - least) / Lane<V>(static_cast<float>(NMax)), least};
        }
        V::store(d, fit.scale.v);
        V::store(min, fit.min.v);
        V::store(id, inverse(fit.scale).v);
        for (int b = 0; b < at.n; b++) {
            uint8_t *out = job.out + Bytes * at.block(b), codes[kBlock];
            store_scale(out, d[b]);
            store_scale(out + 2, min[b]);
            if (job.imatrix) {
                lane_codes<V>(codes, lanes, b);
            } else {
                truncate_codes<V, limit>(codes, at.values(b), min[b], id[b], 0.5f, NMax);
            }
            pack(out + 4, codes);
        }
    }
}

template <class V> void encode_q4_1(const EncodeJob &job) {
    encode_line<V, 20, 15>(
        job, [](uint8_t *to, const uint8_t *codes) { pack_nibbles(to, codes, 16, 16); });
}
template <class V> void encode_q5_1(const EncodeJob &job) {
    encode_line<V, 24, 31>(job, pack_five_bits);
}

// most[lane] = largest magnitude of the blocks first .. first + kLanes - 1 of Values values each.
template <class V, int Values>
GGUFX_INLINE Lane<V> largest_of_blocks(const Places<V, Values> &at) {
    typename V::Vi r[V::kLanes];
    const typename V::Vi magnitude_bits = V::set1_i(INT32_MAX);
    for (int j = 0; j < static_cast<int>(V::kLanes); j++) {
        const float *x = at.values(j);
        typename V::Vi most = V::and_i(V::as_int(V::load(x)), magnitude_bits);
        for (int i = V::kLanes; i < Values; i += V::kLanes)
            most = V::max_bits(most, V::and_i(V::as_int(V::load(x + i)), magnitude_bits));
        r[j] = most;
    }
    V::transpose(r);
    for (int j = 1; j < static_cast<int>(V::kLanes); j++) r[0] = V::max_bits(r[0], r[j]);
    return V::as_float(r[0]);
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
            uint8_t *out = job.out + 34 * at.block(b);
            const float *x = at.values(b);
            __builtin_memcpy(out, halves + 2 * b, 2);
            for (int i = 0; i < kBlock; i += V::kLanes) {
                const typename V::Vi code =
                    round_away(Lane<V>(V::load(x + i)) * Lane<V>(id[b]));
                V::store_bytes(out + 2 + i, V::and_i(code, V::set1_i(255)));
            }
        }
    }
}

} // namespace
} // namespace kernels
} // namespace ggufx
