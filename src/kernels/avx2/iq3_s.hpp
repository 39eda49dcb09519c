// IQ3_S on AVX2: nibbles of scales per 32.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq3_s.hpp"
#include "kernels/avx2/grid.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

template <> struct Unpack<fmt::IQ3_S> : ScaledCodes<Vec, fmt::IQ3_S, 16, 16 + 15> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        load_grid<Unpack>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        int32_t nibbles;
        __builtin_memcpy(&nibbles, b->scales, sizeof nibbles);
        const __m256i fours = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
        const __m256i v = _mm256_srlv_epi32(set1_i(nibbles), fours);
        return {broadcast_f16(b->d), odd(_mm256_and_si256(v, set1_i(15)))};
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
