// Row-wise products (n = 1..8 columns) with f32 activations: C4 for float types (distant streams as
// in matvec.hpp), C6 for block types. Lane j accumulates values j, j + 16, ...
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/dequant.hpp"

namespace ggufx::kernels {
namespace {

// ---- C4 -----------------------------------------------------------------------------------------

// Sixteen lanes per column of a row.
template <class V, unsigned Columns> using FloatLanes = typename V::Vf[Columns][16 / V::kLanes];

// Adds sixteen values from `at` on of rows processed together: each load of a column serves all
// rows.
template <class V, class F, unsigned Side, unsigned Columns>
GGUFX_INLINE void add_values(FloatLanes<V, Columns> *lanes, const uint8_t *const *rows,
                             const float *const *x, size_t at) {
    constexpr size_t n_bytes = sizeof(typename F::Block);
#pragma GCC unroll 4
    for (size_t p = 0; p < 16 / V::kLanes; p++) {
        const size_t k = at + p * V::kLanes;
        typename V::Vf values[Side];
#pragma GCC unroll 4
        for (unsigned s = 0; s < Side; s++)
            values[s] = LoadFloat<V, F>::load(rows[s] + k * n_bytes);
#pragma GCC unroll 8
        for (unsigned c = 0; c < Columns; c++) {
            auto column = V::load(x[c] + k);
            if constexpr (Side > 1) V::keep_in_register(column);
#pragma GCC unroll 4
            for (unsigned s = 0; s < Side; s++) {
                lanes[s][c][p] = V::fma(values[s], column, lanes[s][c][p]);
            }
        }
    }
}

// Adds the last 1..15 values of a row, padded with zeros.
template <class V, class F, unsigned Columns>
GGUFX_INLINE void add_last_values(FloatLanes<V, Columns> *lanes, const uint8_t *row,
                                  const ActF32 *act, size_t first) {
    constexpr size_t n_bytes = sizeof(typename F::Block);
    const size_t n = act[0].k - first;
    uint8_t last_w[16 * n_bytes] = {};
    float last_x[Columns][16] = {};
    const uint8_t *w = last_w;
    const float *x[Columns];
    __builtin_memcpy(last_w, row + first * n_bytes, n * n_bytes);
    for (unsigned c = 0; c < Columns; c++) {
        __builtin_memcpy(last_x[c], act[c].x + first, n * sizeof(float));
        x[c] = last_x[c];
    }
    add_values<V, F, 1, Columns>(lanes, &w, x, 0);
}

// Adds 64 bytes of each row, from value k on. With a single column, nothing is loaded twice, so
// rows are processed one by one.
template <class V, class F, unsigned Side, unsigned Columns>
GGUFX_INLINE void add_line(FloatLanes<V, Columns> *lanes, const Rows &w, const uint8_t *const *rows,
                           const float *const *x, size_t k) {
    constexpr size_t n_bytes = sizeof(typename F::Block), n_line = 64 / n_bytes;
    constexpr unsigned n_each = Columns == 1 ? 1 : Side;
#pragma GCC unroll 4
    for (unsigned s = 0; s < Side; s += n_each) {
#pragma GCC unroll 4
        for (unsigned i = s; i < s + n_each; i++) prefetch_for<V, 64>(w, rows[i] + k * n_bytes);
#pragma GCC unroll 2
        for (size_t i = 0; i < n_line; i += 16)
            add_values<V, F, n_each, Columns>(lanes + s, rows + s, x, k + i);
    }
}

// A task reads its rows in several distant streams. As many rows are processed together as
// registers hold sums of. With fewer rows than streams, each group of rows proceeds by one block at
// a time.
template <class V, unsigned Columns> struct FloatStreams {
    static constexpr unsigned kSums = V::kLanes == 8 ? 12 : 24;
    static constexpr unsigned kFit = kSums / (Columns * 16 / V::kLanes);
    static constexpr unsigned kAll = V::kLanes == 16 && kFit == 3 ? 3 : 4;
    static constexpr unsigned kSide = kFit >= kAll ? kAll : kFit >= 2 ? 2 : 1;
    static constexpr size_t kBlockBytes = 256;
};

// Multiplies n rows: `row`, row + far, and so on, one per stream. A group that needs more rows
// repeats the last one.
template <class V, class F, unsigned Columns>
GGUFX_INLINE void float_rows(Out y, const Rows &w, const ActF32 *act, size_t row, size_t far,
                             unsigned n) {
    using Plan = FloatStreams<V, Columns>;
    constexpr unsigned n_streams = Plan::kAll, n_side = Plan::kSide;
    constexpr size_t n_bytes = sizeof(typename F::Block), n_line = 64 / n_bytes;
    FloatLanes<V, Columns> sums[n_streams];
    const uint8_t *rows[n_streams];
    const float *x[Columns];
#pragma GCC unroll 4
    for (unsigned s = 0; s < n_streams; s++)
        rows[s] = w.data + (row + (s < n ? s : n - 1) * far) * w.stride;
#pragma GCC unroll 8
    for (unsigned c = 0; c < Columns; c++) x[c] = act[c].x;
    __builtin_memset(&sums, 0, sizeof sums);
    const size_t n_whole = w.k / n_line * n_line;
    const size_t n_block = n_side == n_streams ? n_whole : Plan::kBlockBytes / n_bytes;
    for (size_t first = 0; first < n_whole; first += n_block) {
        const size_t end = n_whole - first < n_block ? n_whole : first + n_block;
#pragma GCC unroll 1
        for (unsigned s = 0; s < n_streams; s += n_side) {
            FloatLanes<V, Columns> lanes[n_side];
            __builtin_memcpy(&lanes, &sums[s], sizeof lanes);
            for (size_t k = first; k < end; k += n_line)
                add_line<V, F, n_side, Columns>(lanes, w, rows + s, x, k);
            __builtin_memcpy(&sums[s], &lanes, sizeof lanes);
        }
    }
#pragma GCC unroll 1
    for (unsigned s = 0; s < n; s++) {
        size_t k = n_whole;
        for (; k + 16 <= w.k; k += 16) add_values<V, F, 1, Columns>(sums + s, rows + s, x, k);
        if (k < w.k) add_last_values<V, F, Columns>(sums + s, rows[s], act, k);
#pragma GCC unroll 1
        for (unsigned c = 0; c < Columns; c++)
            y.y[c * y.ld + row + s * far] = finish(V::tree(sums[s][c]));
    }
}

template <class V, class F, unsigned Columns> void float_columns(Out y, Rows w, const ActF32 *act) {
    constexpr unsigned n_streams = FloatStreams<V, Columns>::kAll;
    if constexpr (n_streams != kStreams) {
        if (w.far) { // one group after another
            for (size_t s = 0; s < kStreams; s++) {
                const size_t first = s * w.far;
                float_columns<V, F, Columns>(
                    {y.y + first, y.ld},
                    {w.data + first * w.stride, w.stride, w.n / kStreams, w.k, w.near}, act);
            }
            return;
        }
    }
    const size_t n_each = w.n / n_streams, n_left = w.n % n_streams;
    const size_t far = w.far ? w.far : n_each;
#pragma GCC unroll 1
    for (size_t r = 0; r < n_each + (n_left != 0); r++) {
        const bool whole = r < n_each;
        float_rows<V, F, Columns>(y, w, act, whole ? r : n_streams * n_each, whole ? far : 1,
                                  whole ? n_streams : static_cast<unsigned>(n_left));
    }
}

// Loops of 8, 6, 4, 3, 2 and 1 columns.
template <class V, class F, unsigned Columns = V::kLanes == 16 ? 8 : 4>
void matvec_floats(Out y, Rows w, const ActF32 *act, size_t n) {
    for (; n >= Columns; n -= Columns, act += Columns, y.y += Columns * y.ld)
        float_columns<V, F, Columns>(y, w, act);
    if constexpr (Columns > 1) {
        constexpr unsigned fewer = Columns > 4 ? Columns - 2 : Columns - 1;
        if (n > 0) matvec_floats<V, F, fewer>(y, w, act, n);
    }
}

// ---- C6 -----------------------------------------------------------------------------------------

// Sixteen lanes per column of a row.
template <class V, unsigned Columns> using LanesF32 = typename V::Vf[Columns][16 / V::kLanes];

// Adds block j of a step, block b of its row, to all lanes.
template <unsigned Columns, class V, unsigned Group>
GGUFX_INLINE void add_block_f32(LanesF32<V, Columns> &lanes, const Step<V, Group> &step, size_t j,
                                const ActF32 *act, size_t b) {
#pragma GCC unroll 4
    for (size_t p = 0; p < 16 / V::kLanes; p++) {
        const size_t i = p * V::kLanes;
        const auto c0 = step.code(32 * j + i), c1 = step.code(32 * j + 16 + i);
#pragma GCC unroll 3
        for (unsigned c = 0; c < Columns; c++) {
            const float *x = act[c].x + 32 * b + i;
            auto &lane = lanes[c][p];
            const auto low = V::mul(c0, V::load(x)), high = V::load(x + 16);
            if constexpr (Group == 32) {
                lane = V::fma(V::fma(c1, high, low), V::set1(step.scale[j]), lane);
            } else {
                lane = V::fma(low, V::set1(step.scale[2 * j]), lane);
                lane = V::fma(V::mul(c1, high), V::set1(step.scale[2 * j + 1]), lane);
            }
        }
    }
}

// Adds the n_blocks blocks of a step, the first of which is block `first` of its row. Vector Part
// of the sixteen lanes accumulates their minimums.
template <size_t Part, unsigned Shifts, unsigned Columns, class V, unsigned Group>
GGUFX_INLINE void add_step_f32(LanesF32<V, Columns> &to, const Step<V, Group> &step,
                               const ActF32 *act, size_t first, size_t n_blocks) {
    LanesF32<V, Columns> lanes;
    __builtin_memcpy(&lanes, &to, sizeof lanes);
    for (size_t j = 0; j < n_blocks; j++) {
        add_block_f32<Columns>(lanes, step, j, act, first + j);
#pragma GCC unroll 3
        for (unsigned c = 0; c < Columns; c++) {
            const float *sums = Group == 32 ? act[c].sum32 : act[c].sum16;
#pragma GCC unroll 2
            for (size_t z = 0; z < Shifts; z++) {
                lanes[c][Part] =
                    V::fma_lane(static_cast<unsigned>(j), V::set1(step.shift[Shifts * j + z]),
                                V::set1(sums[Shifts * (first + j) + z]), lanes[c][Part]);
            }
        }
    }
    __builtin_memcpy(&to, &lanes, sizeof lanes);
}

// Makes the vector of the minimums a constant, because the lanes are in registers.
template <unsigned Shifts, unsigned Columns, class V, unsigned Group, size_t Part = 0>
GGUFX_INLINE void add_step_f32_at(size_t part, LanesF32<V, Columns> &lanes,
                                  const Step<V, Group> &step, const ActF32 *act, size_t first,
                                  size_t n_blocks) {
    if constexpr (Shifts != 0 && Part + 1 < 16 / V::kLanes) {
        if (part != Part) {
            return add_step_f32_at<Shifts, Columns, V, Group, Part + 1>(part, lanes, step, act,
                                                                        first, n_blocks);
        }
    }
    add_step_f32<Part, Shifts, Columns>(lanes, step, act, first, n_blocks);
}

template <unsigned Shifts, unsigned Columns, class V, unsigned Group>
void matvec_columns_f32(Out y, const Rows &w, const ActF32 *act, const Blocks<V, Group> &blocks) {
    constexpr size_t n_parts = 16 / V::kLanes;
    const size_t n_blocks = w.k / 32, n_tail = w.k % (32 * V::kLanes) / blocks.values;
    Step<V, Group> step;
    for (size_t r = 0; r < w.n; r++) {
        const size_t row = place_of(w, r);
        const uint8_t *at = w.data + row * w.stride;
        LanesF32<V, Columns> lanes;
        __builtin_memset(&lanes, 0, sizeof lanes);
        for (size_t b = 0; b < n_blocks; b += V::kLanes, at += blocks.step_bytes) {
            const bool whole = b + V::kLanes <= n_blocks;
            blocks.prefetch_step(at);
            blocks.load(step, at, whole ? blocks.step_blocks : n_tail);
            add_step_f32_at<Shifts, Columns>(b / V::kLanes % n_parts, lanes, step, act, b,
                                             whole ? V::kLanes : n_blocks - b);
        }
        for (unsigned c = 0; c < Columns; c++) y.y[c * y.ld + row] = finish(V::tree(lanes[c]));
    }
}

template <unsigned Shifts, class V, unsigned Group>
__attribute__((noinline)) void matvec_any_f32(Out y, const Rows &w, const ActF32 *act, size_t n,
                                              const Blocks<V, Group> &blocks) {
    for (; n >= 3; n -= 3, act += 3, y.y += 3 * y.ld)
        matvec_columns_f32<Shifts, 3>(y, w, act, blocks);
    if (n == 1) matvec_columns_f32<Shifts, 1>(y, w, act, blocks);
    if (n == 2) matvec_columns_f32<Shifts, 2>(y, w, act, blocks);
}

template <class U> void matvec_blocks_f32(Out y, Rows w, const ActF32 *act, size_t n) {
    matvec_any_f32<U::kShifts>(y, w, act, n, kBlocksOf<U>);
}

// Sums of x over 32 or 16 values (C6).
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
} // namespace ggufx::kernels
