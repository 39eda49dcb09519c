// Codes of the IQ types on NEON: 32 signed codes from grid rows and signs.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/grid.hpp"
#include "kernels/neon/vec.hpp"

namespace ggufx::kernels::neon {
namespace {

// 16 values from two rows of 8, or from four of 4.
template <unsigned Bytes, class Rows>
GGUFX_INLINE int8x16_t join_rows(const Rows &rows, unsigned at) {
    const auto row = [&](unsigned k) __attribute__((always_inline)) {
        return rows(at / Bytes + k);
    };
    if constexpr (Bytes == 8) {
        return vcombine_s8(vld1_s8(row(0)), vld1_s8(row(1)));
    } else {
        const auto word = [&](unsigned k) __attribute__((always_inline)) {
            return reinterpret_cast<const int32_t *>(row(k)); // aligned in the grid
        };
        int32x4_t v = vld1q_dup_s32(word(0));
        v = vld1q_lane_s32(word(1), v, 1);
        v = vld1q_lane_s32(word(2), v, 2);
        return vreinterpretq_s8_s32(vld1q_lane_s32(word(3), v, 3));
    }
}
// 16 codes of values whose sign bytes are `first` and the next one.
template <bool Ternary>
GGUFX_INLINE int8x16_t grid_codes(int8x16_t v, uint8x16_t signs, unsigned first) {
    constexpr uint8_t kBytes[16] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
    const uint8x16_t index = vaddq_u8(vld1q_u8(kBytes), vdupq_n_u8(static_cast<uint8_t>(first)));
    const uint8x16_t bit = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201ull));
    const int8x16_t s = vreinterpretq_s8_u8(vtstq_u8(vqtbl1q_u8(signs, index), bit)); // -1 or 0
    if constexpr (Ternary) return vaddq_s8(vshlq_n_s8(v, 3), vorrq_s8(s, vdupq_n_s8(1)));
    return vsubq_s8(veorq_s8(v, s), s);
}

// Not inlined: a loop over four streams would contain twenty copies, for which gcc takes minutes.
template <class U>
__attribute__((noinline)) void load_grid(Vec::V8 (&c)[4], const typename U::Block *b, unsigned i) {
    using F = typename U::Format;
    constexpr bool ternary = kTernaryGrid<F>;
    constexpr unsigned bytes = GridRows<F>::kBytes;
    RowNumbers<F, U, 128 / bytes> numbers;
    numbers.make(*b, 128 / bytes * i);
    const auto rows = [&](unsigned k) __attribute__((always_inline)) {
        return numbers.row(*b, 128 / bytes * i, k);
    };
    const auto signs = (uint8x16_t)GridRows<F>::template signs<U>(*b, i);
#pragma GCC unroll 4
    for (unsigned j = 0; j < 4; j++) {
        c[j] = {grid_codes<ternary>(join_rows<bytes>(rows, 32 * j), signs, 4 * j),
                grid_codes<ternary>(join_rows<bytes>(rows, 32 * j + 16), signs, 4 * j + 2)};
    }
}

} // namespace
} // namespace ggufx::kernels::neon
