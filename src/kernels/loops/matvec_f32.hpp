// n = 1..3 columns of f32 activations: C4 for float types (four far streams as in matvec.hpp),
// C6 for block types. Lane j takes values j, j + 16, ...
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/dequant.hpp"

namespace ggufx {
namespace kernels {
namespace {

// ---- C4 -----------------------------------------------------------------------------------------

// Sixteen values of one row into the lanes of each column.
template <class V, class F, unsigned Columns, size_t Parts>
GGUFX_INLINE void add_values(typename V::Vf (&lanes)[Columns][Parts], const uint8_t *w,
                             const float *const *x) {
#pragma GCC unroll 4
    for (size_t p = 0; p < Parts; p++) {
        const auto v = LoadFloat<V, F>::load(w + p * V::kLanes * sizeof(typename F::Block));
#pragma GCC unroll 3
        for (unsigned c = 0; c < Columns; c++) {
            lanes[c][p] = V::fma(v, V::load(x[c] + p * V::kLanes), lanes[c][p]);
        }
    }
}

// The last 1..15 values, zeros behind them.
template <class V, class F, unsigned Columns, size_t Parts>
GGUFX_INLINE void add_last_values(typename V::Vf (&lanes)[Columns][Parts], const uint8_t *w,
                                  const ActF32 *act, size_t first) {
    constexpr size_t n_bytes = sizeof(typename F::Block);
    const size_t n = act[0].k - first;
    uint8_t last_w[16 * n_bytes] = {};
    float last_x[Columns][16] = {};
    const float *x[Columns];
    __builtin_memcpy(last_w, w + first * n_bytes, n * n_bytes);
    for (unsigned c = 0; c < Columns; c++) {
        __builtin_memcpy(last_x[c], act[c].x + first, n * sizeof(float));
        x[c] = last_x[c];
    }
    add_values<V, F, Columns>(lanes, last_w, x);
}

template <class V, class F, unsigned Streams, unsigned Columns>
GGUFX_INLINE void float_rows(Out y, const Rows &w, const ActF32 *act, size_t row, size_t far) {
    constexpr size_t n_bytes = sizeof(typename F::Block), n_line = 64 / n_bytes;
    typename V::Vf lanes[Streams][Columns][16 / V::kLanes];
    const uint8_t *rows[Streams];
#pragma GCC unroll 4
    for (unsigned s = 0; s < Streams; s++) {
        rows[s] = w.data + (row + s * far) * w.stride;
        for (unsigned c = 0; c < Columns; c++)
            for (auto &part : lanes[s][c]) part = V::zero();
    }
    const auto add = [&](unsigned s, size_t k) __attribute__((always_inline)) {
        const float *x[Columns];
        for (unsigned c = 0; c < Columns; c++) x[c] = act[c].x + k;
        add_values<V, F, Columns>(lanes[s], rows[s] + k * n_bytes, x);
    };
    size_t k = 0;
    for (; k + n_line <= w.k; k += n_line) {
#pragma GCC unroll 4
        for (unsigned s = 0; s < Streams; s++) {
            prefetch<64>(rows[s] + k * n_bytes);
#pragma GCC unroll 2
            for (size_t i = 0; i < n_line; i += 16) add(s, k + i);
        }
    }
#pragma GCC unroll 4
    for (unsigned s = 0; s < Streams; s++) {
        size_t first = k;
        for (; first + 16 <= w.k; first += 16) add(s, first);
        if (first < w.k) add_last_values<V, F, Columns>(lanes[s], rows[s], act, first);
#pragma GCC unroll 3
        for (unsigned c = 0; c < Columns; c++) {
            y.y[c * y.ld + row + s * far] = finish(V::tree(lanes[s][c]));
        }
    }
}

template <class V, class F, unsigned Columns> void float_columns(Out y, Rows w, const ActF32 *act) {
    constexpr size_t n_streams = 4;
    const size_t far = w.n / n_streams;
    for (size_t r = 0; r < far; r++) float_rows<V, F, n_streams, Columns>(y, w, act, r, far);
    for (size_t r = n_streams * far; r < w.n; r++) float_rows<V, F, 1, Columns>(y, w, act, r, 0);
}

template <class V, class F> void matvec_floats(Out y, Rows w, const ActF32 *act, size_t n) {
    if (n == 1) float_columns<V, F, 1>(y, w, act);
    if (n == 2) float_columns<V, F, 2>(y, w, act);
    if (n == 3) float_columns<V, F, 3>(y, w, act);
}

// ---- C6 -----------------------------------------------------------------------------------------

// Block j of the step, block b of the row, into the lanes of one column.
template <class U, size_t Parts>
GGUFX_INLINE void add_block_f32(typename U::Vf (&lanes)[Parts], const Step<U> &step, size_t j,
                                const float *x) {
#pragma GCC unroll 4
    for (size_t p = 0; p < Parts; p++) {
        const size_t i = p * U::kLanes;
        const auto low = U::mul(step.code(32 * j + i), U::load(x + i));
        const auto c = step.code(32 * j + 16 + i), high = U::load(x + 16 + i);
        if constexpr (U::kGroup == 32) {
            lanes[p] = U::fma(U::fma(c, high, low), U::set1(step.scale[j]), lanes[p]);
        } else {
            lanes[p] = U::fma(low, U::set1(step.scale[2 * j]), lanes[p]);
            lanes[p] = U::fma(U::mul(c, high), U::set1(step.scale[2 * j + 1]), lanes[p]);
        }
    }
}

template <class U, unsigned Columns>
void block_row_f32(Out y, const Rows &w, const ActF32 *act, size_t row, Tail<U> &tail) {
    constexpr unsigned n_parts = 16 / U::kLanes;
    const uint8_t *at = w.data + row * w.stride;
    typename U::Vf lanes[Columns][n_parts];
    for (auto &column : lanes)
        for (auto &part : column) part = U::zero();
    const auto add_step = [&](size_t b, const typename U::Block *blocks, size_t n_blocks,
                              unsigned part) __attribute__((always_inline)) {
        Step<U> step;
        step.load(blocks);
        for (size_t j = 0; j < n_blocks; j++) {
#pragma GCC unroll 3
            for (unsigned c = 0; c < Columns; c++) {
                add_block_f32<U>(lanes[c], step, j, act[c].x + 32 * (b + j));
                const float *sums = U::kGroup == 32 ? act[c].sum32 : act[c].sum16;
#pragma GCC unroll 2
                for (size_t z = 0; z < U::kShifts; z++) {
                    lanes[c][part] = U::fma_lane(
                        static_cast<unsigned>(j), U::set1(step.shift[U::kShifts * j + z]),
                        U::set1(sums[U::kShifts * (b + j) + z]), lanes[c][part]);
                }
            }
        }
    };
    const size_t n_blocks = w.k / 32, n_tail = w.k % kStepValues<U> / U::kValues;
    for (size_t b = 0; b < n_blocks; b += 16) {
#pragma GCC unroll 4
        for (unsigned p = 0; p < n_parts; p++) {
            const size_t first = b + p * U::kLanes;
            if (first + U::kLanes <= n_blocks) {
                prefetch<kStepBytes<U>>(at);
                add_step(first, blocks_at<U>(at), U::kLanes, p);
                at += kStepBytes<U>;
            } else if (first < n_blocks) {
                add_step(first, tail.fill(at, n_tail), n_blocks - first, p);
            }
        }
    }
    for (unsigned c = 0; c < Columns; c++) y.y[c * y.ld + row] = finish(U::tree(lanes[c]));
}

template <class U, unsigned Columns> void block_columns_f32(Out y, Rows w, const ActF32 *act) {
    Tail<U> tail;
    for (size_t r = 0; r < w.n; r++) block_row_f32<U, Columns>(y, w, act, r, tail);
}

template <class U> void matvec_blocks_f32(Out y, Rows w, const ActF32 *act, size_t n) {
    if (n == 1) block_columns_f32<U, 1>(y, w, act);
    if (n == 2) block_columns_f32<U, 2>(y, w, act);
    if (n == 3) block_columns_f32<U, 3>(y, w, act);
}

// C6's sums of x over 32 or 16 values.
template <class V> void sum_groups(float *sums, const float *x, size_t k, size_t group) {
    for (size_t g = 0; g < k / group; g++, x += group) {
        typename V::Vf l[16 / V::kLanes];
#pragma GCC unroll 4
        for (unsigned p = 0; p < 16 / V::kLanes; p++) {
            l[p] = V::load(x + p * V::kLanes);
            if (group == 32) l[p] = V::add(l[p], V::load(x + 16 + p * V::kLanes));
        }
        sums[g] = V::tree(l);
    }
}

} // namespace
} // namespace kernels
} // namespace ggufx
