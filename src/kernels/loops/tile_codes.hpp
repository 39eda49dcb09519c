// Codes of a step in a tile. keep() stores the data of one row, Place::kBytes, until kLanes rows
// are complete. Place::place() transposes the rows; it is compiled once for all formats with the
// same Place. A tile has codes [values / kDepth][n_rows][kDepth].
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/all.hpp"
#include "kernels/loops/common.hpp"

namespace ggufx::kernels {
namespace {

// Transposes kLanes rows of N vectors each in `from`: element t of vector j of all rows goes to to
// + (j * kLanes + t) * stride, with rows adjacent.
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

template <class V> struct PlaceInOrder {
    static constexpr size_t kBytes = kStepValues<V>;

    static GGUFX_INLINE void place(uint8_t *to, size_t n_rows, const uint8_t (*from)[kBytes]) {
        if constexpr (V::kDepth == 4) {
            transpose_rows<V>(to, 4 * n_rows, from);
        } else {
            for (size_t i = 0; i < kBytes / V::kDepth; i++) {
#pragma GCC unroll 8
                for (size_t r = 0; r < V::kLanes; r++) {
                    __builtin_memcpy(to + (i * n_rows + r) * V::kDepth, from[r] + i * V::kDepth,
                                     V::kDepth);
                }
            }
        }
    }
};

// Codes in row order.
template <class U> struct CodesInOrder {
    using Place = PlaceInOrder<typename U::Set>;

    static GGUFX_INLINE void keep(uint8_t *to, const typename U::Block *b) {
#pragma GCC unroll 2
        for (unsigned i = 0; i < 2; i++) {
            typename U::V8 c[4];
            U::load_u8(c, b, i);
            U::store_codes(to + i * kStepValues<U> / 2, c);
        }
        if constexpr (U::kFolded) U::fold_codes(to, b);
    }
};

// For types with two codes per byte, values per run of low nibbles, followed by one of high
// nibbles: 16 or 32 adjacent bytes of b.qs. 0: other types. codes_of_nibbles() converts them to
// codes.
template <class F> constexpr unsigned kNibbleRun = 0;
template <> constexpr unsigned kNibbleRun<fmt::Q4_0> = 16;
template <> constexpr unsigned kNibbleRun<fmt::Q4_1> = 16;
template <> constexpr unsigned kNibbleRun<fmt::IQ4_NL> = 16;
template <> constexpr unsigned kNibbleRun<fmt::IQ4_XS> = 16;
template <> constexpr unsigned kNibbleRun<fmt::MXFP4> = 16;
template <> constexpr unsigned kNibbleRun<fmt::Q4_K> = 32;

// Transposes rows while two codes share a byte.
template <class U> struct NibblesTogether {
    using Place = NibblesTogether;
    static constexpr size_t kBytes = kStepValues<U> / 2;

    static GGUFX_INLINE void keep(uint8_t *to, const typename U::Block *b) {
        constexpr size_t n = sizeof(typename U::Block{}.qs);
#pragma GCC unroll 16
        for (unsigned i = 0; i < U::kStepBlocks; i++) __builtin_memcpy(to + n * i, b[i].qs, n);
    }
    static GGUFX_INLINE void place(uint8_t *to, size_t n_rows, const uint8_t (*from)[kBytes]) {
        constexpr size_t n_run = kNibbleRun<typename U::Format> / 4; // groups of 4, one per lane
        for (size_t j = 0; j < 4; j++) {
            typename U::Vi rows[U::kLanes];
#pragma GCC unroll 16
            for (unsigned r = 0; r < U::kLanes; r++) {
                rows[r] = U::load_i(from[r] + j * U::kLanes * 4);
            }
            U::transpose(rows);
#pragma GCC unroll 16
            for (unsigned t = 0; t < U::kLanes; t++) {
                const size_t four = j * U::kLanes + t;
                const size_t low = four / n_run * 2 * n_run + four % n_run;
                U::store_i(to + low * 4 * n_rows, U::codes_of_nibbles(U::low_nibbles(rows[t])));
                U::store_i(to + (low + n_run) * 4 * n_rows,
                           U::codes_of_nibbles(U::high_nibbles(rows[t])));
            }
        }
    }
};

template <class U>
constexpr bool kByNibbles = kNibbleRun<typename U::Format> != 0 && U::kDepth == 4 && !U::kFolded;

// Source of tile codes of a format; sets may specialize it (avx512/tile_codes.hpp).
template <class U> struct TileCodes : CodesInOrder<U> {};
template <class U>
requires kByNibbles<U>
struct TileCodes<U> : NibblesTogether<U> {
};

} // namespace
} // namespace ggufx::kernels
