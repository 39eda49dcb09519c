// Products of tiles with smmla: one instruction adds eight products to each of four sums, those of
// two rows and two columns; sdot adds four. Codes and activations are in groups of eight.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/neon/products.hpp"

#ifdef GGUFX_NEON_I8MM

namespace ggufx::kernels::neon {
namespace {

struct Products : DotProducts {
    static constexpr unsigned kDepth = 8;

    // sums[0][c] += codes (eight per row of eight, u + 64 * i) times activations of column c
    // (eight, q + 8 * Columns * i + 8 * c), i = 0 .. Quads / 2 - 1. On entry, all lanes of a sum
    // are equal, except if a high plane was added.
    template <class K, size_t Quads, unsigned M, unsigned Columns>
    static GGUFX_INLINE void add_products(S32x8 (&sums)[M][Columns], const uint8_t *u,
                                          const int8_t *q) {
        static_assert(M == 1 && Quads % 2 == 0);
        constexpr unsigned n_pairs = (Columns + 1) / 2;
        int32x4_t squares[n_pairs][4]; // two columns times two rows: c0 r0, c0 r1, c1 r0, c1 r1
#pragma GCC unroll 2
        for (unsigned p = 0; p < n_pairs; p++) {
            const unsigned second = 2 * p + 1 < Columns ? 2 * p + 1 : 2 * p;
            const S32x8 &a = sums[0][2 * p], &b = sums[0][second];
#pragma GCC unroll 4
            for (unsigned r = 0; r < 4; r++) {
                const bool high = K::kPlanes == 2 && r >= 2;
                squares[p][r] =
                    column(K::kPlanes == 2 && r % 2, high ? a.hi : a.lo, high ? b.hi : b.lo);
            }
        }
#pragma GCC unroll 4
        for (size_t i = 0; i < Quads / 2; i++) {
            int8x16_t rows[4];
#pragma GCC unroll 4
            for (unsigned r = 0; r < 4; r++) {
                rows[r] = vreinterpretq_s8_u8(vld1q_u8(u + 64 * i + 16 * r));
            }
#pragma GCC unroll 2
            for (unsigned p = 0; p < n_pairs; p++) {
                // an odd last column is paired with the data after it: the next eight or, at the
                // end, scales; the sums of that data are dropped
                const int8x16_t columns = vld1q_s8(q + 8 * Columns * i + 16 * p);
#pragma GCC unroll 4
                for (unsigned r = 0; r < 4; r++) {
                    squares[p][r] = vmmlaq_s32(squares[p][r], columns, rows[r]);
                }
            }
        }
#pragma GCC unroll 4
        for (unsigned c = 0; c < Columns; c++) {
            const int32x4_t(&from)[4] = squares[c / 2];
            sums[0][c] = {column(c % 2, from[0], from[1]), column(c % 2, from[2], from[3])};
        }
    }

private:
    // One column of two squares: four rows. (Or halves of two vectors.)
    static GGUFX_INLINE int32x4_t column(unsigned odd, int32x4_t a, int32x4_t b) {
        const int64x2_t x = vreinterpretq_s64_s32(a), y = vreinterpretq_s64_s32(b);
        return vreinterpretq_s32_s64(odd ? vtrn2q_s64(x, y) : vtrn1q_s64(x, y));
    }
};

} // namespace
} // namespace ggufx::kernels::neon

#endif
