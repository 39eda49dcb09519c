// int8 dot products of AVX2. vpmaddubsw adds two products in int16 and saturates for codes above
// 129. Such formats are kSigned and use |w| * (q with the sign of w).
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/x86.hpp"

namespace ggufx::kernels::avx2 {
namespace {

struct Products {
    using V8 = __m256i;                    // codes
    using V16 = __m256i;                   // int16
    using Vi = __m256i;                    // int32
    static constexpr int kCodeLimit = 129; // largest unsigned code that cannot saturate
    static constexpr bool kExactDot = false;

    static GGUFX_INLINE __m256i load32(const void *p) {
        return _mm256_loadu_si256(static_cast<const __m256i *>(p));
    }
    // Products of one vector of codes, adjacent ones added.
    template <class U> static GGUFX_INLINE V16 products(V8 c, __m256i q) {
        if constexpr (U::kSigned) {
            return _mm256_maddubs_epi16(_mm256_abs_epi8(c), _mm256_sign_epi8(q, c));
        } else {
            static_assert(U::kMaxCode <= kCodeLimit);
            return _mm256_maddubs_epi16(c, q);
        }
    }
    // Products of four vectors of codes, four adjacent ones of each summed per lane.
    template <class U> static GGUFX_INLINE Vi four_sums(const V8 (&c)[4], const int8_t *q) {
        static_assert(8 * U::kMaxCode * 127 <= 32767);
        const __m256i p0 =
            _mm256_add_epi16(products<U>(c[0], load32(q)), products<U>(c[1], load32(q + 32)));
        const __m256i p1 =
            _mm256_add_epi16(products<U>(c[2], load32(q + 64)), products<U>(c[3], load32(q + 96)));
        return _mm256_madd_epi16(_mm256_add_epi16(p0, p1), _mm256_set1_epi16(1));
    }
    // Sums of 16 products; lane L, element j = lane L of vector j. Products of small codes are
    // added in int16 throughout: half the additions.
    template <class U> static GGUFX_INLINE Vi group_sums(const V8 (&c)[4], const int8_t *q) {
        const __m256i one = _mm256_set1_epi16(1);
        __m256i p[4];
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) p[j] = products<U>(c[j], load32(q + 32 * j));
        if constexpr (8 * U::kMaxCode * 127 <= 32767) {
            return _mm256_madd_epi16(lane_sums<uint16_t>(p), one);
        } else {
#pragma GCC unroll 4
            for (unsigned j = 0; j < 4; j++) p[j] = _mm256_madd_epi16(p[j], one);
            return lane_sums<uint32_t>(p);
        }
    }
};

} // namespace
} // namespace ggufx::kernels::avx2
