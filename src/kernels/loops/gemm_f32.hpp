// Blocked products (n >= 4 columns) with f32 activations (C4, and C6 on dequantized values). A tile
// of rows is dequantized once, [k][kVectorsF32 * kLanes rows]. The micro-kernel runs one FMA chain
// over k per output, with rows in the lanes. It reads the caller's columns directly.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/dequant.hpp"
#include "kernels/loops/gemm.hpp"

namespace ggufx::kernels {
namespace {

constexpr unsigned kVectorsF32 = 2; // vectors of rows per tile, padded with the last row

// With 12, each vector of a tile is loaded half as often from L2: 1.04 times the speed.
template <class V> constexpr unsigned kColumnsF32 = V::kLanes == 16 ? 12 : 6;

inline size_t gemm_f32_bytes(size_t, size_t) {
    return 0;
}
inline void gemm_f32_pack(uint8_t *, const GemmAct &, size_t, size_t) {}

// Values first .. first + n - 1 of kLanes rows. `to` is their position in the tile, `stride` the
// rows of the tile. The last row repeats. `staging`: buffer of a dequantized step of kLanes rows,
// null if scratch is too small.
template <class V> struct TileFill {
    float *to;
    size_t stride, first, n;
    const uint8_t *rows[V::kLanes];
    size_t k;
    float *staging;
    size_t next; // bytes from a row to the same row of the next tile
};
template <class V> using FillF32 = void (*)(const TileFill<V> &fill);
template <class V> constexpr size_t kStagingBytes = V::kLanes * 32 * V::kLanes * sizeof(float);

// Values per cache line. Rows that are a power of two apart share few sets of L1, where a line may
// be evicted before its second half is read.
template <class F> constexpr size_t kLineValues = 64 / sizeof(typename F::Block);

// Returns the distance from a line of a row to the line needed kPrefetchAhead bytes later. After
// the end of the row, that is a line of the next tile.
template <class V, class F> GGUFX_INLINE size_t line_ahead(const TileFill<V> &fill, size_t i) {
    const size_t n_row = fill.k * sizeof(typename F::Block);
    const size_t at = (fill.first + i) * sizeof(typename F::Block);
    return at + kPrefetchAhead < n_row ? kPrefetchAhead : kPrefetchAhead + fill.next - n_row;
}

// Fills BF16 rows on sets with a specialized transpose. Returns the number of values; fill_floats
// does the rest.
template <class V> GGUFX_INLINE size_t fill_bf16(const TileFill<V> &fill) {
    constexpr size_t n_line = kLineValues<fmt::BF16>;
    size_t i = 0;
    if constexpr (requires { V::kTransposesBf16; }) {
        for (; i + n_line <= fill.n; i += n_line) {
            const size_t at = (fill.first + i) * 2, ahead = line_ahead<V, fmt::BF16>(fill, i);
            for (const uint8_t *row : fill.rows) prefetch_at<64>(row + at + ahead);
            for (size_t j = 0; j < n_line; j += V::kLanes) {
                typename V::Vf v[V::kLanes];
                V::load_transposed_bf16(
                    v, [&](unsigned r)
                           __attribute__((always_inline)) { return fill.rows[r] + at + 2 * j; });
                float *to = fill.to + (i + j) * fill.stride;
#pragma GCC unroll 16
                for (unsigned t = 0; t < V::kLanes; t++) V::store(to + t * fill.stride, v[t]);
            }
        }
    }
    return i;
}

// Float types: a cache line of kLanes rows at a time; panels hold at least one line.
template <class V, class F> void fill_floats(const TileFill<V> &fill) {
    constexpr size_t n_bytes = sizeof(typename F::Block), n_line = kLineValues<F>;
    alignas(64) float values[V::kLanes][n_line];
    size_t i = 0;
    if constexpr (__is_same(F, fmt::BF16)) i = fill_bf16<V>(fill);
    for (; i < fill.n; i += n_line) {
        const size_t n = fill.n - i < n_line ? fill.n - i : n_line;
        const size_t ahead = line_ahead<V, F>(fill, i);
        for (unsigned r = 0; r < V::kLanes; r++) {
            const uint8_t *p = fill.rows[r] + (fill.first + i) * n_bytes;
            prefetch_at<64>(p + ahead);
            uint8_t last[64] = {};
            if (n < n_line) {
                __builtin_memcpy(last, p, n * n_bytes);
                p = last;
            }
#pragma GCC unroll 4
            for (size_t j = 0; j < n_line; j += V::kLanes)
                V::store(values[r] + j, LoadFloat<V, F>::load(p + j * n_bytes));
        }
        transpose_rows<V>(fill.to + i * fill.stride, fill.stride, values);
    }
}

// Block types: one step at a time, transposed from the staging buffer. A part of a step is
// dequantized row by row. Panels smaller than a step (small scratch) dequantize it once per panel.
template <bool Mins, class V, unsigned Group>
__attribute__((noinline)) void fill_steps(const TileFill<V> &fill, const Blocks<V, Group> &blocks) {
    constexpr size_t n_values = 32 * V::kLanes;
    alignas(64) float values[n_values];
    Step<V, Group> decoded;
    auto *staging = reinterpret_cast<float(*)[n_values]>(fill.staging);
    const size_t end = fill.first + fill.n;
    for (size_t step = fill.first / n_values; step * n_values < end; step++) {
        const size_t start = step * n_values, n_left = (fill.k - start) / blocks.values;
        const size_t from = start > fill.first ? start : fill.first;
        const size_t to = start + n_values < end ? start + n_values : end;
        const size_t n_blocks = n_left < blocks.step_blocks ? n_left : blocks.step_blocks;
        const bool staged = staging && to - from == n_values;
        for (unsigned r = 0; r < V::kLanes; r++) {
            blocks.load(decoded, fill.rows[r] + step * blocks.step_bytes, n_blocks);
            decode_step<V, Group, Mins>(staged ? staging[r] : values, decoded);
            if (staged) continue;
            for (size_t i = from; i < to; i++) {
                fill.to[(i - fill.first) * fill.stride + r] = values[i - start];
            }
        }
        if (staged) {
            transpose_rows<V>(fill.to + (from - fill.first) * fill.stride, fill.stride, staging);
        }
    }
}

template <class U> void fill_blocks(const TileFill<typename U::Set> &fill) {
    fill_steps<U::kMins != fmt::Mins::kNone>(fill, kBlocksOf<U>);
}

template <class V, unsigned Columns>
__attribute__((noinline)) void micro_f32(const TileOut &out, const float *tile, const float *x,
                                         size_t ldx, size_t n) {
    constexpr unsigned M = kVectorsF32;
    typename V::Vf acc[M][Columns];
    load_acc<V, M, Columns>(acc, out);
    for (size_t k = 0; k < n; k++, tile += M * V::kLanes) {
        if (k % 16 == 0) { // a cache line of each column, from L3 if there are many
#pragma GCC unroll 16
            for (unsigned c = 0; c < Columns; c++) __builtin_prefetch(x + c * ldx + k + 128);
        }
#pragma GCC unroll 16
        for (unsigned c = 0; c < Columns; c++) {
            const auto a = V::set1(x[c * ldx + k]);
#pragma GCC unroll 2
            for (unsigned m = 0; m < M; m++) {
                acc[m][c] = V::fma(V::load(tile + m * V::kLanes), a, acc[m][c]);
            }
        }
    }
    store_acc<V, M, Columns>(acc, out);
}

template <class V, unsigned Columns = kColumnsF32<V>>
void micro_f32_columns(size_t n_columns, const TileOut &out, const float *tile, const float *x,
                       size_t ldx, size_t n) {
    if constexpr (Columns > 1) {
        if (n_columns < Columns)
            return micro_f32_columns<V, Columns - 1>(n_columns, out, tile, x, ldx, n);
    }
    micro_f32<V, Columns>(out, tile, x, ldx, n);
}

// Multiplies a tile of rows from `row` on by all columns, over all k. fill(TileFill) dequantizes.
template <class V>
void gemm_f32_rows(Out y, const Rows &w, const GemmAct &act, const Scratch &scratch, size_t row,
                   FillF32<V> fill, size_t n_most) {
    constexpr size_t n_rows = kVectorsF32 * V::kLanes;
    constexpr size_t n_step = 512; // whole steps of every set if they fit
    const bool roomy = scratch.n_bytes >= kStagingBytes<V> + n_step * n_rows * sizeof(float);
    const size_t n_tile_bytes = scratch.n_bytes - (roomy ? kStagingBytes<V> : 0);
    const size_t n_fit = n_tile_bytes / (n_rows * sizeof(float));
    const size_t n_long = n_fit >= n_step ? n_fit / n_step * n_step : n_fit / 64 * 64;
    const size_t n_panel = n_long < n_most ? n_long : n_most;
    float *tile = reinterpret_cast<float *>(scratch.data);
    float *staging = roomy ? reinterpret_cast<float *>(scratch.data + n_tile_bytes) : nullptr;
    const TileColumns to = {y.y + row, y.ld, w.n - row < n_rows ? w.n - row : n_rows};
    TileOut out = {to, to, 0, true, false}; // panels are long: sums stay in y
    size_t k = 0;
    do {
        const size_t n = w.k - k < n_panel ? w.k - k : n_panel;
        for (unsigned m = 0; m < kVectorsF32; m++) {
            TileFill<V> part = {tile + m * V::kLanes, n_rows, k, n, {}, w.k, staging,
                                n_rows * w.stride};
            for (unsigned r = 0; r < V::kLanes; r++) {
                const size_t at = row + m * V::kLanes + r;
                part.rows[r] = w.data + (at < w.n ? at : w.n - 1) * w.stride;
            }
            fill(part);
        }
        out.last = k + n == w.k;
        for (size_t c = 0; c < act.n; c += kColumnsF32<V>) {
            out.y.data = out.sums.data = to.data + c * to.ld;
            const size_t n_columns = act.n - c < kColumnsF32<V> ? act.n - c : kColumnsF32<V>;
            out.n_columns = n_columns;
            micro_f32_columns<V>(n_columns, out, tile, act.x + c * act.ldx + k, act.ldx, n);
        }
        out.first = false;
        k += n;
    } while (k < w.k);
}

template <class V>
__attribute__((noinline)) void gemm_f32_tiles(Out y, const Rows &w, const GemmAct &act,
                                              const Scratch &scratch, FillF32<V> fill,
                                              size_t n_most) {
    static_assert(64 * kVectorsF32 * V::kLanes * sizeof(float) <= kScratchMin);
    for (size_t row = 0; row < w.n; row += kVectorsF32 * V::kLanes)
        gemm_f32_rows<V>(y, w, act, scratch, row, fill, n_most);
}

// Panel sizes. Panels stay in L1 if filling dominates. For many columns, narrower vectors use long
// panels, because each panel loads and stores the sums of few columns. Block types are dequantized
// in whole steps.
template <class V, class F> void gemm_floats(Out y, Rows w, const GemmAct &act, Scratch scratch) {
    const size_t n_most = V::kLanes == 16 || act.n <= 32 ? 256 : SIZE_MAX;
    gemm_f32_tiles<V>(y, w, act, scratch, fill_floats<V, F>, n_most);
}

template <class U> void gemm_blocks_f32(Out y, Rows w, const GemmAct &act, Scratch scratch) {
    gemm_f32_tiles<typename U::Set>(y, w, act, scratch, fill_blocks<U>, SIZE_MAX);
}

} // namespace
} // namespace ggufx::kernels
