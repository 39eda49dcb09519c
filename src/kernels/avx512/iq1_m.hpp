// IQ1_M on AVX-512: scales of three bits per 16, d in the top nibbles of their words.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq1_m.hpp"
#include "kernels/avx512/grid.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

template <>
struct Unpack<fmt::IQ1_M> : UnpackedGroups<Unpack<fmt::IQ1_M>, Vec, fmt::IQ1_M, 4, 16 + 9> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        load_grid<Unpack>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return group_scales<Scales>(two_block_d(b), group_bytes(b[0]), group_bytes(b[1]));
    }
    static GGUFX_INLINE Vf two_block_d(const Block *b) {
        return _mm512_mask_mov_ps(block_d(b[0]), 0xff00, block_d(b[1]));
    }
    static GGUFX_INLINE void scales16(uint8_t *to, const Block &b) {
        _mm_store_si128(reinterpret_cast<__m128i *>(to), group_bytes(b));
    }
    static GGUFX_INLINE Vf block_d(const Block &b) {
        return mul(broadcast_f16(iq1_m_d(b).bits), set1(0.125f));
    }

    // 2 * s + 1 of four 3-bit fields in each of four words.
    static GGUFX_INLINE __m128i group_bytes(const Block &b) {
        const __m128i words = _mm_loadl_epi64(reinterpret_cast<const __m128i *>(b.scales));
        const __m256i four = _mm256_permutexvar_epi16(
            _mm256_setr_epi16(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3),
            _mm256_castsi128_si256(words));
        const __m256i shifts = _mm256_set1_epi64x(0x0009'0006'0003'0000);
        const __m256i s = _mm256_and_si256(_mm256_srlv_epi16(four, shifts), _mm256_set1_epi16(7));
        return _mm256_cvtepi16_epi8(_mm256_add_epi16(_mm256_add_epi16(s, s), _mm256_set1_epi16(1)));
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
