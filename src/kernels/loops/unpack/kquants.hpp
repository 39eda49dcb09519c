// K-quants: super-blocks of 256 values, Q2_K to Q6_K.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/unpack/parts.hpp"

namespace ggufx::kernels::GGUFX_SET {
namespace {

// Q4_K and Q5_K start with 16 bytes of d, dmin and 6-bit scales and minimums. Their words:
// - d and dmin;
// - low six bits of scales 0..3;
// - low six bits of minimums 0..3 (the upper two bits of both words belong to 4..7);
// - low nibbles of scales and minimums 4..7.
template <class F, int MaxCode> struct SixBitBlocks : ScaledBlocks<Vec, F, MaxCode> {
    using Scales = typename ScaledBlocks<Vec, F, MaxCode>::Scales;
    using Sixteen = Vec::Sixteen;
    static GGUFX_INLINE Scales load_scales(const typename F::Block *b) {
        const Sixteen head = SixBitBlocks::sixteen_at(b, 0), six = eights(head);
        Vec::Vf d[2];
        Vec::first_f16(d, head);
        return {d[0], d[1], Vec::widen_first(six), Vec::to_float(Vec::widen_last(six))};
    }
    // 8 scales, 8 minimums.
    static GGUFX_INLINE Sixteen eights(Sixteen head) {
        using Words = As<uint32_t, Sixteen>;
        const auto l =
            (Words)Vec::pick<4, 5, 6, 7, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15>(head);
        const auto h = (Words)Vec::pick<4, 5, 6, 7, 4, 5, 6, 7, 8, 9, 10, 11, 8, 9, 10, 11>(head);
        constexpr auto shifts = repeat<Sixteen, uint32_t, 0, 0, 0, 4>();
        constexpr uint32_t six = 0x3f3f3f3f, four = 0x0f0f0f0f, two = 0x30303030;
        return (Sixteen)((l >> shifts & repeat<Sixteen, uint32_t, six, four, six, four>()) |
                         (h >> 2 & repeat<Sixteen, uint32_t, 0, two, 0, two>()));
    }
};

template <> struct Unpack<fmt::Q4_K> : SixBitBlocks<fmt::Q4_K, 15> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const uint8_t *qs = block_at(b, i).qs + in_half(i, 64);
        const V8 first = load_codes(qs, 64), second = load_codes(qs + 32, 64);
        c[0] = low_nibbles(first);
        c[1] = high_nibbles(first);
        c[2] = low_nibbles(second);
        c[3] = high_nibbles(second);
    }
};

// Fifth bits in a plane: bit g for group g of 32.
template <> struct Unpack<fmt::Q5_K> : SixBitBlocks<fmt::Q5_K, 31> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const uint8_t *qs = block_at(b, i).qs + in_half(i, 64);
        const V8 first = load_codes(qs, 64), second = load_codes(qs + 32, 64);
        const V8 high = load_planes(block_at(b, i).qh, i);
        c[0] = join<0, 4, 0, 5>(first, high);
        c[1] = join<4, 4, 1, 5>(first, high);
        c[2] = join<0, 4, 2, 5>(second, high);
        c[3] = join<4, 4, 3, 5>(second, high);
    }
};

// Half a block has 64 bytes of low nibbles and 32 bytes of four 2-bit planes.
template <> struct Unpack<fmt::Q6_K> : ScaledGroups<Unpack<fmt::Q6_K>, Vec, fmt::Q6_K, 32, 63> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const uint8_t *ql = block_at(b, i).ql + in_half(i, 64);
        const V8 first = load_codes(ql, 64), second = load_codes(ql + 32, 64);
        const V8 high = load_codes(block_at(b, i).qh + in_half(i, 32), 32);
        c[0] = join<0, 4, 0, 6>(first, high);
        c[1] = join<0, 4, 2, 6>(second, high);
        c[2] = join<4, 4, 4, 6>(first, high);
        c[3] = join<4, 4, 6, 6>(second, high);
    }
    static GGUFX_INLINE Sixteen groups(const Block *b) {
        return sixteen_at(b, __builtin_offsetof(Block, scales));
    }
};

// 2-bit planes; 4-bit scales and minimums.
template <> struct Unpack<fmt::Q2_K> : FoldedGroups<Unpack<fmt::Q2_K>, Vec, fmt::Q2_K, 0, 3> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        two_bit_planes<Vec>(c, load_codes(block_at(b, i).qs + in_half(i, 32), 32));
    }
    static GGUFX_INLINE Sixteen groups(const Block *b) { return sixteen_at(b, 0) & 15; }
    static GGUFX_INLINE Sixteen mins(const Block *b) { return sixteen_at(b, 0) >> 4; }
};

// 2-bit planes, third bits in a separate plane; 6-bit scales -32..31.
template <> struct Unpack<fmt::Q3_K> : FoldedGroups<Unpack<fmt::Q3_K>, Vec, fmt::Q3_K, 4, 7> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const V8 low = load_codes(block_at(b, i).qs + in_half(i, 32), 32);
        const V8 high = load_planes(block_at(b, i).hmask, i);
        c[0] = join<0, 2, 0, 3>(low, high);
        c[1] = join<2, 2, 1, 3>(low, high);
        c[2] = join<4, 2, 2, 3>(low, high);
        c[3] = join<6, 2, 3, 3>(low, high);
    }
    // Low nibbles in 8 bytes, four 2-bit planes in 4 bytes.
    static GGUFX_INLINE Sixteen groups(const Block *b) {
        using Words = As<uint32_t, Sixteen>;
        const Sixteen v = sixteen_at(b, __builtin_offsetof(Block, scales) - 4); // d follows
        const auto l = (Words)pick<4, 5, 6, 7, 8, 9, 10, 11, 4, 5, 6, 7, 8, 9, 10, 11>(v);
        const auto h =
            (Words)pick<12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15>(v);
        const Words low = l >> repeat<Sixteen, uint32_t, 0, 0, 4, 4>() & 0x0f0f0f0f;
        const Words high = h >> repeat<Sixteen, uint32_t, 0, 2, 4, 6>() & 0x03030303;
        return (Sixteen)(low | high << 4) - 32;
    }
};

} // namespace
} // namespace ggufx::kernels::GGUFX_SET
