// Row-wise products of the IQ types. Grid rows are ordered so that sums of 16 products need no
// shuffles. Signs are applied to the activations, so that codes are small and need no offset.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx2/grid.hpp"
#include "kernels/avx2/planes.hpp"
#include "kernels/loops/unpack/all.hpp"

namespace ggufx::kernels::avx2 {
namespace {

#ifdef __AVXVNNI__

// These products add up in int16, which vpdpbusd cannot do: AVX-VNNI uses the AVX2 kernels.
template <class F>
requires(GridRows<F>::kBytes != 0) struct UnpackPlanes<F> {
};

#else

template <class Grid> struct GridVec : Vec {
    using V8 = SignedRows;
    static constexpr unsigned kBytes = GridRows<Grid>::kBytes;

    // Sums of 16 products, lanes as in Vec.
    template <class U> static GGUFX_INLINE Vi group_sums(const V8 (&c)[4], const int8_t *q) {
        const auto two = [&](unsigned j) __attribute__((always_inline)) {
            return _mm256_add_epi16(products(c[j], load32(q + 32 * j)),
                                    products(c[j + 1], load32(q + 32 * j + 32)));
        };
        static_assert(4 * U::kMaxCode * 127 <= 32767);
        const __m256i one = _mm256_set1_epi16(1), a = two(0), b = two(2);
        if constexpr (kBytes == 8)
            return _mm256_hadd_epi32(_mm256_madd_epi16(a, one), _mm256_madd_epi16(b, one));
        else if constexpr (8 * U::kMaxCode * 127 <= 32767)
            return _mm256_madd_epi16(_mm256_add_epi16(a, b), one);
        else
            return _mm256_add_epi32(_mm256_madd_epi16(a, one), _mm256_madd_epi16(b, one));
    }
    static GGUFX_INLINE __m256i products(V8 c, __m256i q) {
        return _mm256_maddubs_epi16(c.rows, kTernaryGrid<Grid> ? q : _mm256_sign_epi8(q, c.signs));
    }
    // Reorders the codes of each 128 values into the order of the grid rows.
    static void to_planes(int8_t *q, size_t n) {
        for (const int8_t *end = q + n; q < end; q += 128) {
            int8_t row[128];
            __builtin_memcpy(row, q, sizeof row);
            constexpr unsigned slots = 32 / kBytes;
            for (unsigned k = 0; k < 4 * slots; k++)
                __builtin_memcpy(q + kBytes * k,
                                 row + kBytes * row_at<kBytes, true>(k / slots, k % slots), kBytes);
        }
    }
};

template <class F>
requires(GridRows<F>::kBytes != 0) struct UnpackPlanes<F>
    : ScalesOf<Unpack<F>, GridVec<F>, F, kTernaryGrid<F> ? Unpack<F>::kOffset : 0,
               Unpack<F>::kMaxCode - (kTernaryGrid<F> ? 0 : Unpack<F>::kOffset)> {
    using Block = typename F::Block;
    static constexpr unsigned kHalf = 128 / GridRows<F>::kBytes;
    // Blocks with the indices of all grid rows and the signs.
    struct Step {
        const Block *blocks;
        alignas(32) uint8_t signs[32];
        RowNumbers<F, X86Halves, 2 * kHalf> numbers;
        GGUFX_INLINE operator const Block *() const { return blocks; }
    };
    static GGUFX_INLINE void begin(Step &to, const Block *b) {
        to.blocks = b;
        Vec::store_i(to.signs, (__m256i)signs_of<F>(*b));
        to.numbers.make(*b, 0);
        __asm__("" : "+m"(to.signs)); // see RowNumbers
    }
    static GGUFX_INLINE void load_u8(SignedRows (&c)[4], const Step &step, unsigned i) {
        load_signed<F, true>(
            c,
            [&](unsigned k) __attribute__((always_inline)) {
                return step.numbers.row(*step.blocks, 0, kHalf * i + k);
            },
            _mm256_broadcastsi128_si256(Vec::load16(step.signs + 16 * i)));
    }
};

#endif

} // namespace
} // namespace ggufx::kernels::avx2
