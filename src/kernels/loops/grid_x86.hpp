// Codes of the IQ types on x86: grid rows times 1 or -1.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/grid.hpp"
#include "kernels/loops/x86.hpp"

namespace ggufx::kernels {
namespace {

// Joins rows row(0), row(1), ... to 32 values. Broadcast loads and blends need no shuffle port;
// each insert would need one.
template <unsigned Bytes, class Row> GGUFX_INLINE __m256i join_rows(const Row &row) {
    const auto all = [&](unsigned k) __attribute__((always_inline)) {
        if constexpr (Bytes == 8)
            return _mm256_set1_epi64x(static_cast<int64_t>(load_u64le(row(k))));
        else
            return _mm256_set1_epi32(load_i32le(row(k)));
    };
    const auto quarter = [&](unsigned k) __attribute__((always_inline)) {
        if constexpr (Bytes == 8)
            return all(k);
        else
            return _mm256_blend_epi32(all(2 * k), all(2 * k + 1), 0xaa);
    };
    return _mm256_blend_epi32(_mm256_blend_epi32(quarter(0), quarter(1), 0x0c),
                              _mm256_blend_epi32(quarter(2), quarter(3), 0xc0), 0xf0);
}

// Returns the row of its half block in slot s of vector j. For tiles and dequantization, rows are
// in order. For row-wise products, sums of 16 need no shuffles. There a row of 4 is a lane, with
// the other rows of its group in the other vectors. A row of 8 is two lanes, with the other half of
// its group in the adjacent vector.
template <unsigned Bytes, bool Lanes> constexpr unsigned row_at(unsigned j, unsigned s) {
    if (!Lanes) return 32 / Bytes * j + s;
    return Bytes == 4 ? 4 * (s % 4 * 2 + s / 4) + j : 2 * (j / 2 * 4 + s % 2 * 2 + s / 2) + j % 2;
}

// Positions of the signs of the values in four vectors: byte of the chunk's sixteen, bit.
template <unsigned Bytes, bool Lanes> struct SignPlaces {
    alignas(32) uint8_t byte[4][32], bit[4][32];
    constexpr SignPlaces() : byte{}, bit{} {
        for (unsigned j = 0; j < 4; j++)
            for (unsigned t = 0; t < 32; t++) {
                const unsigned value = row_at<Bytes, Lanes>(j, t / Bytes) * Bytes + t % Bytes;
                byte[j][t] = static_cast<uint8_t>(value / 8);
                bit[j][t] = static_cast<uint8_t>(1u << value % 8);
            }
    }
};
template <unsigned Bytes, bool Lanes> constexpr SignPlaces<Bytes, Lanes> kSignPlaces;

// Rows of a chunk and their signs, 1 or -1. For ternary grids, `rows` holds codes + 16.
struct SignedRows {
    __m256i rows, signs;
};
// rows(k) is the address of row k of the chunk.
template <class F, bool Lanes, class Rows>
GGUFX_INLINE void load_signed(SignedRows (&c)[4], const Rows &rows, __m256i signs) {
    constexpr unsigned bytes = GridRows<F>::kBytes;
    constexpr const auto &places = kSignPlaces<bytes, Lanes>;
#pragma GCC unroll 4
    for (unsigned j = 0; j < 4; j++) {
        const __m256i v = join_rows<bytes>([&](unsigned s) __attribute__((always_inline)) {
            return rows(row_at<bytes, Lanes>(j, s));
        });
        const __m256i spread = _mm256_shuffle_epi8(signs, X86Bytes::load_half(places.byte[j]));
        if constexpr (kTernaryGrid<F>) {
            const __m256i eight = _mm256_shuffle_epi8(_mm256_set1_epi16(0x1008), v); // -1: 0
            c[j].rows = _mm256_add_epi8(eight, spread);
        } else {
            const __m256i bit = X86Bytes::load_half(places.bit[j]);
            const __m256i minus = _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
            c[j] = {v, _mm256_or_si256(minus, _mm256_set1_epi8(1))};
        }
    }
}

// Returns the signs of both halves for load_signed. For ternary grids, the signs -1 or 0 become the
// value added to 8 * row + 8, with -1 or 1 as sign.
template <class F> GGUFX_INLINE auto signs_of(const typename F::Block &b) {
    const auto s = GridRows<F>::template signs<X86Halves>(b, 0);
    return kTernaryGrid<F> ? s + s + 9 : s;
}

// Codes + offset of half i of a block, in order.
template <class U>
GGUFX_INLINE void load_half(__m256i (&c)[4], const typename U::Block &b, unsigned i) {
    using F = typename U::Format;
    constexpr unsigned n_rows = 128 / GridRows<F>::kBytes;
    RowNumbers<F, X86Halves, n_rows> numbers;
    numbers.make(b, n_rows * i);
    const auto signs = (__m256i)signs_of<F>(b);
    SignedRows rows[4];
    load_signed<F, false>(
        rows,
        [&](unsigned k) __attribute__((always_inline)) { return numbers.row(b, n_rows * i, k); },
        i == 0 ? _mm256_permute4x64_epi64(signs, 0x44) : _mm256_permute4x64_epi64(signs, 0xee));
#pragma GCC unroll 4
    for (unsigned j = 0; j < 4; j++) {
        c[j] = rows[j].rows;
        if constexpr (!kTernaryGrid<F>)
            c[j] = _mm256_add_epi8(_mm256_sign_epi8(c[j], rows[j].signs),
                                   _mm256_set1_epi8(U::kOffset));
    }
}

} // namespace
} // namespace ggufx::kernels
