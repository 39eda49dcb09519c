// Scores of a page of keys (docs/reproducibility/attention.md). Tokens are in the lanes, so nothing
// is added across lanes. A register of codes is decoded once for all rows.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/kv_codes.hpp"

namespace ggufx {
namespace kernels {
namespace {

// Integer keys. Ready: an unpacked page, for any kind of the same KvCodes::kForm.
template <class V, KvKind Kind, unsigned Rows, bool Ready = false> struct KvScoreCodes {
    using F = typename V::Vf;
    using I = typename V::Vi;
    using C = KvCodes<V, Kind, false, Ready>;
    static constexpr KvFormat kFormat = C::kFormat;
    static constexpr unsigned kPlanes = kFormat.wide_query ? 2 : 1;
    static constexpr unsigned kSteps = 8; // registers of codes per strip
    static constexpr unsigned kSplit = kPlanes == 1 && Rows < 4 ? 2 : 1; // chains, to hide latency
    // Registers of codes whose products may first be added in int16.
    static constexpr unsigned kShort = C::kPairs ? 1 : V::template kShortSteps<Kind>;

    struct Sums {
        I s[Rows][kPlanes][kSplit];
    };

    static GGUFX_INLINE void start(Sums &sums, const int32_t *q_sum, int32_t offset = C::kOffset) {
#pragma GCC unroll 4
        for (unsigned r = 0; r < Rows; r++) {
#pragma GCC unroll 2
            for (unsigned p = 0; p < kPlanes; p++)
#pragma GCC unroll 2
                for (unsigned c = 0; c < kSplit; c++) sums.s[r][p][c] = V::zero_i();
            if constexpr (!C::kSigned) sums.s[r][kPlanes - 1][0] = V::set1_i(-offset * q_sum[r]);
        }
    }

    // Calls use(Index<t>, value) for the eight registers of codes of a strip. low: its stored
    // registers, 64 bytes each; last: the previous stored register, whose highest field is the
    // previous code.
    template <class Use>
    static GGUFX_INLINE void decode_strip(const C &codes, const uint8_t *low, const uint8_t *high,
                                          I &last, const Use &use) {
        I h = V::zero_i(), x[kSteps];
        if constexpr (C::kHigh) h = V::load_i(high);
#pragma GCC unroll 8
        for (unsigned i = 0; i < C::kLow; i++) x[i] = V::load_i(low + 64 * i);
        unrolled<0, kSteps>([&](auto step) __attribute__((always_inline)) {
            constexpr unsigned t = decltype(step)::value, per = C::kPer;
            const I from = t % per ? x[t / per] : t ? x[(t - 1) / per] : last;
            use(step, codes.template decode<t, (t + per - 1) % per>(x[t / per], from, h));
        });
        last = x[C::kLow - 1];
    }

    static GGUFX_INLINE void add_strip(Sums &sums, const C &codes, const uint8_t *low,
                                       const uint8_t *high, const int8_t *q, I &last) {
        I shorts[Rows];
        decode_strip(
            codes, low, high, last, [&](auto step, I value) __attribute__((always_inline)) {
                constexpr unsigned t = decltype(step)::value;
                add_step<t>(sums, shorts, value, q + t * kPlanes * Rows * 4);
            });
    }

    // Adds register t of a strip; q: its query codes.
    template <unsigned t>
    static GGUFX_INLINE void add_step(Sums &sums, I (&shorts)[Rows], I value, const int8_t *q) {
        if constexpr (C::kPairs) {
            const auto pairs = V::widen(value);
#pragma GCC unroll 4
            for (unsigned r = 0; r < Rows; r++)
#pragma GCC unroll 2
                for (unsigned p = 0; p < 2; p++) {
                    I &sum = sums.s[r][p][0];
                    sum = V::dot_pairs(sum, pairs.part[p], q + (p * Rows + r) * 4);
                }
        } else {
            const auto u = V::template prepare<Kind>(value);
#pragma GCC unroll 4
            for (unsigned r = 0; r < Rows; r++)
#pragma GCC unroll 2
                for (unsigned p = 0; p < kPlanes; p++) {
                    const int8_t *four = q + (p * Rows + r) * 4;
                    I &sum = sums.s[r][p][t / kShort % kSplit];
                    if constexpr (kShort == 1) {
                        sum = V::dot_query(sum, u, four);
                    } else {
                        const I two = V::short_products(u, four);
                        shorts[r] = t % kShort == 0 ? two : V::add_shorts(shorts[r], two);
                        if (t % kShort == kShort - 1) sum = V::add_pairs(sum, shorts[r]);
                    }
                }
        }
    }

    static GGUFX_INLINE I total(const Sums &sums, unsigned r) {
        if constexpr (kPlanes == 2) return C::join(sums.s[r][0][0], sums.s[r][1][0]);
        if constexpr (kSplit == 2) return V::add_i(sums.s[r][0][0], sums.s[r][0][1]);
        return sums.s[r][0][0];
    }

    // Register before the first one: the last register, moved up a byte within each token.
    static GGUFX_INLINE I chain_start(const uint8_t *low, uint32_t d) {
        const uint32_t last = d / 4 - 1; // step 7 or 3 of its strip
        return V::template shift_left<8>(V::load_i(low + last / C::kPer * 64));
    }

    static GGUFX_INLINE void add_scaled(F (&s)[Rows], const Sums &sums, const KvQuery &q,
                                        uint32_t b, const uint8_t *scales, const uint8_t *mins) {
        const F d = V::load_f16(scales);
#pragma GCC unroll 4
        for (unsigned r = 0; r < Rows; r++)
            s[r] =
                V::fma(V::to_float(total(sums, r)), V::mul(d, V::set1(q.d_q[b * Rows + r])), s[r]);
        if constexpr (kFormat.mins) {
            const F m = V::load_f16(mins);
#pragma GCC unroll 4
            for (unsigned r = 0; r < Rows; r++)
                s[r] = V::fma(m, V::set1(q.s_q[b * Rows + r]), s[r]);
        }
    }

    // Scores of kLanes tokens: part `part` of group g.
    static GGUFX_INLINE void part_scores(float *out, const C &codes, const KvQuery &q,
                                         const KvLayout &l, const uint8_t *page, uint32_t g,
                                         uint32_t part, KvAheadLines &ahead) {
        const uint32_t byte = part * V::kLanes * 4, n_scales = kFormat.vector_scale ? 1 : l.strips;
        const uint8_t *low = page + size_t(g) * l.strips * (64 * C::kLow) + byte;
        const uint8_t *high = page + l.high + size_t(g) * l.strips * 64 + byte;
        const uint8_t *scales = page + l.scales + (g * n_scales * kKvGroup + part * V::kLanes) * 2;
        F s[Rows];
#pragma GCC unroll 4
        for (unsigned r = 0; r < Rows; r++) s[r] = V::zero();
        I last = V::zero_i();
        if constexpr (kFormat.trellis) last = chain_start(low, l.d);
        Sums sums;
        if constexpr (kFormat.vector_scale) start(sums, q.q_sum);
        for (uint32_t b = 0; b < l.strips; b++) {
            if constexpr (!kFormat.vector_scale) start(sums, q.q_sum + b * Rows);
            add_strip(sums, codes, low + b * (64 * C::kLow), high + b * 64,
                      q.q + size_t(b) * (kSteps * kPlanes * Rows * 4), last);
            if constexpr (!kFormat.vector_scale)
                add_scaled(s, sums, q, b, scales + b * (kKvGroup * 2),
                           scales + b * (kKvGroup * 2) + (l.mins - l.scales));
            ahead.step();
        }
        if constexpr (kFormat.vector_scale) add_scaled(s, sums, q, 0, scales, scales);
        finish(out, s, q);
    }
    static GGUFX_INLINE void finish(float *out, const F (&s)[Rows], const KvQuery &q) {
#pragma GCC unroll 4
        for (unsigned r = 0; r < Rows; r++) {
            F x = V::mul(s[r], V::set1(q.scale));
            if (q.bias) x = V::add(x, V::set1(q.bias[r]));
            V::store(out + r * kKvTokens, x);
        }
    }

    static void run(float *s, const KvQuery &q, const uint8_t *page, KvTokens tokens,
                    const KvAhead &next) {
        const KvLayout l = k_layout(kFormat, q.d);
        const C codes;
        constexpr uint32_t parts = kKvGroup / V::kLanes;
        KvAheadLines ahead(next, l.strips * (kKvTokens / V::kLanes));
        for (uint32_t g = tokens.first / kKvGroup; g * kKvGroup < tokens.end; g++)
            for (uint32_t part = 0; part < parts; part++)
                part_scores(s + g * kKvGroup + part * V::kLanes, codes, q, l, page, g, part, ahead);
    }
};

// Float keys: two chains over even and odd coordinates, added at the end.
template <class V, KvKind Kind, unsigned Rows> struct KvScoreFloats {
    using F = typename V::Vf;
    static constexpr unsigned kBytes = kv_format(Kind).float_bytes;

    static GGUFX_INLINE void add(F (&chain)[Rows], const uint8_t *key, const float *x) {
        const F k = V::template load_value<Kind>(key);
#pragma GCC unroll 4
        for (unsigned r = 0; r < Rows; r++) chain[r] = V::fma(k, V::set1(x[r]), chain[r]);
    }

    static GGUFX_INLINE void part_scores(float *out, const KvQuery &q, const uint8_t *keys,
                                         KvAheadLines &ahead) {
        constexpr size_t step = kKvGroup * kBytes;
        F even[Rows], odd[Rows];
#pragma GCC unroll 4
        for (unsigned r = 0; r < Rows; r++) even[r] = odd[r] = V::zero();
        const float *x = q.x;
        uint32_t c = 0;
        for (; c + 8 <= q.d; c += 8, keys += 8 * step, x += 8 * Rows) {
            ahead.step();
#pragma GCC unroll 4
            for (unsigned i = 0; i < 8; i += 2) {
                add(even, keys + i * step, x + i * Rows);
                add(odd, keys + (i + 1) * step, x + (i + 1) * Rows);
            }
        }
        for (; c < q.d; c++, keys += step, x += Rows) {
            if (c % 2 == 0)
                add(even, keys, x);
            else
                add(odd, keys, x);
        }
#pragma GCC unroll 4
        for (unsigned r = 0; r < Rows; r++)
            V::store(out + r * kKvTokens, V::mul(V::add(even[r], odd[r]), V::set1(q.scale)));
    }

    static void run(float *s, const KvQuery &q, const uint8_t *page, KvTokens tokens,
                    const KvAhead &next) {
        KvAheadLines ahead(next, (q.d + 7) / 8 * (kKvTokens / V::kLanes));
        for (uint32_t t = tokens.first / V::kLanes * V::kLanes; t < tokens.end; t += V::kLanes)
            part_scores(s + t, q, page + size_t(k_float_at(q.d, t, 0)) * kBytes, ahead);
    }
};

template <class V, KvKind Kind, unsigned Rows>
void kv_score(float *s, const KvQuery &q, const uint8_t *page, KvTokens tokens,
              const KvAhead &ahead) {
    if constexpr (kv_format(Kind).bits == 0)
        KvScoreFloats<V, Kind, Rows>::run(s, q, page, tokens, ahead);
    else
        KvScoreCodes<V, Kind, Rows>::run(s, q, page, tokens, ahead);
}

} // namespace
} // namespace kernels
} // namespace ggufx
