// Extracts words from sixteen adjacent blocks by permuting whole registers. For d of Q4_0, three
// instructions replace 23 loads and inserts.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/common.hpp"

#include <immintrin.h>

namespace ggufx::kernels::avx512 {
namespace {

template <unsigned Per> struct WordsInOrder {
    static constexpr unsigned word(unsigned b, unsigned i) { return Per * b + i; }
};

// Positions of Per words from byte At of each block of Bytes bytes: word i of block b goes to
// To::word(b, i). A pair of registers holds the words of kEach blocks. An odd position selects
// the word that contains the byte.
template <unsigned Bytes, unsigned At, unsigned Per, class To> struct WordPlaces {
    static constexpr unsigned kEach = (128 - Bytes % 2 - At - 2 * Per) / Bytes + 1;
    static constexpr unsigned kPairs = (16 + kEach - 1) / kEach;
    // No byte after the blocks is read.
    static constexpr unsigned start(unsigned pair) {
        const unsigned first = pair * kEach * Bytes / 2 * 2, last = 16 * Bytes - 128;
        return first < last ? first : last;
    }
    alignas(64) uint16_t index[kPairs][32];
    uint32_t mask[kPairs];
    constexpr WordPlaces() : index(), mask() {
        for (unsigned b = 0; b < 16; b++) {
            const unsigned pair = b / kEach, first = (b * Bytes + At - start(pair)) / 2;
            for (unsigned i = 0; i < Per; i++) {
                index[pair][To::word(b, i)] = static_cast<uint16_t>(first + i);
                mask[pair] |= 1u << To::word(b, i);
            }
        }
    }
};
template <unsigned Bytes, unsigned At, unsigned Per, class To>
constexpr WordPlaces<Bytes, At, Per, To> kWordPlaces = {};

template <unsigned Bytes, unsigned At, unsigned Per, class To = WordsInOrder<Per>>
GGUFX_INLINE __m512i pick_words(const void *blocks) {
    static_assert(Bytes >= 16 && Bytes <= 64 && Per <= 2);
    using Places = WordPlaces<Bytes, At, Per, To>;
    constexpr const Places &places = kWordPlaces<Bytes, At, Per, To>;
    const auto *p = static_cast<const uint8_t *>(blocks);
    __m512i words = _mm512_setzero_si512();
#pragma GCC unroll 8
    for (unsigned i = 0; i < Places::kPairs; i++) {
        const uint8_t *from = p + Places::start(i);
        const __m512i some = _mm512_maskz_permutex2var_epi16(
            places.mask[i], _mm512_loadu_si512(from), _mm512_load_si512(places.index[i]),
            _mm512_loadu_si512(from + 64));
        words = i == 0 ? some : _mm512_or_si512(words, some);
    }
    return words;
}

} // namespace
} // namespace ggufx::kernels::avx512
