// Activations in planes, for types whose codes unpack into planes: plane p of each 128 values holds
// value p of each group of 4. Each sum of 16 products is then one lane, and all are in order.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx2/vec.hpp"
#include "kernels/loops/pack_act.hpp"

namespace ggufx::kernels::avx2 {
namespace {

struct PlaneVec : Vec {
    // Sums of 16 products, in order.
    template <class U> static GGUFX_INLINE Vi group_sums(const V8 (&c)[4], const int8_t *q) {
        return four_sums<U>(c, q);
    }
    // Sums of 16 of two chunks to sums of 32, blocks in order.
    static GGUFX_INLINE Vi pair_sums(Vi u0, Vi u1) {
        return _mm256_permute4x64_epi64(_mm256_hadd_epi32(u0, u1), 0xd8);
    }

    // In order.
    static GGUFX_INLINE V16 widen_sixteen(Sixteen v) { return _mm256_cvtepu8_epi16((__m128i)v); }
    // 16 bytes of each of two blocks.
    static GGUFX_INLINE V8 load_sixteens(const uint8_t *p, size_t stride) {
        return two_of_16(load16(p), load16(p + stride));
    }

    // Reorders the codes of each 128 values into planes.
    static void to_planes(int8_t *q, size_t n) {
        for (const int8_t *end = q + n; q < end; q += 128) {
            const __m256i v[4] = {load32(q), load32(q + 32), load32(q + 64), load32(q + 96)};
            for (unsigned p = 0; p < 4; p++) {
                const auto byte = [&v, p](unsigned i) {
                    const __m256i shifted =
                        _mm256_srl_epi32(v[i], _mm_cvtsi32_si128(static_cast<int>(8 * p)));
                    return _mm256_and_si256(shifted, set1_i(255));
                };
                const __m256i both = _mm256_packus_epi16(_mm256_packus_epi32(byte(0), byte(1)),
                                                         _mm256_packus_epi32(byte(2), byte(3)));
                store_i(q + 32 * p, _mm256_permutevar8x32_epi32(
                                        both, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
            }
        }
    }
};

} // namespace
} // namespace ggufx::kernels::avx2
