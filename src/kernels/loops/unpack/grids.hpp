// IQ types with codebooks: their scales; load_grid of the set loads the codes.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/unpack/parts.hpp"

namespace ggufx::kernels::GGUFX_SET {
namespace {

// Returns 2 * s + 1 for the top nibbles s of words.
GGUFX_INLINE Vec::Vi odd_tops(Vec::Vi words) {
    return odd<Vec>(Vec::and_i(Vec::template shift_right<28>(words), 15));
}
template <class Block> GGUFX_INLINE Vec::Vf d_times(const Block *b, float factor) {
    return Vec::mul(gather_d<8>(b), Vec::set1(factor));
}

// Base with codes from a grid.
template <class Base> struct OnGrid : Base {
    static GGUFX_INLINE void load_u8(Vec::V8 (&c)[4], const typename Base::Block *b, unsigned i) {
        load_grid<Base>(c, b, i);
    }
};

template <>
struct Unpack<fmt::IQ2_XXS> : OnGrid<ScaledCodes<Vec, fmt::IQ2_XXS, 64, 64 + 43, true>> {
    static GGUFX_INLINE Scales load_scales(const Block *b) { // top bits of the words of signs
        return {d_times(b, 0.125f), odd_tops(load_odd_words(b->qs, sizeof(Block)))};
    }
};

template <>
struct Unpack<fmt::IQ3_XXS> : OnGrid<ScaledCodes<Vec, fmt::IQ3_XXS, 64, 64 + 62, true>> {
    static GGUFX_INLINE Scales load_scales(const Block *b) { // top bits of the words of signs
        return {d_times(b, 0.25f), odd_tops(load_words(b->gas, sizeof(Block)))};
    }
};

template <> struct Unpack<fmt::IQ3_S> : OnGrid<ScaledCodes<Vec, fmt::IQ3_S, 16, 16 + 15, true>> {
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        const uint32_t first = load_u32le(b->scales), last = load_u32le(b[kStepBlocks - 1].scales);
        return {gather_d<8>(b), odd<Vec>(and_i(lane_fields<4>(first, last), 15))};
    }
};

template <> struct Unpack<fmt::IQ1_S> : OnGrid<ScaledCodes<Vec, fmt::IQ1_S, 16, 16 + 9, true>> {
    static GGUFX_INLINE Scales load_scales(const Block *b) { // in the words of high index bits
        const auto words = (As<uint16_t, Sixteen>)sixteen_at(b, __builtin_offsetof(Block, qh));
        return {d_times(b, 0.125f), odd<Vec>(widen_words((Sixteen)(words >> 12 & 7)))};
    }
};

// 4-bit scales per 16 values.
template <class F>
struct NibbleScales : OnGrid<ScaledGroups<Unpack<F>, Vec, F, 64, 64 + 43, true>> {
    using Block = typename F::Block;
    static GGUFX_INLINE Vec::Vf block_d(const Block *b) { return d_times(b, 0.125f); }
    static GGUFX_INLINE Vec::Sixteen groups(const Block *b) { // 2 * s + 1
        static_assert(__builtin_offsetof(Block, scales) + 8 == sizeof(Block));
        const auto v = NibbleScales::sixteen_at(b, sizeof(Block) - 16);
        const auto twice = (As<uint16_t, Vec::Sixteen>)
            Vec::pick<8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15>(v);
        return (Vec::Sixteen)((twice & 0x000f) << 1 | (twice >> 3 & 0x1e00) | 0x0101);
    }
};
template <> struct Unpack<fmt::IQ2_XS> : NibbleScales<fmt::IQ2_XS> {};
template <> struct Unpack<fmt::IQ2_S> : NibbleScales<fmt::IQ2_S> {};

// Four words, each with four 3-bit scales, and d in the top nibbles.
template <>
struct Unpack<fmt::IQ1_M>
    : OnGrid<ScaledGroups<Unpack<fmt::IQ1_M>, Vec, fmt::IQ1_M, 16, 16 + 9, true>> {
    static GGUFX_INLINE Vf block_d(const Block *b) {
        const HalfBytes d[2] = {iq1_m_d(b[0]), iq1_m_d(b[kStepBlocks - 1])};
        return mul(block_f16(d[0].bits, sizeof d[0]), set1(0.125f));
    }
    static GGUFX_INLINE Sixteen groups(const Block *b) { // 2 * s + 1
        static_assert(__builtin_offsetof(Block, scales) + 8 == sizeof(Block));
        using Pairs = As<uint16_t, Sixteen>;
        const auto v = (Pairs)pick<8, 9, 8, 9, 10, 11, 10, 11, 12, 13, 12, 13, 14, 15, 14, 15>(
            sixteen_at(b, sizeof(Block) - 16));
        // moves fields 0 and 2, 1 and 3 of a word to the top
        const Pairs even = v * repeat<Sixteen, uint16_t, 1u << 13, 1u << 7, 1u << 13, 1u << 7,
                                      1u << 13, 1u << 7, 1u << 13, 1u << 7>();
        const Pairs odd = v * repeat<Sixteen, uint16_t, 1u << 10, 1u << 4, 1u << 10, 1u << 4,
                                     1u << 10, 1u << 4, 1u << 10, 1u << 4>();
        return (Sixteen)((even >> 13 << 1) | (odd >> 13 << 9) | 0x0101);
    }
};

} // namespace
} // namespace ggufx::kernels::GGUFX_SET
