// Unpacked pages for several groups of query rows: decoded once, then processed in tiles that only
// multiply. Codes become bytes, floats binary32.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/kv_accumulate.hpp"
#include "kernels/loops/kv_score.hpp"

namespace ggufx {
namespace kernels {
namespace {

constexpr unsigned kKvReadyRows = 4;

// ---- unpacking ----------------------------------------------------------------------------------

inline void kv_copy_scales(uint8_t *ready, const uint8_t *page, const KvFormat &f, uint32_t d) {
    const KvLayout from = kv_layout_codes(f, d), to = kv_layout_codes(kv_ready_format(f), d);
    __builtin_memcpy(ready + to.scales, page + from.scales, from.bytes - from.scales);
}

template <class V, KvKind Kind>
void kv_ready_keys(uint8_t *ready, const uint8_t *page, uint32_t d, KvTokens tokens) {
    using Score = KvScoreCodes<V, Kind, 1>;
    using C = typename Score::C;
    constexpr size_t low_strip = 64 * C::kLow, strip = 64 * Score::kSteps;
    const KvLayout l = k_layout(C::kFormat, d);
    const C codes;
    for (uint32_t g = tokens.first / kKvGroup; g * kKvGroup < tokens.end; g++)
        for (uint32_t byte = 0; byte < 64; byte += V::kLanes * 4) {
            const uint8_t *low = page + g * (l.strips * low_strip) + byte;
            const uint8_t *high = page + l.high + size_t(g) * l.strips * 64 + byte;
            uint8_t *to = ready + g * (l.strips * strip) + byte;
            auto last = V::zero_i();
            if constexpr (C::kFormat.trellis) last = Score::chain_start(low, d);
            for (uint32_t b = 0; b < l.strips; b++, low += low_strip, high += 64, to += strip)
                Score::decode_strip(
                    codes, low, high,
                    last, [&](auto step, typename V::Vi value) __attribute__((always_inline)) {
                        V::store_i(to + decltype(step)::value * 64, value);
                    });
        }
    kv_copy_scales(ready, page, C::kFormat, d);
}

template <class V, KvKind Kind>
void kv_ready_values(uint8_t *ready, const uint8_t *page, uint32_t d, KvTokens) {
    using Sum = KvAccumulateCodes<V, Kind, 1>;
    using C = typename Sum::C;
    const KvLayout l = v_layout(C::kFormat, d);
    const C codes;
    for (uint32_t b = 0; b < l.strips; b++)
        for (uint32_t part = 0; part < Sum::kParts; part++) {
            const auto strip = Sum::strip_at(page, l, b, part);
            uint8_t *to = ready + size_t(b) * (64 * kKvStrip) + part * (V::kLanes * 4);
            for (unsigned u = 0; u < 4; u++, to += 8 * 64)
                unrolled<0, 8>([&](auto index) __attribute__((always_inline)) {
                    constexpr unsigned t = decltype(index)::value;
                    V::store_i(to + t * 64, Sum::template values<t / 2, t % 2>(codes, strip, u));
                });
        }
    kv_copy_scales(ready, page, C::kFormat, d);
}

// Float keys and values: consecutive registers of floats.
template <class V, KvKind Kind>
GGUFX_INLINE void kv_ready_floats(uint8_t *ready, const uint8_t *page, size_t first, size_t end) {
    constexpr size_t bytes = kv_format(Kind).float_bytes;
    for (size_t i = first; i < end; i += V::kLanes)
        V::store(reinterpret_cast<float *>(ready) + i,
                 V::template load_value<Kind>(page + i * bytes));
}
template <class V, KvKind Kind>
void kv_ready_float_keys(uint8_t *ready, const uint8_t *page, uint32_t d, KvTokens tokens) {
    const uint32_t group = tokens.first / kKvGroup, end = (tokens.end + kKvGroup - 1) / kKvGroup;
    kv_ready_floats<V, Kind>(ready, page, size_t(group) * d * kKvGroup, size_t(end) * d * kKvGroup);
}
template <class V, KvKind Kind>
void kv_ready_float_values(uint8_t *ready, const uint8_t *page, uint32_t d, KvTokens tokens) {
    for (uint32_t column = 0; column * 64 < d; column++) {
        const size_t from = v_float_at(d, 0, column * 64), width = v_float_width(d, column);
        kv_ready_floats<V, Kind>(ready, page, from + tokens.first * width,
                                 from + tokens.end * width);
    }
}

// ---- keys ---------------------------------------------------------------------------------------

// Tile: registers of tokens processed at once, which share the loads of a query row.
template <class V, KvKind Kind> struct KvScoreReady {
    static constexpr unsigned Rows = kKvReadyRows;
    using Score = KvScoreCodes<V, Kind, Rows, true>;
    using F = typename V::Vf;
    using I = typename V::Vi;
    static constexpr KvFormat kFormat = Score::kFormat;
    static constexpr unsigned kPlanes = Score::kPlanes, kSteps = Score::kSteps;
    static constexpr unsigned kTile =
        kFormat.vector_scale ? V::kReadyTile : (V::kReadyTile + 1) / 2;

    static GGUFX_INLINE void add_strip(typename Score::Sums (&sums)[kTile],
                                       const uint8_t *const (&codes)[kTile], size_t at,
                                       const int8_t *q) {
        I shorts[kTile][Rows];
        unrolled<0, kSteps>([&](auto step) __attribute__((always_inline)) {
            constexpr unsigned t = decltype(step)::value;
#pragma GCC unroll 4
            for (unsigned i = 0; i < kTile; i++)
                Score::template add_step<t>(sums[i], shorts[i], V::load_i(codes[i] + at + t * 64),
                                            q + t * (kPlanes * Rows * 4));
        });
    }

    static GGUFX_INLINE void tile(float *out, const KvQuery &q, const KvLayout &l,
                                  const uint8_t *page, uint32_t token, int32_t offset) {
        const uint32_t n_scales = kFormat.vector_scale ? 1 : l.strips;
        const uint8_t *codes[kTile], *scales[kTile];
        typename Score::Sums sums[kTile];
        F s[kTile][Rows];
#pragma GCC unroll 4
        for (unsigned i = 0; i < kTile; i++) {
            const uint32_t t = token + i * V::kLanes, g = t / kKvGroup, lane = t % kKvGroup;
            codes[i] = page + size_t(g) * l.strips * (64 * kSteps) + lane * 4;
            scales[i] = page + l.scales + (size_t(g) * n_scales * kKvGroup + lane) * 2;
#pragma GCC unroll 4
            for (unsigned r = 0; r < Rows; r++) s[i][r] = V::zero();
            if constexpr (kFormat.vector_scale) Score::start(sums[i], q.q_sum, offset);
        }
        for (uint32_t b = 0; b < l.strips; b++) {
            if constexpr (!kFormat.vector_scale)
#pragma GCC unroll 4
                for (unsigned i = 0; i < kTile; i++)
                    Score::start(sums[i], q.q_sum + b * Rows, offset);
            add_strip(sums, codes, size_t(b) * (64 * kSteps),
                      q.q + size_t(b) * (kSteps * kPlanes * Rows * 4));
            if constexpr (!kFormat.vector_scale)
#pragma GCC unroll 4
                for (unsigned i = 0; i < kTile; i++) {
                    const uint8_t *scale = scales[i] + b * (kKvGroup * 2);
                    Score::add_scaled(s[i], sums[i], q, b, scale, scale + (l.mins - l.scales));
                }
        }
#pragma GCC unroll 4
        for (unsigned i = 0; i < kTile; i++) {
            if constexpr (kFormat.vector_scale)
                Score::add_scaled(s[i], sums[i], q, 0, scales[i], scales[i]);
            Score::finish(out + i * V::kLanes, s[i], q);
        }
    }
};

template <class V, KvKind Kind>
__attribute__((noinline)) void kv_score_form(float *s, const KvQuery &q, const uint8_t *page,
                                             KvTokens tokens, int32_t offset) {
    using Score = KvScoreReady<V, Kind>;
    constexpr uint32_t wide = Score::kTile * V::kLanes;
    const KvLayout l = k_layout(Score::kFormat, q.d);
    for (uint32_t t = tokens.first / wide * wide; t < tokens.end; t += wide)
        Score::tile(s + t, q, l, page, t, offset);
}

template <class V, KvKind Kind>
__attribute__((noinline)) void kv_accumulate_form(float *o, uint32_t d, const float *p,
                                                  const uint8_t *page, const KvMeaning &meaning,
                                                  const KvAhead &ahead) {
    KvAccumulateCodes<V, Kind, kKvReadyRows, true>::run(o, d, p, page, meaning, ahead);
}

// ---- one loop per form --------------------------------------------------------------------------

// Returns the first integer kind whose unpacked pages have the form of Kind.
template <class V, KvKind Kind, bool Values, KvKind Like = KvKind::q8_0>
constexpr KvKind kv_first_like() {
    if constexpr (KvCodes<V, Like, Values, true>::kForm == KvCodes<V, Kind, Values, true>::kForm)
        return Like;
    else
        return kv_first_like<V, Kind, Values,
                             static_cast<KvKind>(static_cast<uint32_t>(Like) + 1)>();
}

template <class V, KvKind Kind>
void kv_score_ready(float *s, const KvQuery &q, const uint8_t *page, KvTokens tokens,
                    const KvAhead &) {
    kv_score_form<V, kv_first_like<V, Kind, false>()>(s, q, page, tokens,
                                                      KvCodes<V, Kind, false, true>::kOffset);
}

template <class V, KvKind Kind>
void kv_accumulate_ready(float *o, uint32_t d, const float *p, const uint8_t *page, KvTokens,
                         const KvAhead &ahead) {
    kv_accumulate_form<V, kv_first_like<V, Kind, true>()>(
        o, d, p, page, KvCodes<V, Kind, true, true>::kMeaning, ahead);
}

// ---- tables -------------------------------------------------------------------------------------

template <class V, KvKind Kind> constexpr KvReady kv_ready() {
    if constexpr (V::kReadyTile == 0)
        return {};
    else if constexpr (kv_format(Kind).bits == 0)
        return {kv_ready_float_keys<V, Kind>, kv_ready_float_values<V, Kind>,
                kv_score<V, KvKind::f32, kKvReadyRows>,
                kv_accumulate<V, KvKind::f32, kKvReadyRows>};
    else
        return {kv_ready_keys<V, Kind>, kv_ready_values<V, Kind>, kv_score_ready<V, Kind>,
                kv_accumulate_ready<V, Kind>};
}

} // namespace
} // namespace kernels
} // namespace ggufx
