// n >= 4 columns of int8 activations (C3): a tile of rows is unpacked once to codes in the order
// of the dot instruction and f32 scales; then a micro-kernel keeps M vectors of rows times up to
// V::kColumns columns in registers, one fma chain over the blocks of k per output.
// Tile: codes [k / kDepth][M * kLanes rows][kDepth], scales and shifts
// [block or group][M * kLanes rows]. kDepth is 4 for dot products, 8 for products of matrices.
// Activations: per group of n = kColumns columns (the last group may have fewer) codes
// [k / kDepth][n][kDepth], then per block d, s and -kOffset * sums, [..][n] each.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/common.hpp"
#include "kernels/loops/pack_act.hpp"

namespace ggufx {
namespace kernels {
namespace {

// What the micro-kernel has to know of a format; formats with equal kinds share its code.
template <class V, unsigned Group, unsigned Shifts, bool Offset, bool Signed, int MaxCode>
struct TileKind : V {
    static constexpr unsigned kGroup = Group;
    static constexpr unsigned kShifts = Shifts; // per block
    static constexpr bool kOffset = Offset, kSigned = Signed;
    static constexpr int kMaxCode = MaxCode;
};
template <class U, class V>
using KindOf = TileKind<V, U::kGroup, U::kShifts, U::kOffset != 0, U::kSigned,
                        V::kExactDot ? 255 : U::kMaxCode>;

// ---- activations --------------------------------------------------------------------------------

// The packed activations of one group of n columns: kColumns, fewer in the last group.
struct GroupAct {
    size_t n;
    int8_t *q;
    float *d, *s;
    int32_t *offset; // per 16 or 32 values

    static constexpr size_t kBlockBytes = 32 + 2 * sizeof(float) + 2 * sizeof(int32_t);
    static constexpr size_t bytes(size_t k, size_t n_columns) {
        return (k / 32 * n_columns * kBlockBytes + 63) / 64 * 64;
    }
    GroupAct(uint8_t *memory, size_t k, size_t n_columns) : n(n_columns) {
        q = reinterpret_cast<int8_t *>(memory);
        d = reinterpret_cast<float *>(memory + k * n);
        s = d + k / 32 * n;
        offset = reinterpret_cast<int32_t *>(s + k / 32 * n);
    }
};

template <class V>
GGUFX_INLINE GroupAct group_at(uint8_t *packed, size_t k, size_t n, size_t group) {
    const size_t left = n - group * V::kColumns;
    return {packed + group * GroupAct::bytes(k, V::kColumns), k,
            left < V::kColumns ? left : V::kColumns};
}

template <class V> size_t gemm_bytes(size_t k, size_t n) {
    return n / V::kColumns * GroupAct::bytes(k, V::kColumns) + GroupAct::bytes(k, n % V::kColumns);
}

template <class U>
void gemm_pack_column(const GroupAct &to, size_t column, const float *x, size_t k) {
    for (size_t b = 0; b < k / 32; b++) {
        int8_t q[32];
        int16_t s16[2];
        const float d = pack_codes<U>(q, s16, x + 32 * b);
        constexpr size_t n_units = 32 / U::kDepth;
        for (size_t i = 0; i < n_units; i++) {
            int8_t *const unit = to.q + ((n_units * b + i) * to.n + column) * U::kDepth;
            __builtin_memcpy(unit, q + U::kDepth * i, U::kDepth);
        }
        const size_t at = b * to.n + column;
        to.d[at] = d;
        if constexpr (U::kShifts == 2) { // s16 per group, in the room of the offsets too
            static_assert(U::kOffset == 0);
            to.s[2 * b * to.n + column] = d * static_cast<float>(s16[0]);
            to.s[(2 * b + 1) * to.n + column] = d * static_cast<float>(s16[1]);
            continue;
        }
        to.s[at] = d * static_cast<float>(s16[0] + s16[1]);
        if constexpr (U::kGroup == 32) {
            to.offset[at] = -U::kOffset * (s16[0] + s16[1]);
        } else {
            to.offset[2 * b * to.n + column] = -U::kOffset * s16[0];
            to.offset[(2 * b + 1) * to.n + column] = -U::kOffset * s16[1];
        }
    }
}

template <class U> void gemm_pack(uint8_t *packed, const GemmAct &act, size_t first, size_t count) {
    for (size_t c = first; c < first + count; c++) {
        const GroupAct to = group_at<U>(packed, act.k, act.n, c / U::kColumns);
        gemm_pack_column<U>(to, c % U::kColumns, act.x + c * act.ldx, act.k);
    }
}

// ---- weights ------------------------------------------------------------------------------------

template <class U> struct Tile {
    static constexpr size_t n_groups = 32 / U::kGroup; // scales per 32 values
    static constexpr size_t n_shifts = U::kShifts;
    uint8_t *codes;
    float *scale, *shift;
    size_t n_rows; // M * kLanes

    // Bytes of one step of n_rows rows.
    static constexpr size_t step_bytes(size_t n_rows) {
        return n_rows * U::kLanes * (32 + (n_groups + n_shifts) * sizeof(float));
    }
    Tile(uint8_t *memory, size_t rows, size_t n_steps) : n_rows(rows) {
        codes = memory;
        scale = reinterpret_cast<float *>(memory + n_steps * kStepValues<U> * rows);
        shift = scale + n_steps * U::kLanes * n_groups * rows;
    }
};

// kLanes rows of N vectors each in `from`; element t of vector j of all rows goes to
// to + (j * kLanes + t) * stride, rows side by side.
template <class V, size_t N, class T>
GGUFX_INLINE void transpose_rows(T *to, size_t stride, const T (*from)[N]) {
    constexpr size_t n_lane = 4 / sizeof(T); // elements per lane
    for (size_t j = 0; j < N / (V::kLanes * n_lane); j++) {
        typename V::Vi rows[V::kLanes];
#pragma GCC unroll 16
        for (unsigned r = 0; r < V::kLanes; r++) {
            rows[r] = V::load_i(from[r] + j * V::kLanes * n_lane);
        }
        V::transpose(rows);
#pragma GCC unroll 16
        for (unsigned t = 0; t < V::kLanes; t++) {
            V::store_i(to + (j * V::kLanes + t) * stride, rows[t]);
        }
    }
}

// Codes of kLanes rows: [values / kDepth][n_rows][kDepth].
template <class U>
GGUFX_INLINE void place_codes(uint8_t *to, size_t n_rows, const uint8_t (*from)[kStepValues<U>]) {
    if constexpr (U::kDepth == 4) {
        transpose_rows<U>(to, 4 * n_rows, from);
    } else {
        for (size_t i = 0; i < kStepValues<U> / U::kDepth; i++) {
#pragma GCC unroll 8
            for (size_t r = 0; r < U::kLanes; r++) {
                __builtin_memcpy(to + (i * n_rows + r) * U::kDepth, from[r] + i * U::kDepth,
                                 U::kDepth);
            }
        }
    }
}

// Step `step` of the rows from `row` on (the last one repeated behind the end) into lanes
// lane .. lane + kLanes - 1 of the tile's step `at`.
template <class U>
void fill_step(const Tile<U> &tile, const Rows &w, size_t row, size_t step, size_t lane, size_t at,
               Tail<U> &tail) {
    alignas(64) uint8_t codes[U::kLanes][kStepValues<U>];
    alignas(64) float scale[U::kLanes][U::kLanes * Tile<U>::n_groups];
    alignas(64) float shift[U::kLanes][U::kLanes * (U::kShifts ? U::kShifts : 1)];
    const size_t n_left = w.k / U::kValues - step * U::kStepBlocks;
    for (size_t r = 0; r < U::kLanes; r++) {
        const size_t from = row + r < w.n ? row + r : w.n - 1;
        const uint8_t *p = w.data + from * w.stride + step * kStepBytes<U>;
        const auto *b = n_left >= U::kStepBlocks ? blocks_at<U>(p) : tail.fill(p, n_left);
#pragma GCC unroll 2
        for (unsigned i = 0; i < 2; i++) {
            typename U::V8 c[4];
            U::load_u8(c, b, i);
            U::store_codes(codes[r] + i * kStepValues<U> / 2, c);
        }
        if constexpr (U::kFolded) U::fold_codes(codes[r], b);
        U::store_scales(scale[r], shift[r], U::load_scales(b), b);
    }
    const size_t n = tile.n_rows, first = at * U::kLanes;
    place_codes<U>(tile.codes + first * 32 * n + lane * U::kDepth, n, codes);
    transpose_rows<U>(tile.scale + first * Tile<U>::n_groups * n + lane, n, scale);
    if constexpr (U::kShifts != 0) {
        transpose_rows<U>(tile.shift + first * U::kShifts * n + lane, n, shift);
    }
}

// ---- the micro-kernel ---------------------------------------------------------------------------

// Blocks first .. first + n - 1 of k (the tile begins with block `first`) into acc.
template <class K, unsigned M, unsigned Columns, class TileT>
GGUFX_INLINE void add_tile(typename K::Vf (&acc)[M][Columns], const TileT &tile,
                           const GroupAct &act, size_t first, size_t n) {
    constexpr size_t n_rows = M * K::kLanes, n_groups = 32 / K::kGroup, n_quads = K::kGroup / 4;
    for (size_t b = 0; b < n; b++) {
        const size_t at = (first + b) * Columns;
#pragma GCC unroll 2
        for (size_t z = 0; z < n_groups; z++) {
            const size_t g = n_groups * b + z;
            typename K::Vi sums[M][Columns];
#pragma GCC unroll 8
            for (unsigned c = 0; c < Columns; c++) {
                const int32_t start =
                    K::kOffset ? act.offset[(n_groups * (first + b) + z) * Columns + c] : 0;
#pragma GCC unroll 2
                for (unsigned m = 0; m < M; m++) sums[m][c] = K::set1_i(start);
            }
            K::template add_products<K, n_quads>(sums, tile.codes + g * K::kGroup * n_rows,
                                                 act.q + 32 * at + z * 16 * Columns);
#pragma GCC unroll 2
            for (unsigned m = 0; m < M; m++) {
                const auto scale = K::load(tile.scale + g * n_rows + m * K::kLanes);
#pragma GCC unroll 8
                for (unsigned c = 0; c < Columns; c++) {
                    const auto d = K::mul(scale, K::set1(act.d[at + c]));
                    acc[m][c] = K::fma(K::to_float(sums[m][c]), d, acc[m][c]);
                }
            }
        }
#pragma GCC unroll 2
        for (size_t z = 0; z < K::kShifts; z++) {
            const float *s = act.s + ((first + b) * K::kShifts + z) * Columns;
#pragma GCC unroll 2
            for (unsigned m = 0; m < M; m++) {
                const auto shift =
                    K::load(tile.shift + (b * K::kShifts + z) * n_rows + m * K::kLanes);
#pragma GCC unroll 8
                for (unsigned c = 0; c < Columns; c++) {
                    acc[m][c] = K::fma(shift, K::set1(s[c]), acc[m][c]);
                }
            }
        }
    }
}

// Where a tile's results are: rows row .. row + n_rows - 1 (fewer than the tile's at the end).
struct TileOut {
    float *y;
    size_t ld;
    size_t n_rows;
    bool first, last; // panel of k
};

// Accumulators from and to y; the last panel finishes them.
template <class V, unsigned M, unsigned Columns>
GGUFX_INLINE void load_acc(typename V::Vf (&acc)[M][Columns], const TileOut &out) {
#pragma GCC unroll 8
    for (unsigned c = 0; c < Columns; c++) {
        float part[M * V::kLanes];
        const float *from = out.y + c * out.ld;
        if (!out.first && out.n_rows < M * V::kLanes) {
            __builtin_memcpy(part, from, out.n_rows * sizeof(float));
            from = part;
        }
#pragma GCC unroll 2
        for (unsigned m = 0; m < M; m++) {
            acc[m][c] = out.first ? V::zero() : V::load(from + m * V::kLanes);
        }
    }
}

template <class V, unsigned M, unsigned Columns>
GGUFX_INLINE void store_acc(const typename V::Vf (&acc)[M][Columns], const TileOut &out) {
#pragma GCC unroll 8
    for (unsigned c = 0; c < Columns; c++) {
        float part[M * V::kLanes];
        float *const y = out.y + c * out.ld;
        const bool whole = out.n_rows >= M * V::kLanes;
        float *const to = whole ? y : part;
#pragma GCC unroll 2
        for (unsigned m = 0; m < M; m++) {
            auto v = acc[m][c];
            if (out.last) v = V::fix_nan(V::add(v, V::zero()), kFixedNan); // as finish()
            V::store(to + m * V::kLanes, v);
        }
        if (!whole) __builtin_memcpy(y, part, out.n_rows * sizeof(float));
    }
}

template <class K, unsigned M, unsigned Columns, class TileT>
__attribute__((noinline)) void micro(const TileOut &out, const TileT &tile, const GroupAct &act,
                                     size_t first, size_t n) {
    typename K::Vf acc[M][Columns];
    load_acc<K, M, Columns>(acc, out);
    add_tile<K, M, Columns>(acc, tile, act, first, n);
    store_acc<K, M, Columns>(acc, out);
}

template <class K, unsigned M, class TileT>
void micro_columns(const TileOut &out, const TileT &tile, const GroupAct &act, size_t first,
                   size_t n) {
    static_assert(K::kColumns == 4 || K::kColumns == 6);
    switch (act.n) {
    case 1:
        return micro<K, M, 1>(out, tile, act, first, n);
    case 2:
        return micro<K, M, 2>(out, tile, act, first, n);
    case 3:
        return micro<K, M, 3>(out, tile, act, first, n);
    case 4:
        return micro<K, M, 4>(out, tile, act, first, n);
    default:
        break;
    }
    if constexpr (K::kColumns == 6) {
        if (act.n == 5) return micro<K, M, 5>(out, tile, act, first, n);
        return micro<K, M, 6>(out, tile, act, first, n);
    }
}

// What the micro-kernel sees of a tile.
struct TileView {
    const uint8_t *codes;
    const float *scale, *shift;
};

// All k and all columns of M * kLanes rows from `row` on.
template <class U, unsigned M>
void gemm_rows(Out y, const Rows &w, const GemmAct &act, const Scratch &scratch, size_t row,
               Tail<U> &tail) {
    using K = KindOf<U, typename U::Set>;
    constexpr size_t n_rows = M * U::kLanes;
    const size_t n_steps = (w.k + kStepValues<U> - 1) / kStepValues<U>;
    const size_t n_fit = scratch.n_bytes / Tile<U>::step_bytes(n_rows);
    const size_t n_panel = n_fit < n_steps ? n_fit : n_steps;
    const Tile<U> tile(scratch.data, n_rows, n_panel);
    const TileView view = {tile.codes, tile.scale, tile.shift};
    TileOut out = {nullptr, y.ld, w.n - row < n_rows ? w.n - row : n_rows, true, false};
    size_t step = 0;
    do {
        const size_t n = n_steps - step < n_panel ? n_steps - step : n_panel;
        for (size_t i = 0; i < n; i++) {
            for (unsigned m = 0; m < M; m++) {
                fill_step<U>(tile, w, row + m * U::kLanes, step + i, m * U::kLanes, i, tail);
            }
        }
        const size_t first = step * U::kLanes, end = (step + n) * U::kLanes;
        const size_t n_blocks = (end < w.k / 32 ? end : w.k / 32) - first;
        step += n;
        out.last = step == n_steps;
        for (size_t c = 0; c < act.n; c += U::kColumns) {
            const GroupAct group = group_at<U>(const_cast<uint8_t *>(act.packed), w.k, act.n,
                                               c / U::kColumns); // only read
            out.y = y.y + c * y.ld + row;
            micro_columns<K, M>(out, view, group, first, n_blocks);
        }
        out.first = false;
    } while (step < n_steps);
}

template <class U> void gemm(Out y, Rows w, const GemmAct &act, Scratch scratch) {
    static_assert(Tile<U>::step_bytes(U::kLanes) <= kScratchMin);
    constexpr bool can_two = U::kTileVectors == 2;
    const bool two = can_two && scratch.n_bytes >= Tile<U>::step_bytes(2 * U::kLanes);
    Tail<U> tail;
    for (size_t row = 0; row < w.n;) {
        if (two && w.n - row > U::kLanes) {
            if constexpr (can_two) gemm_rows<U, 2>(y, w, act, scratch, row, tail);
            row += 2 * U::kLanes;
        } else {
            gemm_rows<U, 1>(y, w, act, scratch, row, tail);
            row += U::kLanes;
        }
    }
}

} // namespace
} // namespace kernels
} // namespace ggufx
