// Fills tiles of the AVX-512 layer with IQ2, IQ3 and Q2_0 on AVX-512 VBMI.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx512/vbmi_rows4.hpp"
#include "kernels/avx512/vbmi_rows8.hpp"
#include "kernels/loops/tile_codes.hpp"

namespace ggufx::kernels::avx512vbmi {
namespace {

// Quads of codes kept per row. The order within each 256 values is quick to compute from planes:
// lane L of vector j has quads 16 L + 4 j and the next three.
struct PlaceQuads {
    static constexpr size_t kBytes = 512;

    static GGUFX_INLINE void place(uint8_t *to, size_t n_rows, const uint8_t (*from)[kBytes]) {
        for (size_t j = 0; j < kBytes / 64; j++) {
            __m512i c[16];
            Vec::load_transposed(
                c, [&](unsigned r) __attribute__((always_inline)) { return from[r] + 64 * j; });
            uint8_t *const first = to + (256 * (j / 4) + 16 * (j % 4)) * n_rows;
#pragma GCC unroll 16
            for (unsigned t = 0; t < 16; t++) {
                Vec::store_i(first + (64 * (t / 4) + 4 * (t % 4)) * n_rows, c[t]);
            }
        }
    }
};
template <class F> struct CodesOfPlanes {
    using Place = PlaceQuads;

    static GGUFX_INLINE void keep(uint8_t *to, const typename F::Block *b) {
#pragma GCC unroll 2
        for (unsigned i = 0; i < 2; i++, to += 256) {
            __m512i c[4];
            Unpack<F>::load_u8(c, b, i);
            const __m512i low01 = _mm512_unpacklo_epi8(c[0], c[1]);
            const __m512i low23 = _mm512_unpacklo_epi8(c[2], c[3]);
            const __m512i high01 = _mm512_unpackhi_epi8(c[0], c[1]);
            const __m512i high23 = _mm512_unpackhi_epi8(c[2], c[3]);
            Vec::store_i(to, _mm512_unpacklo_epi16(low01, low23));
            Vec::store_i(to + 64, _mm512_unpackhi_epi16(low01, low23));
            Vec::store_i(to + 128, _mm512_unpacklo_epi16(high01, high23));
            Vec::store_i(to + 192, _mm512_unpackhi_epi16(high01, high23));
        }
    }
};

// Four adjacent codes stay in one byte until the rows are transposed.
template <class F> struct CodesOfBytes {
    using Place = CodesOfBytes;
    static constexpr size_t kBytes = 128;

    static GGUFX_INLINE void keep(uint8_t *to, const typename F::Block *b) {
        constexpr size_t n = sizeof(typename F::Block{}.qs);
#pragma GCC unroll 8
        for (size_t i = 0; i < kBytes / n; i++) __builtin_memcpy(to + n * i, b[i].qs, n);
    }
    static GGUFX_INLINE void place(uint8_t *to, size_t n_rows, const uint8_t (*from)[kBytes]) {
        for (size_t j = 0; j < kBytes / 64; j++) {
            __m512i c[16];
            Vec::load_transposed(
                c, [&](unsigned r) __attribute__((always_inline)) { return from[r] + 64 * j; });
#pragma GCC unroll 16
            for (unsigned t = 0; t < 16; t++, to += 16 * n_rows) {
#pragma GCC unroll 4
                for (unsigned i = 0; i < 4; i++) { // byte i of each 64-bit lane
                    const auto at =
                        static_cast<int64_t>(0x2624222006040200 + 0x0808080808080808 * i);
                    const __m512i four = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(at), c[t]);
                    Vec::store_i(to + 4 * i * n_rows, _mm512_and_si512(four, _mm512_set1_epi8(3)));
                }
            }
        }
    }
};

// Source of tile codes instead of avx512::Unpack<F>, if any.
template <class F> struct Filled;
template <class F>
requires requires {
    sizeof(Unpack<F>);
}
struct Filled<F> : avx512::Unpack<F> {
    using Codes = CodesOfPlanes<F>;
    static_assert(Unpack<F>::kOffset == Filled::kOffset && !Filled::kSigned);
};
template <> struct Filled<fmt::Q2_0> : avx512::Unpack<fmt::Q2_0> {
    using Codes = CodesOfBytes<fmt::Q2_0>;
};

} // namespace
} // namespace ggufx::kernels::avx512vbmi

namespace ggufx::kernels {
namespace {

template <class F> struct TileCodes<avx512vbmi::Filled<F>> : avx512vbmi::Filled<F>::Codes {};

} // namespace
} // namespace ggufx::kernels
