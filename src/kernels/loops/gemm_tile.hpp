// The tiles of gemm.hpp: unpacked rows. Codes [k / kDepth][M * kLanes rows][kDepth], scales and
// shifts [block or group][M * kLanes rows].
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/all.hpp"
#include "kernels/loops/gemm_act.hpp"

namespace ggufx::kernels {
namespace {

// What the micro-kernel sees of it, and fill_step.
struct Tile {
    uint8_t *codes;
    float *scale, *shift;
    size_t n_rows; // M * kLanes
};

// K: a TileKind. Bytes of one step of n_rows rows.
template <class K> constexpr size_t tile_step_bytes(size_t n_rows) {
    return n_rows * K::kLanes * (32 + (32 / K::kGroup + K::kShifts) * sizeof(float));
}
template <class K> Tile tile_in(uint8_t *memory, size_t n_rows, size_t n_steps) {
    float *scale = reinterpret_cast<float *>(memory + n_steps * kStepValues<K> * n_rows);
    return {memory, scale, scale + n_steps * K::kLanes * (32 / K::kGroup) * n_rows, n_rows};
}

// kLanes rows of N vectors each in `from`; element t of vector j of all rows goes to
// to + (j * kLanes + t) * stride, rows side by side.
template <class V, size_t N, class T>
GGUFX_INLINE void transpose_rows(T *to, size_t stride, const T (*from)[N]) {
    constexpr size_t n_lane = 4 / sizeof(T); // elements per lane
    for (size_t j = 0; j < N / (V::kLanes * n_lane); j++) {
        typename V::Vi rows[V::kLanes];
        const auto row = [&](unsigned r) __attribute__((always_inline)) {
            return reinterpret_cast<const uint8_t *>(from[r] + j * V::kLanes * n_lane);
        };
        if constexpr (sizeof(T) == 1 && requires { V::load_transposed(rows, row); }) {
            V::load_transposed(rows, row);
        } else {
#pragma GCC unroll 16
            for (unsigned r = 0; r < V::kLanes; r++) {
                rows[r] = V::load_i(from[r] + j * V::kLanes * n_lane);
            }
            V::transpose(rows);
        }
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

// Where a type has two codes in a byte, values per run of low nibbles and, behind it, of high ones
// (0: it has not): 16 or 32 neighbouring bytes of b.qs. codes_of_nibbles() makes codes of them.
template <class F> constexpr unsigned kNibbleRun = 0;
template <> constexpr unsigned kNibbleRun<fmt::Q4_0> = 16;
template <> constexpr unsigned kNibbleRun<fmt::Q4_1> = 16;
template <> constexpr unsigned kNibbleRun<fmt::IQ4_NL> = 16;
template <> constexpr unsigned kNibbleRun<fmt::IQ4_XS> = 16;
template <> constexpr unsigned kNibbleRun<fmt::MXFP4> = 16;
template <> constexpr unsigned kNibbleRun<fmt::Q4_K> = 32;
template <class U>
constexpr bool kByNibbles = kNibbleRun<typename U::Format> != 0 && U::kDepth == 4 && !U::kFolded;

// place_codes from nibbles: rows and columns change places while two codes are one byte.
template <class U>
GGUFX_INLINE void place_nibbles(uint8_t *to, size_t n_rows,
                                const uint8_t (*from)[kStepValues<U> / 2]) {
    constexpr size_t n_run = kNibbleRun<typename U::Format> / 4; // of four codes, to a lane
    for (size_t j = 0; j < 4; j++) {
        typename U::Vi rows[U::kLanes];
#pragma GCC unroll 16
        for (unsigned r = 0; r < U::kLanes; r++) rows[r] = U::load_i(from[r] + j * U::kLanes * 4);
        U::transpose(rows);
#pragma GCC unroll 16
        for (unsigned t = 0; t < U::kLanes; t++) {
            const size_t four = j * U::kLanes + t, low = four / n_run * 2 * n_run + four % n_run;
            U::store_i(to + low * 4 * n_rows, U::codes_of_nibbles(U::low_nibbles(rows[t])));
            U::store_i(to + (low + n_run) * 4 * n_rows,
                       U::codes_of_nibbles(U::high_nibbles(rows[t])));
        }
    }
}

// How far from a step the one is that is wanted kPrefetchAhead bytes later: behind the end of a row
// that is in the next tile, n_rows rows on.
template <class U> GGUFX_INLINE size_t steps_ahead(const Rows &w, size_t step, size_t n_rows) {
    constexpr size_t n_ahead = (kPrefetchAhead + kStepBytes<U> - 1) / kStepBytes<U>;
    const size_t n_steps = (w.k + kStepValues<U> - 1) / kStepValues<U>;
    if (step + n_ahead < n_steps) return n_ahead * kStepBytes<U>;
    return n_rows * w.stride + (n_ahead - n_steps) * kStepBytes<U>;
}

// Step `step` of the rows from `row` on (the last one repeated behind the end) into lanes
// lane .. lane + kLanes - 1 of the tile's step `at`. U has no planes: theirs are the activations.
template <class U>
void fill_step(const Tile &tile, const Rows &w, size_t row, size_t step, size_t lane, size_t at) {
    constexpr size_t n_groups = 32 / U::kGroup;
    Tail<U> tail;
    constexpr size_t n_codes = kByNibbles<U> ? kStepValues<U> / 2 : kStepValues<U>;
    alignas(64) uint8_t codes[U::kLanes][n_codes];
    alignas(64) float scale[U::kLanes][U::kLanes * n_groups];
    alignas(64) float shift[U::kLanes][U::kLanes * (U::kShifts ? U::kShifts : 1)];
    const size_t n_left = w.k / U::kValues - step * U::kStepBlocks;
    const size_t n_ahead = steps_ahead<U>(w, step, tile.n_rows);
    for (size_t r = 0; r < U::kLanes; r++) {
        const size_t from = row + r < w.n ? row + r : w.n - 1;
        const uint8_t *p = w.data + from * w.stride + step * kStepBytes<U>;
        prefetch_at<kStepBytes<U>>(p + n_ahead);
        const auto *b = n_left >= U::kStepBlocks ? blocks_at<U>(p) : tail.fill(p, n_left);
        if constexpr (kByNibbles<U>) {
            constexpr size_t n = sizeof(typename U::Block{}.qs);
#pragma GCC unroll 16
            for (unsigned i = 0; i < U::kStepBlocks; i++) {
                __builtin_memcpy(codes[r] + n * i, b[i].qs, n);
            }
        } else {
#pragma GCC unroll 2
            for (unsigned i = 0; i < 2; i++) {
                typename U::V8 c[4];
                U::load_u8(c, b, i);
                U::store_codes(codes[r] + i * kStepValues<U> / 2, c);
            }
            if constexpr (U::kFolded) U::fold_codes(codes[r], b);
        }
        U::store_scales(scale[r], shift[r], U::load_scales(b), b);
    }
    const size_t n = tile.n_rows, first = at * U::kLanes;
    uint8_t *const to = tile.codes + first * 32 * n + lane * U::kDepth;
    if constexpr (kByNibbles<U>)
        place_nibbles<U>(to, n, codes);
    else
        place_codes<U>(to, n, codes);
    transpose_rows<U>(tile.scale + first * n_groups * n + lane, n, scale);
    if constexpr (U::kShifts != 0) {
        transpose_rows<U>(tile.shift + first * U::kShifts * n + lane, n, shift);
    }
}

} // namespace
} // namespace ggufx::kernels
