// What the IQ types with codebooks have in a chunk: rows of a grid and signs. Rows are loaded one
// by one (how fast a gather is depends on microcode); signs are made for all values at once: 16
// bytes per half of a block, bit i of byte k for value i of the k-th eight (IQ1: all bits, of the
// shift).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/all.hpp"
#include "kernels/loops/bytes.hpp"
#include "kernels/loops/common.hpp"

namespace ggufx::kernels {
namespace {

// Bit 7 of each byte makes the number of its bits even.
template <class V> GGUFX_INLINE typename V::Sixteen even_signs(typename V::Sixteen v) {
    constexpr uint8_t odd = 128; // parity of four bits
    constexpr auto parity = repeat<typename V::Sixteen, uint8_t, 0, odd, odd, 0, odd, 0, 0, odd,
                                   odd, 0, 0, odd, 0, odd, odd, 0>();
    return v | V::pick_at(parity, (v ^ v >> 4) & 15);
}
// The same from four fields of seven bits in words of 32.
template <class V> GGUFX_INLINE typename V::Sixteen even_signs7(typename V::Sixteen fields) {
    using Words = As<uint32_t, typename V::Sixteen>;
    Words v = (Words)fields;
    v = (v & 0x3fff) | (v & 0x0fffc000) << 2;
    return even_signs<V>((typename V::Sixteen)((v & 0x007f007f) | (v & 0x3f803f80) << 1));
}

// GridRows<F>: row(block, half, k) is where grid row k of a half is, kBytes values; signs<U>(block,
// i) those of chunk i.
template <class F> struct GridRows;

template <> struct GridRows<fmt::IQ2_XXS> {
    using Block = fmt::IQ2_XXS::Block;
    static constexpr unsigned kBytes = 8;
    static GGUFX_INLINE const int8_t *row(const Block &b, unsigned half, unsigned k) {
        return fmt::kGridIq2Xxs.row[b.qs[32 * half + 8 * (k / 4) + k % 4]];
    }
    template <class U> static GGUFX_INLINE auto signs(const Block &b, unsigned i) {
        const uint8_t *groups = b.qs + U::in_half(i, 32); // every second word of 32 bits
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
    static constexpr unsigned kBytes = 8;
    static GGUFX_INLINE const int8_t *row(const Block &b, unsigned half, unsigned k) {
        return fmt::kGridIq2Xs.row[load_u16le(b.qs + 32 * half + 2 * k) & 511];
    }
    template <class U> static GGUFX_INLINE auto signs(const Block &b, unsigned i) {
        const uint8_t *words = b.qs + U::in_half(i, 32); // of 16 bits, the upper seven of each
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
    static constexpr unsigned kBytes = 8;
    static GGUFX_INLINE const int8_t *row(const Block &b, unsigned half, unsigned k) {
        const unsigned high = load_u32le(b.qh + 4 * half) >> (2 * k) & 3;
        return fmt::kGridIq2S.row[b.qs[16 * half + k] | high << 8];
    }
    template <class U> static GGUFX_INLINE auto signs(const Block &b, unsigned i) {
        return U::load_sixteen(b.signs + U::in_half(i, 16), 16);
    }
};

template <> struct GridRows<fmt::IQ3_XXS> {
    using Block = fmt::IQ3_XXS::Block;
    static constexpr unsigned kBytes = 4;
    static GGUFX_INLINE const int8_t *row(const Block &b, unsigned half, unsigned k) {
        return fmt::kGridIq3Xxs.row[b.qs[32 * half + k]];
    }
    template <class U> static GGUFX_INLINE auto signs(const Block &b, unsigned i) {
        return even_signs7<U>(U::load_sixteen(b.gas + U::in_half(i, 16), 16));
    }
};

template <> struct GridRows<fmt::IQ3_S> {
    using Block = fmt::IQ3_S::Block;
    static constexpr unsigned kBytes = 4;
    static GGUFX_INLINE const int8_t *row(const Block &b, unsigned half, unsigned k) {
        const unsigned high = load_u32le(b.qh + 4 * half) >> k & 1;
        return fmt::kGridIq3S.row[b.qs[32 * half + k] | high << 8];
    }
    template <class U> static GGUFX_INLINE auto signs(const Block &b, unsigned i) {
        return U::load_sixteen(b.signs + U::in_half(i, 16), 16);
    }
};

template <> struct GridRows<fmt::IQ1_S> {
    using Block = fmt::IQ1_S::Block;
    static constexpr unsigned kBytes = 8;
    static GGUFX_INLINE const int8_t *row(const Block &b, unsigned half, unsigned k) {
        const unsigned high = load_u16le(b.qh + 8 * half + k / 4 * 2) >> (3 * (k % 4)) & 7u;
        return fmt::kGridIq1.row[b.qs[16 * half + k] | high << 8];
    }
    template <class U> static GGUFX_INLINE auto signs(const Block &b, unsigned i) {
        using Signed =
            As<int8_t, typename U::Sixteen>; // the top bit of a word is that of 32 values
        const auto tops = U::template pick<1, 1, 1, 1, 3, 3, 3, 3, 5, 5, 5, 5, 7, 7, 7, 7>(
            U::load_eights(b.qh + U::in_half(i, 8), 8));
        return (typename U::Sixteen)((Signed)tops < 0);
    }
};

template <> struct GridRows<fmt::IQ1_M> {
    using Block = fmt::IQ1_M::Block;
    static constexpr unsigned kBytes = 8;
    static GGUFX_INLINE const int8_t *row(const Block &b, unsigned half, unsigned k) {
        const unsigned high = b.qh[8 * half + k / 2] >> (4 * (k % 2)) & 7u;
        return fmt::kGridIq1.row[b.qs[16 * half + k] | high << 8];
    }
    template <class U> static GGUFX_INLINE auto signs(const Block &b, unsigned i) {
        const auto bits = repeat<typename U::Sixteen, uint8_t, 8, 128, 8, 128, 8, 128, 8, 128, 8,
                                 128, 8, 128, 8, 128, 8, 128>(); // of the nibbles of each byte
        const auto twice = U::template pick<0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7>(
            U::load_eights(b.qh + U::in_half(i, 8), 8));
        return (typename U::Sixteen)((twice & bits) == bits);
    }
};

// The f16 bits of d, spread over the top nibbles of four words.
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
