// int8 dot products of AVX-VNNI: vpdpbusd adds four products of an unsigned and a signed byte to
// int32. Replaces avx2/products.hpp when the files of avx2 are compiled for AVX-VNNI.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/x86.hpp"

namespace ggufx::kernels::avx2 {
namespace {

struct Products : DotTiles {
    using V8 = __m256i;  // codes
    using V16 = __m256i; // int16
    using Vi = __m256i;  // int32
    static constexpr int kCodeLimit = 255;
    static constexpr bool kExactDot = true;      // exact for all codes: formats share tile code
    static constexpr bool kUnsignedTiles = true; // tiles add an offset to signed codes

    static GGUFX_INLINE __m256i load32(const void *p) {
        return _mm256_loadu_si256(static_cast<const __m256i *>(p));
    }
    static GGUFX_INLINE Vi dot(Vi sum, V8 c, V8 q) { return _mm256_dpbusd_avx_epi32(sum, c, q); }
    // sums + products of one vector of codes, added in fours; signed codes as |c| * (q with their
    // sign).
    template <class U> static GGUFX_INLINE Vi add_dots(Vi sums, V8 c, __m256i q) {
        if constexpr (U::kSigned) {
            return _mm256_dpbusd_avx_epi32(sums, _mm256_abs_epi8(c), _mm256_sign_epi8(q, c));
        } else {
            return _mm256_dpbusd_avx_epi32(sums, c, q);
        }
    }
    // Returns the products of four vectors of codes, four adjacent ones summed per lane.
    template <class U> static GGUFX_INLINE Vi four_sums(const V8 (&c)[4], const int8_t *q) {
        const Vi p0 = add_dots<U>(_mm256_setzero_si256(), c[0], load32(q));
        const Vi p1 = add_dots<U>(_mm256_setzero_si256(), c[1], load32(q + 32));
        return _mm256_add_epi32(add_dots<U>(p0, c[2], load32(q + 64)),
                                add_dots<U>(p1, c[3], load32(q + 96)));
    }
    // Returns sums of 16 products; lane L, element j = lane L of vector j.
    template <class U> static GGUFX_INLINE Vi group_sums(const V8 (&c)[4], const int8_t *q) {
        __m256i p[4];
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            p[j] = add_dots<U>(_mm256_setzero_si256(), c[j], load32(q + 32 * j));
        }
        return lane_sums<uint32_t>(p);
    }
};

} // namespace
} // namespace ggufx::kernels::avx2
