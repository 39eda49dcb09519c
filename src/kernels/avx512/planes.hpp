// Activations in planes, for types whose codes unpack into planes: plane p of each 256 values holds
// value p of each group of 4. Each sum of 16 products is then one lane of the dot product, and all
// are in order.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx512/vec.hpp"
#include "kernels/loops/pack_act.hpp"

namespace ggufx::kernels::avx512 {
namespace {

struct PlaneVec : Vec {
    static GGUFX_INLINE size_t block_position(size_t b) { return 32 * b; } // until pack() is done
    // Sums of 16 products, in order.
    template <class U> static GGUFX_INLINE Vi group_sums(const V8 (&c)[4], const int8_t *q) {
        const Vi z = _mm512_setzero_si512();
        const Vi p0 = _mm512_dpbusd_epi32(z, c[0], _mm512_load_si512(q));
        const Vi p1 = _mm512_dpbusd_epi32(z, c[1], _mm512_load_si512(q + 64));
        return _mm512_add_epi32(_mm512_dpbusd_epi32(p0, c[2], _mm512_load_si512(q + 128)),
                                _mm512_dpbusd_epi32(p1, c[3], _mm512_load_si512(q + 192)));
    }
    // Sums of 16 of two chunks to sums of 32, blocks in order.
    static GGUFX_INLINE Vi pair_sums(Vi u0, Vi u1) {
        const Vi even =
            _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        const Vi odd = _mm512_or_si512(even, set1_i(1));
        return _mm512_add_epi32(_mm512_permutex2var_epi32(u0, even, u1),
                                _mm512_permutex2var_epi32(u0, odd, u1));
    }

    // In order.
    static GGUFX_INLINE Vi group_scales(Sixteen v, unsigned i) { return groups_in_order(v, i); }
    static GGUFX_INLINE V16 widen_sixteen(Sixteen v) { return _mm512_cvtepu8_epi16((__m256i)v); }
    // 16 bytes of each of four blocks.
    static GGUFX_INLINE V8 load_sixteens(const uint8_t *p, size_t stride) {
        const uint8_t *third = p + 2 * stride;
        return two_of_32(two_of_16(load16(p), load16(p + stride)),
                         two_of_16(load16(third), load16(third + stride)));
    }

    // Reorders the codes of each 256 values into planes.
    static void to_planes(int8_t *q, size_t n) {
        for (const int8_t *end = q + n; q < end; q += 256) {
            const __m512i v[4] = {_mm512_load_si512(q), _mm512_load_si512(q + 64),
                                  _mm512_load_si512(q + 128), _mm512_load_si512(q + 192)};
            for (unsigned p = 0; p < 4; p++) {
                for (unsigned i = 0; i < 4; i++) {
                    const __m128i plane = _mm512_cvtepi32_epi8(_mm512_srli_epi32(v[i], 8 * p));
                    _mm_store_si128(reinterpret_cast<__m128i *>(q + 64 * p + 16 * i), plane);
                }
            }
        }
    }
};

} // namespace
} // namespace ggufx::kernels::avx512
