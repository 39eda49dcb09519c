// NVFP4 on AVX-512: the codes of MXFP4 in groups of 16, each with a scale in the bits of UE4M3.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/nvfp4.hpp"
#include "kernels/avx512/mxfp4.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

template <> struct Unpack<fmt::NVFP4> : FloatGroups<Vec, fmt::NVFP4, 12, 24> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            c[j] = fp4_codes(group_nibbles(b[4 * i + j / 2].qs + 16 * (j % 2),
                                           b[4 * i + 2 + j / 2].qs + 16 * (j % 2)));
        }
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {{ue4m3(b), ue4m3(b + 4)}};
    }

    // Two groups each: 8 bytes hold low nibbles, then high nibbles of a group.
    static GGUFX_INLINE __m512i group_nibbles(const uint8_t *low, const uint8_t *high) {
        const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i *>(low));
        const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i *>(high));
        const __m512i both =
            _mm512_castsi256_si512(_mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1));
        const __m512i twice =
            _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3), both);
        const __m512i shifts = _mm512_setr_epi64(0, 4, 0, 4, 0, 4, 0, 4);
        return _mm512_and_si512(_mm512_srlv_epi64(twice, shifts), _mm512_set1_epi8(15));
    }
    // Halved UE4M3 of the 16 groups of 4 blocks; the bytes 0 and 0x7f are 0, bit 7 means nothing.
    static GGUFX_INLINE Vf ue4m3(const Block *b) {
        int32_t four[4];
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++) __builtin_memcpy(four + i, b[i].d, 4);
        const __m512i u = _mm512_cvtepu8_epi32(_mm_setr_epi32(four[0], four[1], four[2], four[3]));
        const __m512i m = _mm512_and_si512(u, set1_i(0x7f));
        const Vf normal = _mm512_castsi512_ps(
            _mm512_add_epi32(_mm512_slli_epi32(m, 20), set1_i((127 - 8) << 23)));
        const __mmask16 is_small = _mm512_cmplt_epi32_mask(m, set1_i(8));
        const Vf v = _mm512_mask_mul_ps(normal, is_small, to_float(m), set1(0x1p-10f));
        return _mm512_maskz_mov_ps(_mm512_cmpneq_epi32_mask(u, set1_i(0x7f)), v);
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
