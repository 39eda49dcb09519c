// The IQ types by plain loads of grid rows: what every instruction set can do. 32 values are four
// 64-bit words of grid values and a word of signs.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq1_m.hpp"
#include "formats/iq1_s.hpp"
#include "formats/iq2_s.hpp"
#include "formats/iq2_xs.hpp"
#include "formats/iq2_xxs.hpp"
#include "formats/iq3_s.hpp"
#include "formats/iq3_xxs.hpp"
#include "kernels/loops/common.hpp"

namespace ggufx {
namespace kernels {
namespace {

struct Grid32 {
    uint64_t rows[4]; // values in order, int8
    uint32_t signs;   // bit i: value i is negative (IQ1: its shift is)
};

// load(block, j): values 32 * j .. 32 * j + 31.
template <class F> struct GridRows;

// Two rows of four values.
template <class G> GGUFX_INLINE uint64_t two_rows(const G &grid, unsigned first, unsigned second) {
    uint32_t a, b;
    __builtin_memcpy(&a, grid.row[first], 4);
    __builtin_memcpy(&b, grid.row[second], 4);
    return a | static_cast<uint64_t>(b) << 32;
}
template <class G> GGUFX_INLINE uint64_t one_row(const G &grid, unsigned index) {
    uint64_t v;
    __builtin_memcpy(&v, grid.row[index], 8);
    return v;
}

// Four bytes of signs from four 7-bit fields: bit 7 of each makes the number of signs even.
GGUFX_INLINE uint32_t even_signs(uint32_t bytes) {
    uint32_t parity = bytes ^ bytes >> 4; // right in the low half of each byte
    parity ^= parity >> 2;
    parity ^= parity >> 1;
    return bytes | (parity & 0x01010101u) << 7;
}
GGUFX_INLINE uint32_t spread7(uint32_t fields) {
    return (fields & 0x7f) | (fields << 1 & 0x7f00) | (fields << 2 & 0x7f0000) |
           (fields << 3 & 0x7f000000);
}

template <> struct GridRows<fmt::IQ2_XXS> {
    static GGUFX_INLINE Grid32 load(const fmt::IQ2_XXS::Block &b, unsigned j) {
        const uint8_t *group = b.qs + 8 * j;
        const auto row = [group](unsigned l) __attribute__((always_inline)) {
            return one_row(fmt::kGridIq2Xxs, group[l]);
        };
        return {{row(0), row(1), row(2), row(3)}, even_signs(spread7(load_u32le(group + 4)))};
    }
};

template <> struct GridRows<fmt::IQ2_XS> {
    static GGUFX_INLINE Grid32 load(const fmt::IQ2_XS::Block &b, unsigned j) {
        Grid32 to;
        uint32_t signs = 0;
#pragma GCC unroll 4
        for (unsigned l = 0; l < 4; l++) {
            const unsigned word = load_u16le(b.qs + 8 * j + 2 * l);
            to.rows[l] = one_row(fmt::kGridIq2Xs, word & 511);
            signs |= (word >> 9) << (8 * l);
        }
        to.signs = even_signs(signs);
        return to;
    }
};

template <> struct GridRows<fmt::IQ2_S> {
    static GGUFX_INLINE Grid32 load(const fmt::IQ2_S::Block &b, unsigned j) {
        const unsigned high = b.qh[j];
        const auto row = [&b, j, high ](unsigned l) __attribute__((always_inline)) {
            return one_row(fmt::kGridIq2S, b.qs[4 * j + l] | (high << (8 - 2 * l) & 0x300));
        };
        return {{row(0), row(1), row(2), row(3)}, load_u32le(b.signs + 4 * j)};
    }
};

template <> struct GridRows<fmt::IQ3_XXS> {
    static GGUFX_INLINE Grid32 load(const fmt::IQ3_XXS::Block &b, unsigned j) {
        const uint8_t *q = b.qs + 8 * j;
        const auto row = [q](unsigned l) __attribute__((always_inline)) {
            return two_rows(fmt::kGridIq3Xxs, q[2 * l], q[2 * l + 1]);
        };
        return {{row(0), row(1), row(2), row(3)}, even_signs(spread7(load_u32le(b.gas + 4 * j)))};
    }
};

template <> struct GridRows<fmt::IQ3_S> {
    static GGUFX_INLINE Grid32 load(const fmt::IQ3_S::Block &b, unsigned j) {
        const uint8_t *q = b.qs + 8 * j;
        const unsigned high = b.qh[j];
        const auto row = [ q, high ](unsigned l) __attribute__((always_inline)) {
            return two_rows(fmt::kGridIq3S, q[2 * l] | (high << (8 - 2 * l) & 256),
                            q[2 * l + 1] | (high << (7 - 2 * l) & 256));
        };
        return {{row(0), row(1), row(2), row(3)}, load_u32le(b.signs + 4 * j)};
    }
};

template <> struct GridRows<fmt::IQ1_S> {
    static GGUFX_INLINE Grid32 load(const fmt::IQ1_S::Block &b, unsigned j) {
        const unsigned high = load_u16le(b.qh + 2 * j);
        const auto row = [&b, j, high ](unsigned l) __attribute__((always_inline)) {
            return one_row(fmt::kGridIq1, b.qs[4 * j + l] | (high >> (3 * l) & 7) << 8);
        };
        return {{row(0), row(1), row(2), row(3)}, 0u - (high >> 15)};
    }
};

template <> struct GridRows<fmt::IQ1_M> {
    static GGUFX_INLINE Grid32 load(const fmt::IQ1_M::Block &b, unsigned j) {
        const unsigned high = load_u16le(b.qh + 2 * j); // four nibbles: 3 index bits, sign
        const auto row = [&b, j, high ](unsigned l) __attribute__((always_inline)) {
            return one_row(fmt::kGridIq1, b.qs[4 * j + l] | (high >> (4 * l) & 7) << 8);
        };
        const uint32_t signs =
            (high >> 3 & 1) | (high << 1 & 0x100) | (high << 5 & 0x10000) | (high << 9 & 0x1000000);
        return {{row(0), row(1), row(2), row(3)}, signs * 255};
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
} // namespace kernels
} // namespace ggufx
