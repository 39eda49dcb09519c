// NVFP4 on AVX2: the codes of MXFP4 in groups of 16, each with a scale in the bits of UE4M3.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/nvfp4.hpp"
#include "kernels/avx2/mxfp4.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

template <> struct Unpack<fmt::NVFP4> : FloatGroups<Vec, fmt::NVFP4, 12, 24> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            c[j] = fp4_codes(group_nibbles(b[2 * i + j / 2].qs + 16 * (j % 2)));
        }
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {{ue4m3(b), ue4m3(b + 2)}};
    }

    // Two groups: 8 bytes hold low nibbles, then high nibbles of a group.
    static GGUFX_INLINE __m256i group_nibbles(const uint8_t *qs) {
        const __m256i twice = _mm256_permute4x64_epi64(_mm256_castsi128_si256(load16(qs)), 0x50);
        const __m256i v = _mm256_srlv_epi64(twice, _mm256_setr_epi64x(0, 4, 0, 4));
        return _mm256_and_si256(v, _mm256_set1_epi8(15));
    }
    // Halved UE4M3 of the 8 groups of 2 blocks; the bytes 0 and 0x7f are 0, bit 7 means nothing.
    static GGUFX_INLINE Vf ue4m3(const Block *b) {
        int32_t four[2];
        __builtin_memcpy(four, b[0].d, 4);
        __builtin_memcpy(four + 1, b[1].d, 4);
        const __m256i u = _mm256_cvtepu8_epi32(_mm_setr_epi32(four[0], four[1], 0, 0));
        const __m256i m = _mm256_and_si256(u, set1_i(0x7f));
        const __m256i normal = _mm256_add_epi32(_mm256_slli_epi32(m, 20), set1_i((127 - 8) << 23));
        const Vf small = mul(to_float(m), set1(0x1p-10f));
        const __m256i is_small = _mm256_cmpgt_epi32(set1_i(8), m);
        const Vf v =
            _mm256_blendv_ps(_mm256_castsi256_ps(normal), small, _mm256_castsi256_ps(is_small));
        const __m256i is_nan = _mm256_cmpeq_epi32(u, set1_i(0x7f));
        return _mm256_andnot_ps(_mm256_castsi256_ps(is_nan), v);
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
