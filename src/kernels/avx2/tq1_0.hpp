// TQ1_0 on AVX2: trits are read from the top of a byte, which is then tripled: 5 trits of 32
// bytes, 5 of 16 bytes (two per vector), 4 of 4 bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/tq1_0.hpp"
#include "kernels/avx2/vec.hpp"
#include "kernels/loops/unpack.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

GGUFX_INLINE __m256i triple(__m256i v) {
    return _mm256_add_epi8(v, _mm256_add_epi8(v, v));
}
// 3 * v / 256
GGUFX_INLINE __m256i top_trit(__m256i v) {
    const __m256i one = _mm256_set1_epi8(1);
    const __m256i some = _mm256_min_epu8(_mm256_subs_epu8(v, _mm256_set1_epi8(85)), one);
    const __m256i two = _mm256_subs_epu8(v, _mm256_set1_epi8(static_cast<char>(170)));
    return _mm256_add_epi8(some, _mm256_min_epu8(two, one));
}

template <> struct Unpack<fmt::TQ1_0> : PlainBlocks<Vec, fmt::TQ1_0, 1, 3> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const __m256i v = load32(b->qs), v3 = triple(v), v9 = triple(v3), v27 = triple(v9);
        if (i == 0) {
            c[0] = top_trit(v);
            c[1] = top_trit(v3);
            c[2] = top_trit(v9);
            c[3] = top_trit(v27);
            return;
        }
        c[0] = top_trit(triple(v27));
        const __m256i half = _mm256_broadcastsi128_si256(load16(b->qs + 32));
        const __m256i first = _mm256_blend_epi32(half, triple(half), 0xf0);
        const __m256i second = triple(triple(first));
        c[1] = top_trit(first);
        c[2] = top_trit(second);
        c[3] = top_trit(_mm256_blend_epi32(triple(triple(second)), last_bytes(b->qh), 0xf0));
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) { return {broadcast_f16(b->d)}; }

    // Four bytes times 1, 3, 9, 27 in each half.
    static GGUFX_INLINE __m256i last_bytes(const uint8_t *qh) {
        int32_t four;
        __builtin_memcpy(&four, qh, sizeof four);
        const __m256i v = set1_i(four), v3 = triple(v), v9 = triple(v3), v27 = triple(v9);
        return _mm256_blend_epi32(_mm256_blend_epi32(v, v3, 0x22),
                                  _mm256_blend_epi32(v9, v27, 0x88), 0xcc);
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
