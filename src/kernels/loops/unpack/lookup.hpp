// Types with 4-bit codes that index a table of values: IQ4_NL, IQ4_XS, MXFP4, NVFP4.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/unpack/parts.hpp"

namespace ggufx::kernels::GGUFX_SET {
namespace {

// Base with 16 bytes of codes per 32 values and values of Table. (Tiles split nibbles themselves.)
template <class Base, const int8_t *Table> struct LookedUp : Base {
    static GGUFX_INLINE Vec::V8 codes_of_nibbles(Vec::V8 v) {
        return Vec::look_up(Table, v, Base::kOffset);
    }
    static GGUFX_INLINE void load_u8(Vec::V8 (&c)[4], const typename Base::Block *b, unsigned i) {
        load_all_nibbles<Base>(c, b, i);
#pragma GCC unroll 4
        for (auto &codes : c) codes = codes_of_nibbles(codes);
    }
};

template <>
struct Unpack<fmt::IQ4_NL>
    : LookedUp<PlainBlocks<Vec, fmt::IQ4_NL, 128, 241, true>, fmt::kCodesIq4> {
    static GGUFX_INLINE Scales load_scales(const Block *b) { return {gather_d(b)}; }
};

template <>
struct Unpack<fmt::IQ4_XS>
    : LookedUp<ScaledCodes<Vec, fmt::IQ4_XS, 128, 241, true>, fmt::kCodesIq4> {
    // 6-bit scales: a nibble and two bits, from the first and the last block of a step.
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        const Block &last = b[kStepBlocks - 1];
        const Vi low = lane_fields<4>(load_u32le(b->scales_l), load_u32le(last.scales_l));
        const Vi high =
            lane_fields<2>(load_u16le(b->scales_h) << 4u, load_u16le(last.scales_h) << 4u);
        const Vi six = add_i(and_i(low, 15), and_i(high, 0x30));
        return {gather_d<8>(b), sub_i(six, set1_i(32))};
    }
};

template <>
struct Unpack<fmt::MXFP4> : LookedUp<PlainBlocks<Vec, fmt::MXFP4, 12, 24, true>, fmt::kCodesFp4> {
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {power(gather_bytes(&b->e, sizeof(Block)))};
    }
    // 2^(e - 128): the maximum of the bits of a normal number and, for e = 0 and 1, a subnormal.
    static GGUFX_INLINE Vf power(Vi e) {
        const Vi one = set1_i(1);
        return as_float(max_i(shift_left<23>(sub_i(e, one)), shift_left<21>(add_i(e, one))));
    }
};

// Codes of MXFP4 in groups of 16, each with a UE4M3 scale.
template <> struct Unpack<fmt::NVFP4> : FloatGroups<Vec, fmt::NVFP4, 12, 24, true> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            const V8 codes = load_nibbles8(codes_at(b, i, j), far_codes());
            c[j] = look_up(fmt::kCodesFp4, codes, kOffset);
        }
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {{ue4m3(b), ue4m3(b + kStepBlocks / 2)}};
    }
    // Halved UE4M3 of kLanes groups; bytes 0 and 0x7f are 0, bit 7 is ignored.
    static GGUFX_INLINE Vf ue4m3(const Block *b) {
        const Vi u = gather_fours(b->d, sizeof(Block)), m = and_i(u, 0x7f);
        const Vf normal = as_float(add_i(shift_left<20>(m), set1_i((127 - 8) << 23)));
        const Vf small = mul(to_float(m), set1(0x1p-10f));
        return select_equal(u, 0x7f, zero(), select_less(m, 8, small, normal));
    }
};

} // namespace
} // namespace ggufx::kernels::GGUFX_SET
