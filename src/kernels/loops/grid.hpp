// Grid rows and signs of a chunk of the IQ types with codebooks. Rows are loaded one by one,
// because the speed of gathers depends on microcode. Their indices and signs are computed in
// vectors. Signs: 16 bytes per half block, bit i of byte k for value i of the k-th eight (IQ1: all
// bits equal the shift sign).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/all.hpp"
#include "kernels/loops/bytes.hpp"
#include "kernels/loops/common.hpp"

namespace ggufx::kernels {
namespace {

// Sets bit 7 of each byte so that the number of its bits is even.
template <class V> GGUFX_INLINE typename V::Sixteen even_signs(typename V::Sixteen v) {
    constexpr uint8_t odd = 128; // parity of four bits
    constexpr auto parity = repeat<typename V::Sixteen, uint8_t, 0, odd, odd, 0, odd, 0, 0, odd,
                                   odd, 0, 0, odd, 0, odd, odd, 0>();
    return v | V::pick_at(parity, (v ^ v >> 4) & 15);
}
// The same for four 7-bit fields in words of 32 bits.
template <class V> GGUFX_INLINE typename V::Sixteen even_signs7(typename V::Sixteen fields) {
    using Words = As<uint32_t, typename V::Sixteen>;
    Words v = (Words)fields;
    v = (v & 0x3fff) | (v & 0x0fffc000) << 2;
    return even_signs<V>((typename V::Sixteen)((v & 0x007f007f) | (v & 0x3f803f80) << 1));
}

// Returns the indices of as many rows as V::RowWords has words. Their low bytes are at `low`. The
// high bits are fields `Bits` apart, those of four rows in `Four` bits; Mask selects the used bits.
template <class V, unsigned Bits, unsigned Four, unsigned Mask>
GGUFX_INLINE typename V::RowWords row_numbers(const uint8_t *low, const uint8_t *high) {
    using Words = typename V::RowWords;
    using Fours = As<uint64_t, Words>;
    uint64_t fields = 0;
    __builtin_memcpy(&fields, high, Four * sizeof(Words) / 64);
    Fours v = Fours{} + fields;
    if constexpr (sizeof(Words) == 32)
        v = v >> Fours{0, Four, 2 * Four, 3 * Four};
    else
        v = v >> Fours{0, Four};
    v = v & ((1u << 4 * Bits) - 1);
    v = v | v << (32 - 2 * Bits);
    v = (v << 8 | v << (24 - Bits)) & Mask * 0x0100010001000100;
    return V::widen_row_words(low) | (Words)v;
}

// GridRows<F>: kGrid, rows of kBytes values; the index of row k of a block: number(block, k), or
// numbers<V>(block, k) for that row and the next ones; signs<U>(block, i) of chunk i.
template <class F> struct GridRows;

// Indices of N rows of a block, if they must be computed.
template <class F, class V, unsigned N> struct RowNumbers {
    using Block = typename F::Block;
    static constexpr bool kMade = requires(const Block &b) {
        GridRows<F>::template numbers<V>(b, 0);
    };
    alignas(32) uint16_t of[kMade ? N : 1];

    // Computes the indices from row `first` on.
    GGUFX_INLINE void make(const Block &b, unsigned first) {
        if constexpr (kMade) {
#pragma GCC unroll 8
            for (unsigned k = 0; k < N; k += sizeof(typename V::RowWords) / 2) {
                const auto some = GridRows<F>::template numbers<V>(b, first + k);
                __builtin_memcpy(of + k, &some, sizeof some);
            }
            // through memory, because the port that extracts vector elements is busy
            __asm__("" : "+m"(of));
        }
    }
    // Returns the address of row first + k of the block.
    GGUFX_INLINE const int8_t *row(const Block &b, unsigned first, unsigned k) const {
        if constexpr (kMade)
            return GridRows<F>::kGrid.row[of[k]];
        else
            return GridRows<F>::kGrid.row[GridRows<F>::number(b, first + k)];
    }
};

template <> struct GridRows<fmt::IQ2_XXS> {
    using Block = fmt::IQ2_XXS::Block;
    static constexpr const auto &kGrid = fmt::kGridIq2Xxs;
    static constexpr unsigned kBytes = 8;
    static GGUFX_INLINE unsigned number(const Block &b, unsigned k) {
        return b.qs[8 * (k / 4) + k % 4];
    }
    template <class U> static GGUFX_INLINE auto signs(const Block &b, unsigned i) {
        const uint8_t *groups = b.qs + U::in_half(i, 32); // every second 32-bit word
        constexpr int no = -1;
        return even_signs7<U>(
            U::template pick<4, 5, 6, 7, 12, 13, 14, 15, no, no, no, no, no, no, no, no>(
                U::load_sixteen(groups, 32)) |
            U::template pick<no, no, no, no, no, no, no, no, 4, 5, 6, 7, 12, 13, 14, 15>(
                U::load_sixteen(groups + 16, 32)));
    }
};

template <> struct GridRows<fmt::IQ2_XS> {
    using Block = fmt::IQ2_XS::Block;
    static constexpr const auto &kGrid = fmt::kGridIq2Xs;
    static constexpr unsigned kBytes = 8;
    template <class V> static GGUFX_INLINE auto numbers(const Block &b, unsigned k) {
        typename V::RowWords words;
        __builtin_memcpy(&words, b.qs + 2 * k, sizeof words);
        return words & 511;
    }
    template <class U> static GGUFX_INLINE auto signs(const Block &b, unsigned i) {
        const uint8_t *words = b.qs + U::in_half(i, 32); // 16-bit words, signs in the upper 7
        constexpr int no = -1;
        const auto high =
            U::template pick<1, 3, 5, 7, 9, 11, 13, 15, no, no, no, no, no, no, no, no>(
                U::load_sixteen(words, 32)) |
            U::template pick<no, no, no, no, no, no, no, no, 1, 3, 5, 7, 9, 11, 13, 15>(
                U::load_sixteen(words + 16, 32));
        return even_signs<U>(high >> 1);
    }
};

template <> struct GridRows<fmt::IQ2_S> {
    using Block = fmt::IQ2_S::Block;
    static constexpr const auto &kGrid = fmt::kGridIq2S;
    static constexpr unsigned kBytes = 8;
    template <class V> static GGUFX_INLINE auto numbers(const Block &b, unsigned k) {
        return row_numbers<V, 2, 8, 3>(b.qs + k, b.qh + k / 4);
    }
    template <class U> static GGUFX_INLINE auto signs(const Block &b, unsigned i) {
        return U::load_sixteen(b.signs + U::in_half(i, 16), 16);
    }
};

template <> struct GridRows<fmt::IQ3_XXS> {
    using Block = fmt::IQ3_XXS::Block;
    static constexpr const auto &kGrid = fmt::kGridIq3Xxs;
    static constexpr unsigned kBytes = 4;
    static GGUFX_INLINE unsigned number(const Block &b, unsigned k) { return b.qs[k]; }
    template <class U> static GGUFX_INLINE auto signs(const Block &b, unsigned i) {
        return even_signs7<U>(U::load_sixteen(b.gas + U::in_half(i, 16), 16));
    }
};

template <> struct GridRows<fmt::IQ3_S> {
    using Block = fmt::IQ3_S::Block;
    static constexpr const auto &kGrid = fmt::kGridIq3S;
    static constexpr unsigned kBytes = 4;
    template <class V> static GGUFX_INLINE auto numbers(const Block &b, unsigned k) {
        return row_numbers<V, 1, 4, 1>(b.qs + k, b.qh + k / 8);
    }
    template <class U> static GGUFX_INLINE auto signs(const Block &b, unsigned i) {
        return U::load_sixteen(b.signs + U::in_half(i, 16), 16);
    }
};

template <> struct GridRows<fmt::IQ1_S> {
    using Block = fmt::IQ1_S::Block;
    static constexpr const auto &kGrid = fmt::kGridIq1;
    static constexpr unsigned kBytes = 8;
    template <class V> static GGUFX_INLINE auto numbers(const Block &b, unsigned k) {
        return row_numbers<V, 3, 16, 7>(b.qs + k, b.qh + k / 4 * 2);
    }
    template <class U> static GGUFX_INLINE auto signs(const Block &b, unsigned i) {
        using Signed =
            As<int8_t, typename U::Sixteen>; // the top bit of a word belongs to 32 values
        const auto tops = U::template pick<1, 1, 1, 1, 3, 3, 3, 3, 5, 5, 5, 5, 7, 7, 7, 7>(
            U::load_eights(b.qh + U::in_half(i, 8), 8));
        return (typename U::Sixteen)((Signed)tops < 0);
    }
};

template <> struct GridRows<fmt::IQ1_M> {
    using Block = fmt::IQ1_M::Block;
    static constexpr const auto &kGrid = fmt::kGridIq1;
    static constexpr unsigned kBytes = 8;
    template <class V> static GGUFX_INLINE auto numbers(const Block &b, unsigned k) {
        return row_numbers<V, 4, 16, 7>(b.qs + k, b.qh + k / 2);
    }
    template <class U> static GGUFX_INLINE auto signs(const Block &b, unsigned i) {
        const auto bits = repeat<typename U::Sixteen, uint8_t, 8, 128, 8, 128, 8, 128, 8, 128, 8,
                                 128, 8, 128, 8, 128, 8, 128>(); // for the nibbles of each byte
        const auto twice = U::template pick<0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7>(
            U::load_eights(b.qh + U::in_half(i, 8), 8));
        return (typename U::Sixteen)((twice & bits) == bits);
    }
};

// The f16 bits of d, stored in the top nibbles of four words.
struct HalfBytes {
    uint8_t bits[2];
};
GGUFX_INLINE HalfBytes iq1_m_d(const fmt::IQ1_M::Block &b) {
    const uint8_t *s = b.scales;
    return {{static_cast<uint8_t>(s[1] >> 4 | (s[3] & 0xf0)),
             static_cast<uint8_t>(s[5] >> 4 | (s[7] & 0xf0))}};
}

// Codes are 8 * grid + (sign ? -1 : 1) instead of +-grid.
template <class F> constexpr bool kTernaryGrid = false;
template <> constexpr bool kTernaryGrid<fmt::IQ1_S> = true;
template <> constexpr bool kTernaryGrid<fmt::IQ1_M> = true;

} // namespace
} // namespace ggufx::kernels
