// Stores codes of sixteen tokens, [coordinate][16] bytes, in the planes of a page, and measures the
// quantization error.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/kv_codes.hpp"
#include "kernels/loops/kv_encode_lanes.hpp"

namespace ggufx {
namespace kernels {
namespace {

// Packs four bytes per lane.
template <class V>
GGUFX_INLINE typename V::Vi four_of(typename V::Vi a, typename V::Vi b, typename V::Vi c,
                                    typename V::Vi d) {
    return V::or_i(V::or_i(a, V::template shift_left<8>(b)),
                   V::or_i(V::template shift_left<16>(c), V::template shift_left<24>(d)));
}

// Packs the eight registers of codes of a strip for a group of tokens in one part of the lanes.
// code: codes of the strip. K: four adjacent coordinates.
template <class V>
GGUFX_INLINE void key_codes(typename V::Vi (&regs)[8], const uint8_t *code, unsigned part) {
    code += part * V::kLanes;
#pragma GCC unroll 8
    for (unsigned i = 0; i < 8; i++, code += 4 * kKvGroup)
        regs[i] = four_of<V>(V::widen_u8(code), V::widen_u8(code + kKvGroup),
                             V::widen_u8(code + 2 * kKvGroup), V::widen_u8(code + 3 * kKvGroup));
}
// V: four adjacent tokens, coordinates in lanes; quad and half of the strip.
template <class V>
GGUFX_INLINE void value_codes(typename V::Vi (&regs)[8], const uint8_t *code, unsigned part) {
    constexpr unsigned L = V::kLanes;
#pragma GCC unroll 2
    for (unsigned half = 0; half < 2; half++)
#pragma GCC unroll 2
        for (unsigned tokens = 0; tokens < kKvGroup; tokens += L) {
            typename V::Vi r[L];
#pragma GCC unroll 16
            for (unsigned i = 0; i < L; i++)
                r[i] = V::widen_u8(code + (half * 16 + part * L + i) * kKvGroup + tokens);
            V::transpose(r);
#pragma GCC unroll 4
            for (unsigned q = 0; q < L / 4; q++)
                regs[(tokens / 4 + q) * 2 + half] =
                    four_of<V>(r[4 * q], r[4 * q + 1], r[4 * q + 2], r[4 * q + 3]);
        }
}

// Stores the low plane and, for 3 and 5 bits, the high plane.
template <class V, uint32_t Bits>
GGUFX_INLINE void store_planes(uint8_t *low, uint8_t *high, const typename V::Vi (&regs)[8]) {
    constexpr unsigned kLow = Bits & ~1u, per = 8 / kLow;
    unrolled<0, kLow>([&](auto stored) __attribute__((always_inline)) {
        constexpr unsigned s = decltype(stored)::value;
        typename V::Vi x = regs[s * per];
        if constexpr (per > 1) {
            const auto mask = V::set1_8((1 << kLow) - 1);
            x = V::and_i(x, mask);
            unrolled<1, per>([&](auto field) __attribute__((always_inline)) {
                constexpr unsigned k = decltype(field)::value;
                x = V::or_i(
                    x, V::template shift_left<int(k * kLow)>(V::and_i(regs[s * per + k], mask)));
            });
        }
        V::store_i(low + s * 64, x);
    });
    if constexpr (Bits % 2) {
        typename V::Vi x = V::zero_i();
        unrolled<0, 8>([&](auto reg) __attribute__((always_inline)) {
            constexpr unsigned i = decltype(reg)::value;
            x = V::or_i(x, V::template shift_left<int(i)>(V::template bit<kLow, 0>(regs[i])));
        });
        V::store_i(high, x);
    }
}

template <class V, uint32_t Bits>
void kv_place_group(const KvTarget &to, const KvLayout &l, const uint8_t *code) {
    constexpr uint32_t kLow = Bits & ~1u;
    const bool k = to.stream == KvStream::k;
    for (uint32_t b = 0; b < l.strips; b++, code += kKvStrip * kKvGroup) {
        const size_t at = k ? to.group * l.strips + b : b * (kKvTokens / kKvGroup) + to.group;
        for (unsigned part = 0; part < kKvParts<V>; part++) {
            typename V::Vi regs[8];
            if (k)
                key_codes<V>(regs, code, part);
            else
                value_codes<V>(regs, code, part);
            uint8_t *page = to.page + part * V::kLanes * 4;
            store_planes<V, Bits>(page + at * (64 * kLow), page + l.high + at * 64, regs);
        }
    }
}

// Integer values of codes.
template <class V, KvKind Kind> struct KvIntegers {
    using I = typename V::Vi;
    static constexpr KvFormat kFormat = kv_format(Kind);
    struct Steps {
        int8_t step[16];
        constexpr Steps() : step() {
            for (unsigned i = 0; i < 16; i++) step[i] = kFormat.step[i % 4];
        }
    };
    static constexpr Steps kSteps = {};
    I table, steps;

    GGUFX_INLINE KvIntegers()
        : table(kFormat.table[0] ? V::load_table(kFormat.table) : V::zero_i()),
          steps(kFormat.trellis ? V::load_table(kSteps.step) : V::zero_i()) {}

    static GGUFX_INLINE I low_byte(I v) {
        return V::template shift_right<24>(V::template shift_left<24>(v));
    }
    // code: [coordinate][16], at the lanes of the part.
    GGUFX_INLINE I at(const uint8_t *code, uint32_t c, uint32_t n, KvStream stream) const {
        const I x = V::widen_u8(code + size_t(c) * kKvGroup);
        if constexpr (kFormat.trellis) {
            const int32_t p = kv_previous(stream, n, c);
            const I before =
                p < 0 ? V::zero_i() : V::widen_u8(code + static_cast<size_t>(p) * kKvGroup);
            return low_byte(V::add8(V::lookup(table, x), V::lookup(steps, before)));
        }
        if constexpr (kFormat.table[0] != 0) return low_byte(V::lookup(table, x));
        return V::sub_i(x, V::set1_i(kFormat.offset));
    }
};

// Returns the address of the sixteen consecutive scales of a group and strip. The minimums are at
// the same distance from l.mins.
GGUFX_INLINE uint8_t *scales_of(const KvTarget &to, const KvFormat &f, const KvLayout &l,
                                uint32_t strip) {
    const uint32_t token = to.group * kKvGroup;
    return to.page + l.scales +
           (to.stream == KvStream::k ? k_scale_at(f, l.strips, token, strip)
                                     : v_scale_at(token, strip));
}

template <class V, KvKind Kind>
void kv_measure(const KvTarget &to, const KvVectors &v, const KvLayout &l, KvLost &lost) {
    static constexpr KvFormat f = kv_format(Kind);
    const KvIntegers<V, Kind> integers;
    for (unsigned part = 0; part < kKvParts<V>; part++) {
        const unsigned lane = part * V::kLanes;
        typename V::Vf error = V::zero(), square = V::zero(), d = V::zero(), min = V::zero();
        for (uint32_t i = 0; i < l.d; i++) {
            if (i % kKvStrip == 0 && (i == 0 || !f.vector_scale)) {
                const uint8_t *scale = scales_of(to, f, l, i / kKvStrip) + lane * 2;
                d = V::mul(V::load_f16(scale), V::set1(f.unit));
                if constexpr (f.mins) min = V::load_f16(scale + (l.mins - l.scales));
            }
            const auto x = V::load(v.x + size_t(i) * kKvGroup + lane);
            auto decoded = V::mul(V::to_float(integers.at(v.code + lane, i, l.d, to.stream)), d);
            if constexpr (f.mins) decoded = V::add(decoded, min);
            const auto rest = V::sub(x, decoded);
            error = V::add(error, V::mul(rest, rest));
            square = V::add(square, V::mul(x, x));
        }
        V::store(lost.error + lane, error);
        V::store(lost.square + lane, square);
    }
}

} // namespace
} // namespace kernels
} // namespace ggufx
