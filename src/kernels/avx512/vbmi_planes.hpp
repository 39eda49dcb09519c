// AVX-512 with VBMI, n = 1..3 of the IQ types: codes by shuffles from tables in registers.
// The four vectors of a chunk (256 values) are planes: plane p holds value p of each group of 4,
// so the activations are packed the same way, a sum of 16 values is one lane of the dot
// instruction, and all sums come out in order.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/grids/levels.hpp"
#include "kernels/avx512/vec.hpp"
#include "kernels/loops/pack_act.hpp"

namespace ggufx {
namespace kernels {
namespace avx512vbmi {
namespace {

struct Vec : avx512::Vec {
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
};

template <class F> struct Unpack; // one specialisation per format, in its own header

struct Ordered : Vec {
    static GGUFX_INLINE size_t block_position(size_t b) { return 32 * b; }
};

// The codes of each 256 values in planes.
inline void to_planes(int8_t *q, size_t n) {
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

// C1, C5 with the codes of each 256 values in planes.
template <unsigned N> void pack_planes(const Act &act, const float *x) {
    pack_act<Planes<Ordered, N>>(act, x);
    const size_t n_padded = (act.k + kActPad - 1) / kActPad * kActPad;
    for (unsigned p = 0; p < N; p++) to_planes(plane_codes(act, p), n_padded);
}

// ---- lookups ------------------------------------------------------------------------------------

GGUFX_INLINE __m512i load64(const uint8_t *p) {
    return _mm512_load_si512(p);
}

// Byte i = table[index bits 0..6 of byte i]; 128 bytes.
GGUFX_INLINE __m512i look_up7(const uint8_t *table, __m512i index) {
    return _mm512_permutex2var_epi8(load64(table), index, load64(table + 64));
}

// 64 indices into a table of more than 256 bytes: bits 0..7, and masks of what lies above.
struct Indices {
    __m512i low;
    __mmask64 quarter[3]; // bits 6 and 7 are 1, 2, 3
    __mmask64 high[3];    // bit 8 + i

    GGUFX_INLINE explicit Indices(__m512i v) : low(v), high{0, 0, 0} {
        const __mmask64 bit7 = _mm512_movepi8_mask(v);
        const __mmask64 bit6 = _mm512_movepi8_mask(_mm512_slli_epi16(v, 1));
        quarter[0] = bit6 & ~bit7;
        quarter[1] = bit7 & ~bit6;
        quarter[2] = bit6 & bit7;
    }
    // Bits 0 .. Bits - 1 of each byte are bits 8 and up of the index.
    template <unsigned Bits> GGUFX_INLINE void set_high(__m512i v) {
#pragma GCC unroll 3
        for (unsigned i = 0; i < Bits; i++) {
            high[i] = _mm512_test_epi8_mask(v, _mm512_set1_epi8(static_cast<char>(1 << i)));
        }
    }
};

// Byte i = table[index i]. A shuffle under a mask takes one instruction per 64 bytes of table and
// no blend; vpermi2b takes three per 128.
template <unsigned N> GGUFX_INLINE __m512i look_up(const uint8_t *table, const Indices &index) {
    if constexpr (N == 256) {
        __m512i v = _mm512_permutexvar_epi8(index.low, load64(table));
#pragma GCC unroll 3
        for (unsigned i = 0; i < 3; i++) {
            v = _mm512_mask_permutexvar_epi8(v, index.quarter[i], index.low,
                                             load64(table + 64 * (i + 1)));
        }
        return v;
    } else {
        constexpr unsigned bit = N == 512 ? 0 : N == 1024 ? 1 : 2;
        static_assert(N == 512u << bit);
        return _mm512_mask_blend_epi8(index.high[bit], look_up<N / 2>(table, index),
                                      look_up<N / 2>(table + N / 2, index));
    }
}

// Codes of 64 six-bit numbers in which a level stands at bit kShift and a sign bit at kSign; the
// other bits mean nothing.
struct Codes {
    alignas(64) uint8_t code[64];
};
template <unsigned Bits, unsigned Shift, unsigned Sign>
constexpr Codes signed_codes(const uint8_t (&levels)[8], unsigned offset) {
    Codes to{};
    for (unsigned i = 0; i < 64; i++) {
        const unsigned v = levels[i >> Shift & ((1u << Bits) - 1u)];
        to.code[i] = static_cast<uint8_t>(i >> Sign & 1u ? offset - v : offset + v);
    }
    return to;
}

// `level` where `mask` has bits, `sign` elsewhere, looked up.
GGUFX_INLINE __m512i plane(const Codes &codes, char mask, __m512i level, __m512i sign) {
    const __m512i index = _mm512_ternarylogic_epi64(_mm512_set1_epi8(mask), level, sign, 0xca);
    return _mm512_permutexvar_epi8(index, load64(codes.code));
}

} // namespace
} // namespace avx512vbmi
} // namespace kernels
} // namespace ggufx
