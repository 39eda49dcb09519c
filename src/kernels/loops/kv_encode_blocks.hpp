// KV cache encoders with blocks of 32 for sixteen tokens: Q8_0, Q5_1, Q5_0, Q4_1, Q4_0, IQ4_NL and
// TQ3_0. Comparisons match those of kernels/scalar one by one, so that NaN and zeros of either sign
// give the same results.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/kv_encode_place.hpp"

namespace ggufx {
namespace kernels {
namespace {

// A strip of 32 coordinates in one part of the lanes, and the destinations of its codes, scales and
// minimums.
struct KvStripOf {
    const float *x;
    uint8_t *code, *scale, *min;
    template <class V> GGUFX_INLINE typename V::Vf at(uint32_t i) const {
        return V::load(x + size_t(i) * kKvGroup);
    }
    template <class V> GGUFX_INLINE void put(uint32_t i, typename V::Vi c) const {
        V::store_bytes(code + size_t(i) * kKvGroup, c);
    }
};

// Stores an f16. Values out of range become the largest f16, NaN the lowest.
template <class V> GGUFX_INLINE void store_scale(uint8_t *to, typename V::Vf v) {
    const auto least = V::set1(-kKvLargestHalf), most = V::set1(kKvLargestHalf);
    v = V::pick(V::lt(least, v), v, least);
    V::store_half(to, V::pick(V::lt(v, most), v, most));
}

template <class V> GGUFX_INLINE typename V::Vf inverse_of(typename V::Vf d) {
    const auto zero = V::zero();
    return V::pick(V::both(V::le(d, zero), V::le(zero, d)), zero, V::div(V::set1(1.0f), d));
}

// Rounds half away from zero; V::to_int for whole values. Adds the largest float below 0.5. By
// rounding to even it carries halves to the next integer, and nothing less.
template <class V> GGUFX_INLINE typename V::Vi round_away(typename V::Vf v) {
    return V::to_int(V::add(v, V::with_sign_of(0x1.fffffep-2f, v)));
}

template <class V> GGUFX_INLINE typename V::Vi signed_byte(typename V::Vi v) {
    return V::template shift_right<24>(V::template shift_left<24>(v));
}

template <class V> GGUFX_INLINE typename V::Vf largest_of(const KvStripOf &s) {
    auto most = V::zero();
#pragma GCC unroll 4
    for (uint32_t i = 0; i < kKvStrip; i++)
        most = V::greater(V::absolute(s.template at<V>(i)), most);
    return most;
}
// With its sign, the first of equals.
template <class V> GGUFX_INLINE typename V::Vf signed_largest_of(const KvStripOf &s) {
    auto most = V::zero(), value = V::zero();
    for (uint32_t i = 0; i < kKvStrip; i++) {
        const auto x = s.template at<V>(i), magnitude = V::absolute(x);
        const auto better = V::lt(most, magnitude);
        most = V::pick(better, magnitude, most);
        value = V::pick(better, x, value);
    }
    return value;
}

template <class V> GGUFX_INLINE void encode_q8_0_strip(const KvStripOf &s) {
    const auto d = V::div(largest_of<V>(s), V::set1(127.0f)), id = inverse_of<V>(d);
    store_scale<V>(s.scale, d);
#pragma GCC unroll 4
    for (uint32_t i = 0; i < kKvStrip; i++) {
        const auto q = V::add_i(round_away<V>(V::mul(s.template at<V>(i), id)), V::set1_i(128));
        s.template put<V>(i, V::and_i(q, V::set1_i(255)));
    }
}

template <class V, int Half> GGUFX_INLINE void encode_signed_strip(const KvStripOf &s) {
    const auto d = V::div(signed_largest_of<V>(s), V::set1(-static_cast<float>(Half)));
    const auto id = inverse_of<V>(d), shift = V::set1(static_cast<float>(Half) + 0.5f);
    const auto most = V::set1_i(2 * Half - 1);
    store_scale<V>(s.scale, d);
    for (uint32_t i = 0; i < kKvStrip; i++) {
        const auto q = V::to_int(V::add(V::mul(s.template at<V>(i), id), shift));
        s.template put<V>(i, V::and_i(V::min_i(signed_byte<V>(q), most), most));
    }
}

template <class V, int Most> GGUFX_INLINE void encode_line_strip(const KvStripOf &s) {
    auto least = V::set1(kMostFloat), most = V::set1(-kMostFloat);
    for (uint32_t i = 0; i < kKvStrip; i++) {
        const auto x = s.template at<V>(i);
        least = V::pick(V::lt(x, least), x, least);
        most = V::greater(x, most);
    }
    const auto d = V::div(V::sub(most, least), V::set1(static_cast<float>(Most)));
    const auto id = inverse_of<V>(d);
    const auto mask = V::set1_i(Most);
    store_scale<V>(s.scale, d);
    store_scale<V>(s.min, least);
    for (uint32_t i = 0; i < kKvStrip; i++) {
        const auto y = V::mul(V::sub(s.template at<V>(i), least), id);
        auto q = V::to_int(V::add(y, V::set1(0.5f)));
        if constexpr (Most == 15) q = V::min_i(signed_byte<V>(q), mask);
        s.template put<V>(i, V::and_i(q, mask));
    }
}

template <class V> GGUFX_INLINE void encode_iq4_nl_strip(const KvStripOf &s) {
    static constexpr KvFormat f = kv_format(KvKind::iq4_nl);
    const auto table = V::load_table(f.table);
    const auto d = V::div(signed_largest_of<V>(s), V::set1(-127.0f)), id = inverse_of<V>(d);
    const auto usable = V::le(V::absolute(id), V::set1(0x1p100f));
    auto qx = V::zero(), q2 = V::zero();
    for (uint32_t i = 0; i < kKvStrip; i++) {
        const auto y = V::pick(usable, V::mul(s.template at<V>(i), id), V::zero());
        auto code = V::zero_i();
#pragma GCC unroll 16
        for (unsigned c = 1; c < 16; c++) {
            const auto middle = V::set1(static_cast<float>(f.table[c - 1] + f.table[c]) * 0.5f);
            code = V::count(V::le(middle, y), code);
        }
        s.template put<V>(i, code);
        const auto q = V::to_float(signed_byte<V>(V::lookup(table, code))), w = V::mul(y, y);
        qx = V::add(qx, V::mul(V::mul(w, q), y));
        q2 = V::add(q2, V::mul(V::mul(w, q), q));
    }
    const auto fitted = V::mul(d, V::div(qx, q2));
    store_scale<V>(s.scale, V::pick(V::lt(V::zero(), q2), fitted, V::zero()));
}

template <class V> GGUFX_INLINE typename V::Vi tq3_code(typename V::Vf u) {
    const auto t = V::set1(kTq3Threshold);
    const auto low = V::pick_i(V::lt(u, V::flip(t)), V::set1_i(0), V::set1_i(1));
    const auto high = V::pick_i(V::lt(u, t), V::set1_i(2), V::set1_i(3));
    return V::pick_i(V::lt(u, V::zero()), low, high);
}

template <class V> GGUFX_INLINE void put_tq3_codes(const KvStripOf &s, typename V::Vf d) {
    const auto levels = V::load_four(kTq3Levels);
    const auto positive = V::lt(V::zero(), d);
    const auto id = V::pick(positive, V::div(V::set1(1.0f), d), V::zero());
    for (uint32_t i = 0; i < kKvStrip; i++) {
        const auto r = s.template at<V>(i);
        const auto code = tq3_code<V>(V::mul(r, id));
        const auto rest = V::sub(r, V::mul(d, V::choose(levels, code)));
        const auto bit = V::pick_i(V::le(V::zero(), rest), V::set1_i(4), V::zero_i());
        s.template put<V>(i, V::or_i(code, bit));
    }
    const auto most = V::set1(kKvLargestHalf);
    V::store_half(s.scale, V::pick(V::lt(d, most), d, most));
}

template <class V, bool Fitted> GGUFX_INLINE void encode_tq3_strip(const KvStripOf &s) {
    const auto levels = V::load_four(kTq3Levels);
    const auto outer = V::div(largest_of<V>(s), V::set1(kTq3Outer));
    const auto large = V::le(V::set1(0x1p-60f), outer);
    auto best = outer, best_gain = V::zero();
    for (uint32_t fit = kTq3FirstFit; Fitted && fit <= kTq3LastFit; fit++) {
        const auto d = V::mul(outer, V::set1(static_cast<float>(fit) * 0.05f));
        const auto id = V::div(V::set1(1.0f), d);
        auto rc = V::zero(), cc = V::zero();
#pragma GCC unroll 4
        for (uint32_t i = 0; i < kKvStrip; i++) {
            const auto y = V::mul(s.template at<V>(i), id);
            const auto level = V::choose(levels, tq3_code<V>(y));
            rc = V::add(rc, V::mul(y, level));
            cc = V::add(cc, V::mul(level, level));
        }
        const auto fitted = V::mul(d, V::div(rc, cc)), gain = V::mul(fitted, V::mul(rc, d));
        const auto better = V::both(large, V::lt(best_gain, gain));
        best_gain = V::pick(better, gain, best_gain);
        best = V::pick(better, fitted, best);
    }
    put_tq3_codes<V>(s, best);
}

template <class V, KvKind Kind, bool Fitted> GGUFX_INLINE void encode_strip(const KvStripOf &s) {
    if constexpr (Kind == KvKind::q8_0) encode_q8_0_strip<V>(s);
    if constexpr (Kind == KvKind::q5_1) encode_line_strip<V, 31>(s);
    if constexpr (Kind == KvKind::q5_0) encode_signed_strip<V, 16>(s);
    if constexpr (Kind == KvKind::q4_1) encode_line_strip<V, 15>(s);
    if constexpr (Kind == KvKind::q4_0) encode_signed_strip<V, 8>(s);
    if constexpr (Kind == KvKind::iq4_nl) encode_iq4_nl_strip<V>(s);
    if constexpr (Kind == KvKind::tq3_0 || Kind == KvKind::tq3_0_residual)
        encode_tq3_strip<V, Fitted>(s);
}

template <class V, KvKind Kind, bool Fitted>
void kv_encode_blocks(const KvTarget &to, const KvVectors &v, uint32_t n, KvLost &lost) {
    static constexpr KvFormat f = kv_format(Kind);
    const KvLayout l = kv_layout_codes(f, n);
    for (uint32_t b = 0; b < l.strips; b++)
        for (unsigned part = 0; part < kKvParts<V>; part++) {
            const size_t at = size_t(b) * (kKvStrip * kKvGroup) + part * V::kLanes;
            uint8_t *scale = scales_of(to, f, l, b) + part * V::kLanes * 2;
            const KvStripOf strip = {v.x + at, v.code + at, scale, scale + (l.mins - l.scales)};
            encode_strip<V, Kind, Fitted>(strip);
        }
    kv_place_group<V, f.bits>(to, l, v.code);
    kv_measure<V, Kind>(to, v, l, lost);
}

} // namespace
} // namespace kernels
} // namespace ggufx
