// Sums over a page of values (docs/reproducibility/attention.md, D1). Coordinates are in the lanes,
// four tokens in the bytes of a lane. A register of codes takes two dot products per row.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/kv_weights.hpp"

namespace ggufx {
namespace kernels {
namespace {

// Integer values. Ready: an unpacked page, for any kind of the same KvCodes::kForm.
template <class V, KvKind Kind, unsigned Rows, bool Ready = false> struct KvAccumulateCodes {
    using F = typename V::Vf;
    using I = typename V::Vi;
    using C = KvCodes<V, Kind, true, Ready>;
    static constexpr KvFormat kFormat = C::kFormat;
    static constexpr unsigned kHalves = V::kStripHalves; // halves processed at once, 1 or 2
    static constexpr unsigned kParts = 16 / V::kLanes;
    static constexpr size_t kLowStrip = 256 * C::kLow, kHighStrip = 256;
    using Weights = KvWeights<Rows>;

    // One strip of a page, for kLanes of its coordinates.
    struct Strip {
        const uint8_t *low, *high; // planes of the strip
        const uint8_t *last;       // low plane of the previous step
        uint32_t last_half;        // half of the previous strip: 1, or 0 at the end of the chain
        bool first;                // the previous strip is the last one, moved up a lane
        uint32_t part;
    };

    // Returns the offset of the stored register of register t of eight number u, in a plane of Bits
    // bits.
    template <unsigned Bits, unsigned t> static GGUFX_INLINE size_t offset(unsigned u) {
        constexpr unsigned per = 8 / Bits;
        return (u * 8 + t) / per * 64;
    }
    // Returns the stored register whose field t + 1 is the code before register t. Only for first
    // halves.
    template <unsigned t> static GGUFX_INLINE I stored_last(const Strip &s, unsigned u) {
        const uint8_t *last = s.last + offset<C::kLow, t>(u);
        if (!s.first) return V::load_i(last);
        const I x = V::load_lane_up(last, s.part == 0);
        return s.last_half ? x : V::template shift_up<C::kLow>(x);
    }

    template <unsigned Q, unsigned Half>
    static GGUFX_INLINE I values(const C &codes, const Strip &s, unsigned u) {
        constexpr unsigned t = Q * 2 + Half;
        const I x = V::load_i(s.low + offset<C::kLow, t>(u));
        I h = V::zero_i(), last = x;
        if constexpr (C::kHigh) h = V::load_i(s.high + offset<1, t>(u));
        if constexpr (kFormat.trellis && Half == 0) last = stored_last<t>(s, u);
        return codes.template decode<t, (t ^ 1) % C::kPer>(x, last, h);
    }

    template <unsigned First> // half
    static GGUFX_INLINE void strip_sums(I (&sums)[Rows][kHalves][2], const C &codes, const Strip &s,
                                        const Weights &w, KvAheadLines &ahead) {
        for (unsigned u = 0; u < 4; u++) {
            ahead.step();
            unrolled<0, 4>([&](auto quad) __attribute__((always_inline)) {
                unrolled<0, kHalves>([&](auto half) __attribute__((always_inline)) {
                    constexpr unsigned q = decltype(quad)::value, i = decltype(half)::value;
                    add_register<i>(sums, values<q, First + i>(codes, s, u), w, 16 * u + 4 * q);
                });
            });
        }
    }

    // Adds the codes of four tokens from `token` on.
    template <unsigned Half>
    static GGUFX_INLINE void add_register(I (&sums)[Rows][kHalves][2], I value, const Weights &w,
                                          unsigned token) {
        if constexpr (C::kPairs) {
            const auto pairs = V::widen(value);
#pragma GCC unroll 4
            for (unsigned r = 0; r < Rows; r++)
#pragma GCC unroll 2
                for (unsigned p = 0; p < 2; p++) {
                    I &sum = sums[r][Half][p];
                    sum = V::dot_pairs(sum, pairs.part[p], w.plane[r][p] + token);
                }
        } else {
            const auto c = V::template prepare<Kind>(value);
#pragma GCC unroll 4
            for (unsigned r = 0; r < Rows; r++)
#pragma GCC unroll 2
                for (unsigned p = 0; p < 2; p++) {
                    I &sum = sums[r][Half][p];
                    sum =
                        V::template dot_weights<C::kUnsignedWeights>(sum, c, w.plane[r][p] + token);
                }
        }
    }

    template <unsigned First>
    static GGUFX_INLINE void add_halves(float *o, size_t stride, const C &codes, const Strip &s,
                                        const Weights &w, const float *minimums, int32_t offset,
                                        KvAheadLines &ahead) {
        I sums[Rows][kHalves][2];
#pragma GCC unroll 4
        for (unsigned r = 0; r < Rows; r++)
#pragma GCC unroll 2
            for (unsigned i = 0; i < kHalves; i++) {
                sums[r][i][0] = V::zero_i();
                sums[r][i][1] = C::kUnsignedWeights ? V::zero_i() : V::set1_i(-offset * w.sum[r]);
            }
        strip_sums<First>(sums, codes, s, w, ahead);
#pragma GCC unroll 4
        for (unsigned r = 0; r < Rows; r++)
#pragma GCC unroll 2
            for (unsigned i = 0; i < kHalves; i++) {
                float *to = o + r * stride + (First + i) * 16 + s.part * V::kLanes;
                const I a = C::join(sums[r][i][0], sums[r][i][1]);
                F v = V::fma(V::to_float(a), V::set1(w.back[r]), V::load(to));
                if constexpr (kFormat.mins) v = V::add(v, V::set1(minimums[r]));
                V::store(to, v);
            }
    }

    static GGUFX_INLINE void sum_minimums(float (&out)[Rows], const float *p, const uint8_t *mins) {
        for (unsigned r = 0; r < Rows; r++) {
            F lane[kParts];
#pragma GCC unroll 4
            for (unsigned i = 0; i < kParts; i++) lane[i] = V::zero();
            for (unsigned t = 0; t < kKvTokens; t += 16)
#pragma GCC unroll 4
                for (unsigned i = 0; i < kParts; i++) {
                    const unsigned at = t + i * V::kLanes;
                    lane[i] = V::fma(V::load(p + r * kKvTokens + at), V::load_f16(mins + 2 * at),
                                     lane[i]);
                }
            out[r] = V::tree(lane);
        }
    }

    static GGUFX_INLINE Strip strip_at(const uint8_t *page, const KvLayout &l, uint32_t b,
                                       uint32_t part) {
        const uint32_t byte = part * V::kLanes * 4, last = l.d / 16 - 1; // last step of the chain
        const uint32_t from = b ? b - 1 : last / 2;
        const uint8_t *high = page + l.high + byte;
        page += byte;
        return {page + b * kLowStrip,
                high + b * kHighStrip,
                page + from * kLowStrip,
                b ? 1 : last % 2,
                b == 0,
                part};
    }

    static GGUFX_INLINE void run(float *o, uint32_t d, const float *p, const uint8_t *page,
                                 const KvMeaning &meaning, const KvAhead &next) {
        const KvLayout l = v_layout(kFormat, d);
        const size_t stride = kv_sum_floats(d);
        const C codes;
        // blocks of weights at once, to hide latency
        constexpr uint32_t some = kFormat.vector_scale ? 1 : 4;
        Weights weights[some];
        float minimums[Rows] = {};
        KvAheadLines ahead(next, l.strips * (8 / kHalves) * kParts);
        for (uint32_t b = 0; b < l.strips; b++) {
            const uint8_t *scales = page + l.scales + b * (kKvTokens * 2);
            const uint32_t left = kFormat.vector_scale ? 1 : l.strips - b;
            for (uint32_t i = 0;
                 (b == 0 || (!kFormat.vector_scale && b % some == 0)) && i < some && i < left; i++)
                KvWeigher<V, Rows, C::kUnsignedWeights>::run(
                    weights[i], p, scales + i * (kKvTokens * 2), meaning.unit);
            const Weights &w = weights[kFormat.vector_scale ? 0 : b % some];
            if constexpr (kFormat.mins) sum_minimums(minimums, p, scales + (l.mins - l.scales));
            for (uint32_t part = 0; part < kParts; part++) {
                const Strip s = strip_at(page, l, b, part);
                add_halves<0>(o + b * kKvStrip, stride, codes, s, w, minimums, meaning.offset,
                              ahead);
                if constexpr (kHalves == 1)
                    add_halves<1>(o + b * kKvStrip, stride, codes, s, w, minimums, meaning.offset,
                                  ahead);
            }
        }
    }
};

// Float values: o[j] = fma(p[t], v[t][j], o[j]), t ascending.
template <class V, KvKind Kind, unsigned Rows> struct KvAccumulateFloats {
    using F = typename V::Vf;
    static constexpr unsigned kBytes = kv_format(Kind).float_bytes;

    // Adds Regs registers of coordinates; rows of `width` values.
    template <unsigned Regs>
    static GGUFX_INLINE void add_tile(float *o, size_t stride, const float *p, const uint8_t *v,
                                      uint32_t width, KvTokens tokens, KvAheadLines &ahead) {
        F sum[Rows][Regs];
#pragma GCC unroll 4
        for (unsigned r = 0; r < Rows; r++)
#pragma GCC unroll 4
            for (unsigned i = 0; i < Regs; i++) sum[r][i] = V::load(o + r * stride + i * V::kLanes);
        for (uint32_t t = tokens.first; t < tokens.end; t++) {
            const uint8_t *row = v + size_t(t) * width * kBytes;
            if (t % 4 == 0) ahead.step();
#pragma GCC unroll 4
            for (unsigned i = 0; i < Regs; i++) {
                const F x = V::template load_value<Kind>(row + i * V::kLanes * kBytes);
#pragma GCC unroll 4
                for (unsigned r = 0; r < Rows; r++)
                    sum[r][i] = V::fma(V::set1(p[r * kKvTokens + t]), x, sum[r][i]);
            }
        }
#pragma GCC unroll 4
        for (unsigned r = 0; r < Rows; r++)
#pragma GCC unroll 4
            for (unsigned i = 0; i < Regs; i++) V::store(o + r * stride + i * V::kLanes, sum[r][i]);
    }

    static void run(float *o, uint32_t d, const float *p, const uint8_t *page, KvTokens tokens,
                    const KvAhead &next) {
        constexpr unsigned regs = V::kFloatTile, tile = regs * V::kLanes;
        const size_t stride = kv_sum_floats(d);
        KvAheadLines ahead(next, (d + tile - 1) / tile * (kKvTokens / 4));
        for (uint32_t column = 0; column * 64 < d; column++) {
            const uint32_t width = v_float_width(d, column);
            const uint8_t *v = page + size_t(v_float_at(d, 0, column * 64)) * kBytes;
            float *to = o + column * 64;
            uint32_t c = 0;
            for (; c + tile <= width; c += tile)
                add_tile<regs>(to + c, stride, p, v + c * kBytes, width, tokens, ahead);
            for (; c < width; c += V::kLanes)
                add_tile<1>(to + c, stride, p, v + c * kBytes, width, tokens, ahead);
        }
    }
};

template <class V, KvKind Kind, unsigned Rows>
void kv_accumulate(float *o, uint32_t d, const float *p, const uint8_t *page, KvTokens tokens,
                   const KvAhead &ahead) {
    if constexpr (kv_format(Kind).bits == 0)
        KvAccumulateFloats<V, Kind, Rows>::run(o, d, p, page, tokens, ahead);
    else
        KvAccumulateCodes<V, Kind, Rows>::run(o, d, p, page, KvCodes<V, Kind, true>::kMeaning,
                                              ahead);
}

} // namespace
} // namespace kernels
} // namespace ggufx
