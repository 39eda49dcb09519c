// IQ1_M on AVX2: scales of three bits per 16, d in the top nibbles of their words.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq1_m.hpp"
#include "kernels/avx2/grid.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

template <>
struct Unpack<fmt::IQ1_M> : UnpackedGroups<Unpack<fmt::IQ1_M>, Vec, fmt::IQ1_M, 4, 16 + 9> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        load_grid<Unpack>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return group_scales<Scales>(block_d(*b), odd_thirds(*b));
    }
    static GGUFX_INLINE void scales16(uint8_t *to, const Block &b) {
        _mm_store_si128(reinterpret_cast<__m128i *>(to), odd_thirds(b));
    }
    static GGUFX_INLINE Vf block_d(const Block &b) {
        return mul(broadcast_f16(iq1_m_d(b).bits), set1(0.125f));
    }

    // 2 * s + 1 of four 3-bit fields in each of four words.
    static GGUFX_INLINE __m128i odd_thirds(const Block &b) {
        const __m128i words = load8(b.scales);
        const __m256i four =
            _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(words),
                                _mm256_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3, 4,
                                                 5, 4, 5, 4, 5, 4, 5, 6, 7, 6, 7, 6, 7, 6, 7));
        const __m256i to_top = _mm256_set1_epi64x(0x0010'0080'0400'2000);
        const __m256i s = _mm256_srli_epi16(_mm256_mullo_epi16(four, to_top), 13);
        const __m256i odd16 = _mm256_add_epi16(_mm256_add_epi16(s, s), _mm256_set1_epi16(1));
        return _mm_packs_epi16(_mm256_castsi256_si128(odd16), _mm256_extracti128_si256(odd16, 1));
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
