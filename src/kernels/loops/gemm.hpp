// Blocked products (n >= 4 columns) with activations in one or two planes of int8 (C3, C5). A tile
// of rows is unpacked once to codes in the order of the dot product and f32 scales. Then a
// micro-kernel keeps M vectors of rows times up to V::kColumns columns in registers, one FMA chain
// over k per output. gemm_tile.hpp has tiles, gemm_act.hpp packed activations.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/gemm_tile.hpp"

namespace ggufx::kernels {
namespace {

// A panel of a tile stays in L1: it is filled there and read by all columns. (Panels of all k took
// 1.3 times as long at n = 8, and the same at n = 96.)
constexpr size_t kPanelBytes = 16 * 1024;

// Activations of many columns come from L3.
template <size_t Bytes> GGUFX_INLINE void prefetch_block(const uint8_t *block) {
#pragma GCC unroll 8
    for (size_t i = 0; i < Bytes; i += 64) __builtin_prefetch(block + 12 * Bytes + i);
}

// Calls f(sum, column) for all sums.
template <class Vi, unsigned M, unsigned Columns, class F>
GGUFX_INLINE void for_sums(Vi (&sums)[M][Columns], const F &f) {
#pragma GCC unroll 8
    for (unsigned c = 0; c < Columns; c++) {
#pragma GCC unroll 2
        for (unsigned m = 0; m < M; m++) f(sums[m][c], c);
    }
}

// Adds the products of one group and the offsets. With two planes, those of the high plane count
// 128 times; the low plane follows after 32 * Columns codes.
template <class K, size_t Quads, unsigned M, unsigned Columns>
GGUFX_INLINE void group_products(typename K::Vi (&sums)[M][Columns], const uint8_t *codes,
                                 const int8_t *q, const int32_t *offset) {
    using Vi = typename K::Vi;
    constexpr bool two_planes = K::kPlanes == 2;
    const auto start = [offset](Vi & s, unsigned c) __attribute__((always_inline)) {
        const Vi from = K::set1_i(K::kOffset ? offset[c] : 0);
        if constexpr (two_planes)
            s = K::add_i(K::template shift_left<7>(s), from);
        else
            s = from;
    };
    if constexpr (K::kOffsetLast) {
        K::template set_products<K, Quads, false>(sums, codes, q, offset);
        if constexpr (two_planes) {
            for_sums(sums, start);
            K::template set_products<K, Quads, true>(sums, codes, q + 32 * Columns, offset);
        } else if constexpr (K::kCentred != K::kOffset) {
            const int32_t *last = offset + (K::kCentred ? Columns : 0);
            for_sums(
                sums, [last](Vi & s, unsigned c)
                          __attribute__((always_inline)) { s = K::add_i(s, K::set1_i(last[c])); });
        }
    } else {
        if constexpr (two_planes) {
            for_sums(
                sums, [](Vi & s, unsigned) __attribute__((always_inline)) { s = K::set1_i(0); });
            K::template add_products<K, Quads>(sums, codes, q);
        }
        for_sums(sums, start);
        K::template add_products<K, Quads>(sums, codes, q + (K::kPlanes - 1) * 32 * Columns);
    }
}

// Adds the n blocks from `block` on, the first n blocks of the tile, to acc.
template <class K, unsigned M, unsigned Columns>
GGUFX_INLINE void add_tile(typename K::Vf (&acc)[M][Columns], const Tile &tile,
                           const uint8_t *block, size_t n) {
    constexpr size_t n_rows = M * K::kLanes, n_groups = 32 / K::kGroup, n_quads = K::kGroup / 4;
    for (size_t b = 0; b < n; b++, block += Columns * K::kBlockBytes) {
        const int8_t *q = reinterpret_cast<const int8_t *>(block);
        const float *d = reinterpret_cast<const float *>(block + K::kPlanes * 32 * Columns);
        const float *s = d + Columns;
        const int32_t *addends = reinterpret_cast<const int32_t *>(s + K::kShifts * Columns);
        prefetch_block<Columns * K::kBlockBytes>(block);
#pragma GCC unroll 2
        for (size_t z = 0; z < n_groups; z++) {
            const size_t g = n_groups * b + z;
            typename K::Vi sums[M][Columns];
            group_products<K, n_quads>(sums, tile.codes + g * K::kGroup * n_rows,
                                       q + z * 16 * Columns, addends + z * Columns);
#pragma GCC unroll 2
            for (unsigned m = 0; m < M; m++) {
                const auto scale = K::load(tile.scale + g * n_rows + m * K::kLanes);
#pragma GCC unroll 8
                for (unsigned c = 0; c < Columns; c++) {
                    const auto both = K::mul(scale, K::set1(d[c]));
                    acc[m][c] = K::fma(K::to_float(sums[m][c]), both, acc[m][c]);
                }
            }
        }
#pragma GCC unroll 2
        for (size_t z = 0; z < K::kShifts; z++) {
#pragma GCC unroll 2
            for (unsigned m = 0; m < M; m++) {
                const auto shift =
                    K::load(tile.shift + (b * K::kShifts + z) * n_rows + m * K::kLanes);
#pragma GCC unroll 8
                for (unsigned c = 0; c < Columns; c++) {
                    acc[m][c] = K::fma(shift, K::set1(s[z * Columns + c]), acc[m][c]);
                }
            }
        }
    }
}

// Columns of results: n_rows each, `ld` apart.
struct TileColumns {
    float *data;
    size_t ld, n_rows;
};

// Results of a tile (fewer rows in the last tile) and, between panels of k, its sums. Sums in
// memory of the task itself (if there is enough) share no cache lines of y with other tasks. With
// shared lines, two threads took 1.1 to 1.2 times as long for 896 to 3,584 rows, 512 columns.
struct TileOut {
    TileColumns y, sums;
    size_t n_columns;
    bool first, last; // position of the panel of k

    // Returns whether a column is stored. An odd last column is paired with a column of zeros that
    // is not.
    GGUFX_INLINE bool has(size_t column, size_t n_stored) const {
        return column + 1 < n_stored || column < n_columns;
    }
};

// Loads accumulators from the sums and stores them; the last panel finishes them.
template <class V, unsigned M, unsigned Columns>
GGUFX_INLINE void load_acc(typename V::Vf (&acc)[M][Columns], const TileOut &out) {
#pragma GCC unroll 16
    for (unsigned c = 0; c < Columns; c++) {
        if (out.first || !out.has(c, Columns)) {
            for (unsigned m = 0; m < M; m++) acc[m][c] = V::zero();
            continue;
        }
        float part[M * V::kLanes];
        const float *from = out.sums.data + c * out.sums.ld;
        if (out.sums.n_rows < M * V::kLanes) {
            __builtin_memcpy(part, from, out.sums.n_rows * sizeof(float));
            from = part;
        }
#pragma GCC unroll 2
        for (unsigned m = 0; m < M; m++) acc[m][c] = V::load(from + m * V::kLanes);
    }
}

template <class V, unsigned M, unsigned Columns>
GGUFX_INLINE void store_acc(const typename V::Vf (&acc)[M][Columns], const TileOut &out) {
    const TileColumns &to = out.last ? out.y : out.sums;
    const bool whole = to.n_rows >= M * V::kLanes;
#pragma GCC unroll 16
    for (unsigned c = 0; c < Columns; c++) {
        if (!out.has(c, Columns)) continue;
        float part[M * V::kLanes];
        float *const column = to.data + c * to.ld, *const from = whole ? column : part;
#pragma GCC unroll 2
        for (unsigned m = 0; m < M; m++) {
            auto v = acc[m][c];
            if (out.last) v = V::fix_nan(V::add(v, V::zero()), kFixedNan); // as finish()
            V::store(from + m * V::kLanes, v);
        }
        if (!whole) __builtin_memcpy(column, part, to.n_rows * sizeof(float));
    }
}

template <class K, unsigned M, unsigned Columns>
__attribute__((noinline)) void micro(const TileOut &out, const Tile &tile, const uint8_t *block,
                                     size_t n) {
    typename K::Vf acc[M][Columns];
    load_acc<K, M, Columns>(acc, out);
    add_tile<K, M, Columns>(acc, tile, block, n);
    store_acc<K, M, Columns>(acc, out);
}

template <class K, unsigned M>
void micro_columns(size_t n_columns, const TileOut &out, const Tile &tile, const uint8_t *block,
                   size_t n) {
    static_assert(K::kColumns == 4 || K::kColumns == 6);
    if (n_columns == 2) return micro<K, M, 2>(out, tile, block, n);
    if (n_columns == 4) return micro<K, M, 4>(out, tile, block, n);
    if constexpr (K::kColumns == 6) return micro<K, M, 6>(out, tile, block, n);
}

// Returns the memory for the sums of n_columns: scratch after the n_used bytes of a tile, or y.
inline TileColumns sums_for(const TileColumns &y, size_t n_rows, size_t n_columns,
                            const Scratch &scratch, size_t n_used) {
    if (scratch.n_bytes - n_used < n_columns * n_rows * sizeof(float)) return y;
    return {reinterpret_cast<float *>(scratch.data + n_used), n_rows, n_rows};
}

// Fills steps first .. first + n - 1 of the rows from `row` on.
template <class K, unsigned M>
void fill_panel(const Tile &tile, const Rows &w, size_t row, size_t first, size_t n, FillFn fill) {
    for (size_t i = 0; i < n; i++) {
        for (unsigned m = 0; m < M; m++) {
            fill(tile, w, row + m * K::kLanes, first + i, m * K::kLanes, i);
        }
    }
}

// Multiplies M * kLanes rows from `row` on by all columns, over all k.
template <class K, unsigned M>
void gemm_rows(Out y, const Rows &w, const GemmAct &act, const Scratch &scratch, size_t row,
               FillFn fill) {
    constexpr size_t n_rows = M * K::kLanes, step_bytes = tile_step_bytes<K>(n_rows);
    const size_t n_steps = (w.k + kStepValues<K> - 1) / kStepValues<K>;
    const size_t n_fit = scratch.n_bytes / step_bytes;
    constexpr size_t n_cached = kPanelBytes / step_bytes + 1;
    const size_t n_most = n_fit < n_cached ? n_fit : n_cached;
    const size_t n_panel = n_most < n_steps ? n_most : n_steps;
    const Tile tile = tile_in<K>(scratch.data, n_rows, n_panel);
    const TileColumns to = {y.y + row, y.ld, w.n - row < n_rows ? w.n - row : n_rows};
    const TileColumns sums = sums_for(to, n_rows, act.n, scratch, n_panel * step_bytes);
    TileOut out = {to, sums, 0, true, false};
    size_t step = 0;
    do {
        const size_t n = n_steps - step < n_panel ? n_steps - step : n_panel;
        fill_panel<K, M>(tile, w, row, step, n, fill);
        const size_t first = step * K::kLanes, end = (step + n) * K::kLanes;
        const size_t n_blocks = (end < w.k / 32 ? end : w.k / 32) - first;
        step += n;
        out.last = step == n_steps;
        for (size_t c = 0; c < act.n; c += K::kColumns) {
            out.y.data = to.data + c * to.ld;
            out.sums.data = sums.data + c * sums.ld;
            out.n_columns = act.n - c;
            const Group group = group_of<K>(c, act.n, w.k, K::kBlockBytes);
            const uint8_t *block = act.packed + group.at + first * group.n * K::kBlockBytes;
            micro_columns<K, M>(group.n, out, tile, block, n_blocks);
        }
        out.first = false;
    } while (step < n_steps);
}

// A tile has kTileVectors vectors of rows, padded with the last row. It has one vector if scratch
// is too small for that.
template <class K>
__attribute__((noinline)) void gemm_tiles(Out y, const Rows &w, const GemmAct &act,
                                          const Scratch &scratch, FillFn fill) {
    constexpr unsigned n_most = K::kTileVectors;
    constexpr bool always_fits = tile_step_bytes<K>(n_most * K::kLanes) <= kScratchMin;
    static_assert(tile_step_bytes<K>(K::kLanes) <= kScratchMin);
    const bool fits = always_fits || scratch.n_bytes >= tile_step_bytes<K>(n_most * K::kLanes);
    for (size_t row = 0; row < w.n; row += (fits ? n_most : 1) * K::kLanes) {
        if constexpr (!always_fits) {
            if (!fits) {
                gemm_rows<K, 1>(y, w, act, scratch, row, fill);
                continue;
            }
        }
        gemm_rows<K, n_most>(y, w, act, scratch, row, fill);
    }
}

template <class U, unsigned N> void gemm(Out y, Rows w, const GemmAct &act, Scratch scratch) {
    gemm_tiles<KindOf<Planes<U, N>>>(y, w, act, scratch, fill_step<U>);
}

} // namespace
} // namespace ggufx::kernels
