// Products of tiles on AVX2. Controls which values stay in the sixteen registers. Otherwise gcc
// computes all products of a block before it adds them: 118 stack accesses per block, Q4_0 at 0.57
// of the peak instead of 0.76 (tests/bench/README.md).
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx2/vec.hpp"
#include "kernels/loops/gemm_tile.hpp"

namespace ggufx::kernels {
namespace {

template <> struct TileProducts<avx2::Vec> : avx2::Vec {
    using V = avx2::Vec;
    static constexpr bool kOffsetLast = true; // a sum with its offset would occupy a register

    // Sums of products of 5-bit codes over a whole group exceed int16. But int16 additions are
    // modulo 2^16. If kCentre times the activations is subtracted at the start, the final sum is
    // small again and exact, whatever the intermediate values. 0: not needed, or too large.
    template <class U>
    static constexpr int kCentre = [] {
        constexpr int centre = U::kOffset ? U::kOffset : (U::kMaxCode + 1) / 2;
        constexpr int above = U::kMaxCode - centre, most = above > centre ? above : centre;
        constexpr int n = static_cast<int>(U::kGroup) / 2; // products in one int16
        if (U::kSigned || U::kPlanes != 1 || n * 127 * U::kMaxCode <= 32767) return 0;
        if (U::kShifts != 0 && U::kGroup == 16) return 0;
        return n * 127 * most <= 32767 ? centre : 0;
    }();
    // Initial int16 values of a group of 32 values or two of 16: -centre times the activations of
    // values 0 and 1 of each four (low half) and of 2 and 3.
    static GGUFX_INLINE void centre_sums(int32_t (&to)[2], const int8_t *q, int centre,
                                         unsigned group) {
        __m256i v = _mm256_maddubs_epi16(_mm256_set1_epi8(1), V::load32(q));
        v = _mm256_add_epi16(v, _mm256_shuffle_epi32(v, 0x4e));
        v = _mm256_add_epi16(v, _mm256_shuffle_epi32(v, 0xb1));
        v = _mm256_mullo_epi16(v, _mm256_set1_epi16(static_cast<int16_t>(-centre)));
        __m128i first = _mm256_castsi256_si128(v);
        const __m128i second = _mm256_extracti128_si256(v, 1);
        if (group == 32) first = _mm_add_epi16(first, second);
        to[0] = _mm_cvtsi128_si32(first);
        to[1] = _mm_cvtsi128_si32(second);
    }

    // sums[m][c] = sum of codes (four per lane, u + 64 * i + 32 * m for M = 2) times activations of
    // column c (four, q + 4 * Columns * i + 4 * c), i = 0 .. Quads - 1. With Add, this is added to
    // sums. As many products as fit are added in int16. `centre`: one per column, if K::kCentred.
    template <class K, size_t Quads, bool Add, unsigned M, unsigned Columns>
    static GGUFX_INLINE void set_products(Vi (&sums)[M][Columns], const uint8_t *u, const int8_t *q,
                                          const int32_t *centre) {
        constexpr size_t n_fit = 32767 / (2 * 127 * K::kMaxCode);
        constexpr size_t n_fold = n_fit >= 8 ? 8 : n_fit >= 4 ? 4 : n_fit >= 2 ? 2 : 1;
        if constexpr (K::kCentred || n_fold >= Quads) {
            set_small<K, Quads, Add>(sums, u, q, centre);
        } else {
#pragma GCC unroll 8
            for (size_t i = 0; i < Quads; i += n_fold) {
#pragma GCC unroll 2
                for (unsigned m = 0; m < M; m++) {
                    add_some<K, n_fold, M>(sums[m], u + (i * M + m) * 32, q + 4 * Columns * i,
                                           !Add && i == 0);
                }
            }
        }
    }

    // All products fit int16: each code is multiplied by all columns at once.
    template <class K, size_t Quads, bool Add, unsigned M, unsigned Columns>
    static GGUFX_INLINE void set_small(Vi (&sums)[M][Columns], const uint8_t *u, const int8_t *q,
                                       const int32_t *centre) {
        __m256i pairs[M][Columns];
#pragma GCC unroll 8
        for (size_t i = 0; i < Quads; i++) {
            V8 w[M];
#pragma GCC unroll 2
            for (unsigned m = 0; m < M; m++) w[m] = V::load32(u + (i * M + m) * 32);
#pragma GCC unroll 4
            for (unsigned c = 0; c < Columns; c++) {
                const __m256i a = four_of(q, i * Columns + c);
#pragma GCC unroll 2
                for (unsigned m = 0; m < M; m++) {
                    const __m256i p = V::template products<K>(w[m], a);
                    if (K::kCentred && i == 0) pairs[m][c] = _mm256_set1_epi32(centre[c]);
                    pairs[m][c] = i == 0 && !K::kCentred ? p : _mm256_add_epi16(pairs[m][c], p);
                    stay_in_register(pairs[m][c]);
                }
            }
        }
#pragma GCC unroll 4
        for (unsigned c = 0; c < Columns; c++) {
#pragma GCC unroll 2
            for (unsigned m = 0; m < M; m++) {
                const __m256i s = _mm256_madd_epi16(pairs[m][c], _mm256_set1_epi16(1));
                sums[m][c] = Add ? _mm256_add_epi32(sums[m][c], s) : s;
            }
        }
    }
    // N quads of one vector of rows. The codes stay in registers and columns follow one another,
    // because sums and pairs together would need too many registers.
    template <class K, size_t N, unsigned M, unsigned Columns>
    static GGUFX_INLINE void add_some(Vi (&sums)[Columns], const uint8_t *u, const int8_t *q,
                                      bool first) {
        V8 w[N];
#pragma GCC unroll 4
        for (size_t i = 0; i < N; i++) w[i] = V::load32(u + i * M * 32);
#pragma GCC unroll 4
        for (unsigned c = 0; c < Columns; c++) {
            __m256i pairs = V::template products<K>(w[0], four_of(q, c));
#pragma GCC unroll 4
            for (size_t i = 1; i < N; i++) {
                pairs = _mm256_add_epi16(
                    pairs, V::template products<K>(w[i], four_of(q, i * Columns + c)));
            }
            const __m256i s = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
            sums[c] = first ? s : _mm256_add_epi32(sums[c], s);
            stay_in_register(sums[c]);
        }
    }
    // Forces v into a register. Otherwise gcc computes all products before it adds them, and spills
    // them.
    static GGUFX_INLINE void stay_in_register(__m256i &v) {
        __asm__ volatile("" : "+x"(v));
    }
    static GGUFX_INLINE __m256i four_of(const int8_t *q, size_t at) {
        return _mm256_set1_epi32(load_i32le(q + 4 * at));
    }
};

} // namespace
} // namespace ggufx::kernels
