// Tiles of unpacked rows for gemm.hpp. Codes [k / kDepth][M * kLanes rows][kDepth], scales and
// shifts [block or group][M * kLanes rows].
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/gemm_act.hpp"
#include "kernels/loops/tile_codes.hpp"

namespace ggufx::kernels {
namespace {

// Returns the bytes of one step of n_rows rows. K: a TileKind.
template <class K> constexpr size_t tile_step_bytes(size_t n_rows) {
    return n_rows * K::kLanes * (32 + (32 / K::kGroup + K::kShifts) * sizeof(float));
}
template <class K> Tile tile_in(uint8_t *memory, size_t n_rows, size_t n_steps) {
    float *scale = reinterpret_cast<float *>(memory + n_steps * kStepValues<K> * n_rows);
    return {memory, scale, scale + n_steps * K::kLanes * (32 / K::kGroup) * n_rows, n_rows};
}

// Returns the distance from a step to the step needed kPrefetchAhead bytes later. After the end of
// a row, that is a step of the next tile, n_rows rows later.
template <class U> GGUFX_INLINE size_t steps_ahead(const Rows &w, size_t step, size_t n_rows) {
    constexpr size_t n_ahead = (kPrefetchAhead + kStepBytes<U> - 1) / kStepBytes<U>;
    const size_t n_steps = (w.k + kStepValues<U> - 1) / kStepValues<U>;
    if (step + n_ahead < n_steps) return n_ahead * kStepBytes<U>;
    return n_rows * w.stride + (n_ahead - n_steps) * kStepBytes<U>;
}

// A step of kLanes rows before the transpose. V: the set; Shifts: per 32 values.
template <class V, class Place, unsigned Group, unsigned Shifts> struct StepRows {
    static constexpr size_t kScales = V::kLanes * (32 / Group), kShifts = V::kLanes * Shifts;
    alignas(64) uint8_t codes[V::kLanes][Place::kBytes];
    alignas(64) float scale[V::kLanes][kScales];
    alignas(64) float shift[V::kLanes][kShifts ? kShifts : 1];

    // Transposes the rows into lanes lane .. lane + kLanes - 1 of the tile's step `at`.
    __attribute__((noinline)) void place(const Tile &tile, size_t lane, size_t at) const {
        const size_t n = tile.n_rows, first = at * V::kLanes;
        Place::place(tile.codes + first * 32 * n + lane * V::kDepth, n, codes);
        transpose_rows<V>(tile.scale + at * kScales * n + lane, n, scale);
        if constexpr (kShifts != 0) {
            transpose_rows<V>(tile.shift + at * kShifts * n + lane, n, shift);
        }
    }
};

// Fills lanes lane .. lane + kLanes - 1 of the tile's step `at` with step `step` of the rows from
// `row` on (padded with the last row). U has no planes, which belong to activations.
template <class U>
void fill_step(const Tile &tile, const Rows &w, size_t row, size_t step, size_t lane, size_t at) {
    using Codes = TileCodes<U>;
    StepRows<typename U::Set, typename Codes::Place, U::kGroup, U::kShifts> rows;
    Tail<U> tail;
    const size_t n_left = w.k / U::kValues - step * U::kStepBlocks;
    const size_t n_ahead = steps_ahead<U>(w, step, tile.n_rows);
    for (size_t r = 0; r < U::kLanes; r++) {
        const size_t from = row + r < w.n ? row + r : w.n - 1;
        const uint8_t *p = w.data + from * w.stride + step * kStepBytes<U>;
        prefetch_at<kStepBytes<U>>(p + n_ahead);
        const auto *b = n_left >= U::kStepBlocks ? blocks_at<U>(p) : tail.fill(p, n_left);
        Codes::keep(rows.codes[r], b);
        U::store_scales(rows.scale[r], rows.shift[r], U::load_scales(b), b);
    }
    rows.place(tile, lane, at);
}

} // namespace
} // namespace ggufx::kernels
