// int8 dot products of NEON, with sdot (GGUFX_NEON_DOT) and without. Without it, products are added
// in int16 while they provably fit; |activation| <= 127. With smmla (GGUFX_NEON_I8MM, which
// includes sdot), tiles use squares of two rows and two columns, see i8mm.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/common.hpp"

#include <arm_neon.h>

namespace ggufx::kernels::neon {
namespace {

// Used instead of float32x4x2_t and the like, which need consecutive registers.
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

struct DotProducts {
    static constexpr unsigned kColumns = 4; // columns per tile: the lanes of a register
    static constexpr int kCodeLimit = 127;  // largest unsigned code of a signed byte
    static constexpr bool kExactDot = true; // exact for all codes: formats share tile code
    static constexpr unsigned kDepth = 4;   // adjacent codes of a row in tiles

    // Sums of a group of 16 and of a block of 32, as four partial sums.
    template <class U> static GGUFX_INLINE int32x4_t group_sum(int8x16_t c, int8x16_t q) {
        return vdotq_s32(vdupq_n_s32(0), c, q);
    }
    template <class U>
    static GGUFX_INLINE int32x4_t block_sum(S8x32 c, int8x16_t q0, int8x16_t q1) {
        return vdotq_s32(group_sum<U>(c.lo, q0), c.hi, q1);
    }
    // Adds adjacent lanes of a, then of b.
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
            // four activations per column; the scales after the codes allow a load of 16 bytes
            const int8x16_t four = vld1q_s8(q + 4 * Columns * i);
            add_column<0>(sums, codes, four);
            add_column<1>(sums, codes, four);
            add_column<2>(sums, codes, four);
            add_column<3>(sums, codes, four);
        }
    }
};

#ifndef GGUFX_NEON_I8MM
using Products = DotProducts;
#endif

#else

struct Products {
    static constexpr unsigned kColumns = 4;
    static constexpr int kCodeLimit = 127; // largest unsigned code of a signed byte
    static constexpr bool kExactDot = false;
    static constexpr unsigned kDepth = 4; // adjacent codes of a row in tiles

    template <class U> static constexpr bool fits(size_t n_products) {
        return n_products * U::kMaxCode * 127 <= INT16_MAX;
    }
    // Eight sums of two products each.
    static GGUFX_INLINE int16x8_t products16(int8x16_t c, int8x16_t q) {
        return vmlal_high_s8(vmull_s8(vget_low_s8(c), vget_low_s8(q)), c, q);
    }
    // Sum of a group of 16, as int16 if four products fit.
    template <class U> static GGUFX_INLINE auto group_sum(int8x16_t c, int8x16_t q) {
        static_assert(fits<U>(2));
        if constexpr (fits<U>(4)) {
            return products16(c, q);
        } else {
            return vpaddlq_s16(products16(c, q));
        }
    }
    // Sum of a block of 32, as int16 if eight products fit.
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
    // Adds adjacent lanes of a, then of b, in int32.
    static GGUFX_INLINE int32x4_t add_two(int32x4_t a, int32x4_t b) { return vpaddq_s32(a, b); }
    static GGUFX_INLINE int32x4_t add_two(int16x8_t a, int16x8_t b) {
        return vpaddlq_s16(vpaddq_s16(a, b));
    }

    // sums[0][c] += codes (four per row of eight, u + 32 * i) times activations of column c (four,
    // q + 4 * Columns * i + 4 * c), i = 0 .. Quads - 1.
    template <class K, size_t Quads, unsigned M, unsigned Columns>
    static GGUFX_INLINE void add_products(S32x8 (&sums)[M][Columns], const uint8_t *u,
                                          const int8_t *q) {
        static_assert(M == 1 && fits<K>(2));
        constexpr size_t n_fit = fits<K>(8) ? 8 : fits<K>(4) ? 4 : 2;
        constexpr size_t n = n_fit < Quads ? n_fit : Quads; // quads added in int16
        S16x16 s[2][Columns];                               // four rows each, two per vector
        if constexpr (n == Quads && fits<K>(2 * n)) {
            add_quads<n>(s, u, q);
#pragma GCC unroll 4
            for (unsigned c = 0; c < Columns; c++) {
                S32x8 &to = sums[0][c];
                to.lo = vpadalq_s16(to.lo, vpaddq_s16(s[0][c].lo, s[0][c].hi));
                to.hi = vpadalq_s16(to.hi, vpaddq_s16(s[1][c].lo, s[1][c].hi));
            }
        } else {
            S32x8 wide[2][Columns];
#pragma GCC unroll 4
            for (size_t first = 0; first < Quads; first += n) {
                add_quads<n>(s, u + 32 * first, q + 4 * Columns * first);
#pragma GCC unroll 4
                for (unsigned c = 0; c < Columns; c++) {
#pragma GCC unroll 2
                    for (unsigned h = 0; h < 2; h++) {
                        S32x8 &to = wide[h][c];
                        const S16x16 &x = s[h][c];
                        to.lo = first == 0 ? vpaddlq_s16(x.lo) : vpadalq_s16(to.lo, x.lo);
                        to.hi = first == 0 ? vpaddlq_s16(x.hi) : vpadalq_s16(to.hi, x.hi);
                    }
                }
            }
#pragma GCC unroll 4
            for (unsigned c = 0; c < Columns; c++) {
                S32x8 &to = sums[0][c];
                to.lo = vaddq_s32(to.lo, vpaddq_s32(wide[0][c].lo, wide[0][c].hi));
                to.hi = vaddq_s32(to.hi, vpaddq_s32(wide[1][c].lo, wide[1][c].hi));
            }
        }
    }

private:
    // N quads of all columns: adds to s or, for the first quad, sets it.
    template <size_t N, unsigned Columns>
    static GGUFX_INLINE void add_quads(S16x16 (&s)[2][Columns], const uint8_t *u, const int8_t *q) {
#pragma GCC unroll 8
        for (size_t i = 0; i < N; i++) {
            const int8x16_t w[2] = {vreinterpretq_s8_u8(vld1q_u8(u + 32 * i)),
                                    vreinterpretq_s8_u8(vld1q_u8(u + 32 * i + 16))};
#pragma GCC unroll 4
            for (unsigned c = 0; c < Columns; c++) {
                const int8_t *four = q + (i * Columns + c) * 4; // aligned like the tile
                const int8x16_t a =
                    vreinterpretq_s8_s32(vld1q_dup_s32(reinterpret_cast<const int32_t *>(four)));
#pragma GCC unroll 2
                for (unsigned h = 0; h < 2; h++) {
                    S16x16 &x = s[h][c];
                    x.lo = i == 0 ? vmull_s8(vget_low_s8(w[h]), vget_low_s8(a))
                                  : vmlal_s8(x.lo, vget_low_s8(w[h]), vget_low_s8(a));
                    x.hi = i == 0 ? vmull_high_s8(w[h], a) : vmlal_high_s8(x.hi, w[h], a);
                }
            }
        }
    }
};

#endif

} // namespace
} // namespace ggufx::kernels::neon
