// IQ1_S on AVX2: scales of three bits in the words of high index bits.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq1_s.hpp"
#include "kernels/avx2/grid.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

template <> struct Unpack<fmt::IQ1_S> : ScaledCodes<Vec, fmt::IQ1_S, 16, 16 + 9> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        load_grid<Unpack>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        const __m256i v = _mm256_srli_epi32(_mm256_cvtepu16_epi32(load16(b->qh)), 12);
        return {mul(broadcast_f16(b->d), set1(0.125f)), odd(_mm256_and_si256(v, set1_i(7)))};
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
