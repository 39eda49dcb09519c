// Codes of the IQ types on AVX2: grid rows are loaded one by one (how fast a gather is depends on
// microcode), all signs of half a block are made at once.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx2/vec.hpp"
#include "kernels/loops/grid.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

// ---- signs --------------------------------------------------------------------------------------

// Sign bytes of half a block: 16 of 8 values each, in both lanes.
GGUFX_INLINE __m256i stored_signs(const uint8_t *signs) {
    return _mm256_broadcastsi128_si256(Vec::load16(signs));
}
// Bit 7 of each byte makes the number of its bits even.
GGUFX_INLINE __m256i even_signs(__m256i v) {
    const __m256i parity = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, -128, -128, 0, -128, 0, 0, -128, -128, 0, 0, -128, 0, -128, -128, 0));
    const __m256i nibble =
        _mm256_and_si256(_mm256_xor_si256(v, _mm256_srli_epi16(v, 4)), _mm256_set1_epi8(15));
    return _mm256_or_si256(v, _mm256_shuffle_epi8(parity, nibble));
}
// Four 7-bit fields of each word of 32 bits.
GGUFX_INLINE __m256i fields7(__m256i v) {
    const auto spread = [](__m256i x, int low, int high, int shift) __attribute__((always_inline)) {
        return _mm256_or_si256(
            _mm256_and_si256(x, Vec::set1_i(low)),
            _mm256_sll_epi32(_mm256_and_si256(x, Vec::set1_i(high)), _mm_cvtsi32_si128(shift)));
    };
    return spread(spread(v, 0x3fff, 0x0fffc000, 2), 0x007f007f, 0x3f803f80, 1);
}

// -1 for the values of 32-block j of the half whose bit is set, else 1.
template <unsigned J> GGUFX_INLINE __m256i sign_factors(__m256i signs) {
    constexpr int64_t k = 0x0101010101010101;
    const __m256i spread =
        _mm256_setr_epi64x((4 * J) * k, (4 * J + 1) * k, (4 * J + 2) * k, (4 * J + 3) * k);
    const __m256i bits = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201u));
    const __m256i v = _mm256_and_si256(_mm256_shuffle_epi8(signs, spread), bits);
    return _mm256_or_si256(_mm256_cmpeq_epi8(v, bits), _mm256_set1_epi8(1));
}

// ---- rows ---------------------------------------------------------------------------------------

template <unsigned Bytes> struct RowLoad;
template <> struct RowLoad<8> {
    // at(i): row i of 32 values.
    template <class At> static GGUFX_INLINE __m256i load(const At &at) {
        return _mm256_inserti128_si256(_mm256_castsi128_si256(two(at(0), at(1))), two(at(2), at(3)),
                                       1);
    }
    static GGUFX_INLINE __m128i two(const int8_t *a, const int8_t *b) {
        const __m128d low = _mm_castsi128_pd(Vec::load8(a));
        return _mm_castpd_si128(_mm_loadh_pd(low, reinterpret_cast<const double *>(b)));
    }
};
template <> struct RowLoad<4> {
    template <class At> static GGUFX_INLINE __m256i load(const At &at) {
        return _mm256_inserti128_si256(_mm256_castsi128_si256(four(at(0), at(1), at(2), at(3))),
                                       four(at(4), at(5), at(6), at(7)), 1);
    }
    static GGUFX_INLINE __m128i four(const int8_t *a, const int8_t *b, const int8_t *c,
                                     const int8_t *d) {
        const __m128i low = _mm_insert_epi32(_mm_cvtsi32_si128(word(a)), word(b), 1);
        return _mm_insert_epi32(_mm_insert_epi32(low, word(c), 2), word(d), 3);
    }
    static GGUFX_INLINE int32_t word(const int8_t *p) {
        int32_t v;
        __builtin_memcpy(&v, p, 4);
        return v;
    }
};

// ---- half a block -------------------------------------------------------------------------------

// HalfBlock<F>(block, half): row(k) is where grid row k is, factors<J>() 1 or -1 for each value of
// 32-block J of the half.
template <class F> struct HalfBlock;

template <unsigned RowBytes> struct HalfBits { // with a sign bit per value
    static constexpr unsigned kRowBytes = RowBytes;
    __m256i signs;
    template <unsigned J> GGUFX_INLINE __m256i factors() const { return sign_factors<J>(signs); }
};

template <> struct HalfBlock<fmt::IQ2_XXS> : HalfBits<8> {
    const uint8_t *groups;
    GGUFX_INLINE HalfBlock(const fmt::IQ2_XXS::Block &b, unsigned half) : groups(b.qs + 32 * half) {
        const __m256i second = _mm256_setr_epi32(1, 3, 5, 7, 1, 3, 5, 7);
        signs = even_signs(fields7(_mm256_permutevar8x32_epi32(Vec::load32(groups), second)));
    }
    GGUFX_INLINE const int8_t *row(unsigned k) const {
        return fmt::kGridIq2Xxs.row[groups[8 * (k / 4) + k % 4]];
    }
};

template <> struct HalfBlock<fmt::IQ2_XS> : HalfBits<8> {
    const uint8_t *qs;
    GGUFX_INLINE HalfBlock(const fmt::IQ2_XS::Block &b, unsigned half) : qs(b.qs + 32 * half) {
        const __m256i fields = _mm256_srli_epi16(Vec::load32(qs), 9);
        signs = even_signs(_mm256_permute4x64_epi64(_mm256_packus_epi16(fields, fields), 0x88));
    }
    GGUFX_INLINE const int8_t *row(unsigned k) const {
        return fmt::kGridIq2Xs.row[load_u16le(qs + 2 * k) & 511];
    }
};

template <> struct HalfBlock<fmt::IQ2_S> : HalfBits<8> {
    const uint8_t *low;
    unsigned high;
    GGUFX_INLINE HalfBlock(const fmt::IQ2_S::Block &b, unsigned half)
        : low(b.qs + 16 * half), high(load_u32le(b.qh + 4 * half)) {
        signs = stored_signs(b.signs + 16 * half);
    }
    GGUFX_INLINE const int8_t *row(unsigned k) const {
        return fmt::kGridIq2S.row[low[k] | (high >> (2 * k) & 3) << 8];
    }
};

template <> struct HalfBlock<fmt::IQ3_XXS> : HalfBits<4> {
    const uint8_t *index;
    GGUFX_INLINE HalfBlock(const fmt::IQ3_XXS::Block &b, unsigned half) : index(b.qs + 32 * half) {
        signs = even_signs(fields7(stored_signs(b.gas + 16 * half)));
    }
    GGUFX_INLINE const int8_t *row(unsigned k) const { return fmt::kGridIq3Xxs.row[index[k]]; }
};

template <> struct HalfBlock<fmt::IQ3_S> : HalfBits<4> {
    const uint8_t *low;
    unsigned high;
    GGUFX_INLINE HalfBlock(const fmt::IQ3_S::Block &b, unsigned half)
        : low(b.qs + 32 * half), high(load_u32le(b.qh + 4 * half)) {
        signs = stored_signs(b.signs + 16 * half);
    }
    GGUFX_INLINE const int8_t *row(unsigned k) const {
        return fmt::kGridIq3S.row[low[k] | (high >> k & 1) << 8];
    }
};

template <> struct HalfBlock<fmt::IQ1_S> {
    static constexpr unsigned kRowBytes = 8;
    const uint8_t *low, *high;
    __m256i words; // of four groups: four times three index bits, scale, sign of the shift
    GGUFX_INLINE HalfBlock(const fmt::IQ1_S::Block &b, unsigned half)
        : low(b.qs + 16 * half), high(b.qh + 8 * half),
          words(_mm256_broadcastq_epi64(Vec::load8(high))) {}
    template <unsigned J> GGUFX_INLINE __m256i factors() const {
        const __m256i v = _mm256_shuffle_epi8(words, _mm256_set1_epi8(2 * J + 1));
        return _mm256_or_si256(_mm256_cmpgt_epi8(_mm256_setzero_si256(), v), _mm256_set1_epi8(1));
    }
    GGUFX_INLINE const int8_t *row(unsigned k) const {
        return fmt::kGridIq1
            .row[low[k] | (load_u16le(high + k / 4 * 2) >> (3 * (k % 4)) & 7u) << 8];
    }
};

template <> struct HalfBlock<fmt::IQ1_M> {
    static constexpr unsigned kRowBytes = 8;
    const uint8_t *low, *high;
    __m256i nibbles; // of 16 rows: three index bits, sign of the shift
    GGUFX_INLINE HalfBlock(const fmt::IQ1_M::Block &b, unsigned half)
        : low(b.qs + 16 * half), high(b.qh + 8 * half),
          nibbles(_mm256_broadcastq_epi64(Vec::load8(high))) {}
    template <unsigned J> GGUFX_INLINE __m256i factors() const {
        constexpr int64_t k = 0x0101010101010101;
        const __m256i spread =
            _mm256_setr_epi64x(2 * J * k, 2 * J * k, (2 * J + 1) * k, (2 * J + 1) * k);
        const __m256i bits =
            _mm256_setr_epi64x(0x08 * k, -0x7f7f7f7f7f7f7f80, 0x08 * k, -0x7f7f7f7f7f7f7f80);
        const __m256i v = _mm256_and_si256(_mm256_shuffle_epi8(nibbles, spread), bits);
        return _mm256_or_si256(_mm256_cmpeq_epi8(v, bits), _mm256_set1_epi8(1));
    }
    GGUFX_INLINE const int8_t *row(unsigned k) const {
        return fmt::kGridIq1.row[low[k] | (high[k / 2] >> (4 * (k % 2)) & 7u) << 8];
    }
};

// ---- codes --------------------------------------------------------------------------------------

// Codes + Offset of 32-block J of the half.
template <class F, int Offset, unsigned J>
GGUFX_INLINE __m256i grid_codes(const HalfBlock<F> &half) {
    constexpr unsigned n_rows = 32 / HalfBlock<F>::kRowBytes;
    const __m256i v = RowLoad<HalfBlock<F>::kRowBytes>::load([&half](
        unsigned i) __attribute__((always_inline)) { return half.row(n_rows * J + i); });
    const __m256i factors = half.template factors<J>(), offset = _mm256_set1_epi8(Offset);
    if constexpr (kTernaryGrid<F>) {
        const __m256i eight = _mm256_and_si256(_mm256_slli_epi16(v, 3), _mm256_set1_epi8(-8));
        return _mm256_add_epi8(_mm256_add_epi8(eight, factors), offset);
    } else {
        return _mm256_add_epi8(_mm256_sign_epi8(v, factors), offset);
    }
}

template <class F, int Offset>
GGUFX_INLINE void load_half(__m256i (&c)[4], const typename F::Block &b, unsigned i) {
    const HalfBlock<F> half(b, i);
    c[0] = grid_codes<F, Offset, 0>(half);
    c[1] = grid_codes<F, Offset, 1>(half);
    c[2] = grid_codes<F, Offset, 2>(half);
    c[3] = grid_codes<F, Offset, 3>(half);
}

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
