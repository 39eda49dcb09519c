// Sums of products of int8 on NEON, with sdot (GGUFX_NEON_DOT) and without: there, products are
// added in int16 while they provably fit; |activation| <= 127.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/common.hpp"

#include <arm_neon.h>

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

// Not float32x4x2_t and the like: those want neighbouring registers.
struct F32x8 {
    float32x4_t lo, hi;
};
struct S32x8 {
    int32x4_t lo, hi;
};
struct S16x16 {
    int16x8_t lo, hi;
};
struct S8x32 {
    int8x16_t lo, hi;
};

#ifdef GGUFX_NEON_DOT

struct Products {
    static constexpr unsigned kColumns = 4; // of a tile: the lanes of a register
    static constexpr int kCodeLimit = 255;  // none: every format shares the tile's code

    // Of a group of 16 and of a block of 32, in four partial sums.
    template <class U> static GGUFX_INLINE int32x4_t group_sum(int8x16_t c, int8x16_t q) {
        return vdotq_s32(vdupq_n_s32(0), c, q);
    }
    template <class U>
    static GGUFX_INLINE int32x4_t block_sum(S8x32 c, int8x16_t q0, int8x16_t q1) {
        return vdotq_s32(group_sum<U>(c.lo, q0), c.hi, q1);
    }
    // Neighbours of a added, then neighbours of b.
    static GGUFX_INLINE int32x4_t add_two(int32x4_t a, int32x4_t b) { return vpaddq_s32(a, b); }

    template <int Column, unsigned Columns>
    static GGUFX_INLINE void add_column(S32x8 (&sums)[1][Columns], S8x32 u, int8x16_t q) {
        if constexpr (Column < Columns) {
            S32x8 &s = sums[0][Column];
            s = {vdotq_laneq_s32(s.lo, u.lo, q, Column), vdotq_laneq_s32(s.hi, u.hi, q, Column)};
        }
    }
    // sums[0][c] += codes (four per row of eight, u + 32 * i) times activations of column c (four,
    // q + 4 * Columns * i + 4 * c), i = 0 .. Quads - 1.
    template <class K, size_t Quads, unsigned M, unsigned Columns>
    static GGUFX_INLINE void add_products(S32x8 (&sums)[M][Columns], const uint8_t *u,
                                          const int8_t *q) {
#pragma GCC unroll 8
        for (size_t i = 0; i < Quads; i++) {
            const S8x32 codes = {vreinterpretq_s8_u8(vld1q_u8(u + 32 * i)),
                                 vreinterpretq_s8_u8(vld1q_u8(u + 32 * i + 16))};
            const int8x16_t four = vld1q_s8(q + 4 * Columns * i); // of each column
            add_column<0>(sums, codes, four);
            add_column<1>(sums, codes, four);
            add_column<2>(sums, codes, four);
            add_column<3>(sums, codes, four);
        }
    }
};

#else

struct Products {
    static constexpr unsigned kColumns = 4;
    static constexpr int kCodeLimit = 128; // two products fit int16

    template <class U> static constexpr bool fits(size_t n_products) {
        return n_products * U::kMaxCode * 127 <= INT16_MAX;
    }
    // Eight sums of two products each.
    static GGUFX_INLINE int16x8_t products16(int8x16_t c, int8x16_t q) {
        return vmlal_high_s8(vmull_s8(vget_low_s8(c), vget_low_s8(q)), c, q);
    }
    // Of a group of 16, int16 where four products fit.
    template <class U> static GGUFX_INLINE auto group_sum(int8x16_t c, int8x16_t q) {
        static_assert(fits<U>(2));
        if constexpr (fits<U>(4)) {
            return products16(c, q);
        } else {
            return vpaddlq_s16(products16(c, q));
        }
    }
    // Of a block of 32, int16 where eight products fit.
    template <class U> static GGUFX_INLINE auto block_sum(S8x32 c, int8x16_t q0, int8x16_t q1) {
        static_assert(fits<U>(2));
        const int16x8_t first = products16(c.lo, q0);
        if constexpr (fits<U>(8)) {
            const int16x8_t three = vmlal_s8(first, vget_low_s8(c.hi), vget_low_s8(q1));
            return vmlal_high_s8(three, c.hi, q1);
        } else {
            return vpadalq_s16(vpaddlq_s16(first), products16(c.hi, q1));
        }
    }
    // Neighbours of a added, then neighbours of b, in int32.
    static GGUFX_INLINE int32x4_t add_two(int32x4_t a, int32x4_t b) { return vpaddq_s32(a, b); }
    static GGUFX_INLINE int32x4_t add_two(int16x8_t a, int16x8_t b) {
        return vpaddlq_s16(vpaddq_s16(a, b));
    }

    // N quads of four rows in int16: rows 0 and 1 in lo, 2 and 3 in hi.
    template <size_t N>
    static GGUFX_INLINE S16x16 fold_quads(const int8x16_t *u, const int8x16_t *q) {
        S16x16 s = {vmull_s8(vget_low_s8(u[0]), vget_low_s8(q[0])), vmull_high_s8(u[0], q[0])};
#pragma GCC unroll 8
        for (size_t i = 1; i < N; i++) {
            s.lo = vmlal_s8(s.lo, vget_low_s8(u[2 * i]), vget_low_s8(q[i]));
            s.hi = vmlal_high_s8(s.hi, u[2 * i], q[i]);
        }
        return s;
    }
    // One column of four rows: codes u[2 * i] (four per row) times q[i].
    template <class K, size_t Quads>
    static GGUFX_INLINE int32x4_t add_rows(int32x4_t sums, const int8x16_t *u, const int8x16_t *q) {
        if constexpr (fits<K>(2 * Quads)) {
            const S16x16 s = fold_quads<Quads>(u, q);
            return vpadalq_s16(sums, vpaddq_s16(s.lo, s.hi));
        } else {
            constexpr size_t n = fits<K>(4) && Quads == 4 ? 4 : 2;
            const S16x16 s = fold_quads<n>(u, q);
            int32x4_t lo = vpaddlq_s16(s.lo), hi = vpaddlq_s16(s.hi);
#pragma GCC unroll 4
            for (size_t first = n; first < Quads; first += n) {
                const S16x16 more = fold_quads<n>(u + 2 * first, q + first);
                lo = vpadalq_s16(lo, more.lo);
                hi = vpadalq_s16(hi, more.hi);
            }
            return vaddq_s32(sums, vpaddq_s32(lo, hi));
        }
    }
    // sums[0][c] += codes (four per row of eight, u + 32 * i) times activations of column c (four,
    // q + 4 * Columns * i + 4 * c), i = 0 .. Quads - 1.
    template <class K, size_t Quads, unsigned M, unsigned Columns>
    static GGUFX_INLINE void add_products(S32x8 (&sums)[M][Columns], const uint8_t *u,
                                          const int8_t *q) {
        static_assert(M == 1 && fits<K>(2));
        int8x16_t codes[2 * Quads];
#pragma GCC unroll 16
        for (size_t i = 0; i < 2 * Quads; i++) codes[i] = vreinterpretq_s8_u8(vld1q_u8(u + 16 * i));
#pragma GCC unroll 4
        for (unsigned c = 0; c < Columns; c++) {
            int8x16_t four[Quads];
#pragma GCC unroll 8
            for (size_t i = 0; i < Quads; i++) {
                int32_t v;
                __builtin_memcpy(&v, q + (i * Columns + c) * 4, 4);
                four[i] = vreinterpretq_s8_s32(vdupq_n_s32(v));
            }
            S32x8 &s = sums[0][c];
            s = {add_rows<K, Quads>(s.lo, codes, four), add_rows<K, Quads>(s.hi, codes + 1, four)};
        }
    }
};

#endif

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
