// Packed activations of gemm.hpp, per group of n = kColumns columns. The last group may have fewer,
// but an even number: a column of zeros pads an odd one. A group is a sequence of blocks of 32
// values, each with the parts that the kernel reads:
// - codes [plane][32 / kDepth][n][kDepth]
// - d [n]
// - s [kShifts][n]
// - addends [kAddends][n]
// Blocks are consecutive, so that one stream is prefetched. With an array per part, a core that had
// not packed them waited for d and addends. kDepth is 4 for dot products, 8 for matrix
// instructions.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/common.hpp"
#include "kernels/loops/pack_act.hpp"

namespace ggufx::kernels {
namespace {

// Products of tiles of a set: add_products of its primitives, or a specialization with kOffsetLast,
// set_products and add_i. kCentre<U> and centre_sums: see avx2/tile_products.hpp.
template <class V> struct TileProducts : V {
    static constexpr bool kOffsetLast = false;
    template <class U> static constexpr int kCentre = 0;
};
template <class U> constexpr int kCentreOf = TileProducts<typename U::Set>::template kCentre<U>;

// Properties of a format that the micro-kernel needs; formats with equal kinds share its code.
template <class V, unsigned N, unsigned Group, unsigned Shifts, bool Offset, bool Signed,
          int MaxCode, bool Centred>
struct TileKind : TileProducts<V> {
    static constexpr unsigned kPlanes = N, kGroup = Group;
    static constexpr unsigned kShifts = Shifts; // per block
    static constexpr bool kOffset = Offset, kSigned = Signed, kCentred = Centred;
    static constexpr int kMaxCode = MaxCode;
    // Integers per block and column that are added to its sums: initial values per group, then the
    // final correction of centred codes without an offset.
    static constexpr size_t kAddends =
        (Offset || Centred ? 32 / Group : 0) + (Centred && !Offset ? 1 : 0);
    static_assert(kAddends <= 2);
    static constexpr size_t kBlockBytes = N * 32 + (1 + Shifts + kAddends) * 4; // per column
};
template <class U>
using KindOf =
    TileKind<typename U::Set, U::kPlanes, U::kGroup, U::kShifts, U::kOffset != 0, U::kSigned,
             U::kExactDot   ? 255
             : kCentreOf<U> ? 63
                            : U::kMaxCode,
             kCentreOf<U> != 0>;

// Addends of packed activations for a format, its TileKind and kOffset.
struct Addends {
    int offset, centre;
    unsigned group, n_shifts;
    size_t n, block_bytes; // kAddends, kBlockBytes
};
template <class U>
constexpr Addends kAddendsOf = {U::kOffset, kCentreOf<U>,        U::kGroup,
                                U::kShifts, KindOf<U>::kAddends, KindOf<U>::kBlockBytes};

// Returns the allocated columns: even numbers halve the number of micro-kernels.
constexpr size_t even(size_t n_columns) {
    return (n_columns + 1) / 2 * 2;
}

constexpr size_t group_bytes(size_t k, size_t n_columns, size_t block_bytes) {
    return (k / 32 * n_columns * block_bytes + 63) / 64 * 64;
}

// The group of column c of n: its number of columns, and its first byte.
struct Group {
    size_t n, at;
};
template <class V> GGUFX_INLINE Group group_of(size_t c, size_t n, size_t k, size_t block_bytes) {
    static_assert(V::kColumns % 2 == 0);
    const size_t before = c / V::kColumns, left = n - before * V::kColumns;
    return {left < V::kColumns ? even(left) : V::kColumns,
            before * group_bytes(k, V::kColumns, block_bytes)};
}

template <class K> size_t gemm_bytes(size_t k, size_t n) {
    return n / K::kColumns * group_bytes(k, K::kColumns, K::kBlockBytes) +
           group_bytes(k, even(n % K::kColumns), K::kBlockBytes);
}

// Codes and sums of one block of a column. Set: the primitives, N: planes.
template <class Set, unsigned N> struct PackedBlock {
    int8_t q[N * 32] = {};
    int16_t s16[N * 2] = {};

    // Stores the block in a group of n columns; d is the scale.
    GGUFX_INLINE void put(uint8_t *block, size_t n, size_t column, float d, int32_t sum0,
                          int32_t sum1, const Addends &how) const {
        constexpr size_t depth = Set::kDepth, n_units = N * 32 / depth;
        for (size_t i = 0; i < n_units; i++) {
            __builtin_memcpy(block + (i * n + column) * depth, q + depth * i, depth);
        }
        float *s = reinterpret_cast<float *>(block + N * 32 * n) + column;
        s[0] = d;
        if (how.n_shifts == 1) s[n] = d * static_cast<float>(sum0 + sum1);
        if (how.n_shifts == 2) {
            s[n] = d * static_cast<float>(sum0);
            s[2 * n] = d * static_cast<float>(sum1);
        }
        if (how.n == 0) return;
        int32_t addends[2] = {-how.offset * sum0, -how.offset * sum1};
        if (how.centre != 0) {
            if constexpr (requires { TileProducts<Set>::centre_sums; }) {
                TileProducts<Set>::centre_sums(addends, q, how.centre, how.group);
            }
            if (how.offset == 0) addends[1] = how.centre * (sum0 + sum1);
        } else if (how.group == 32) {
            addends[0] += addends[1];
        }
        int32_t *last = reinterpret_cast<int32_t *>(s + (1 + how.n_shifts) * n);
        for (size_t z = 0; z < how.n; z++) last[z * n] = addends[z];
    }
};

template <class Set, unsigned N>
GGUFX_INLINE void gemm_pack_column(uint8_t *block, size_t n, size_t column, const float *x,
                                   size_t k, const Addends &how) {
    PackedBlock<Set, N> packed;
    BlockCodes<Planes<Set, N>> codes;
    for (size_t p = 0; p < N; p++) {
        codes.q[p] = packed.q + 32 * p;
        codes.s16[p] = packed.s16 + 2 * p;
    }
    for (size_t b = 0; b < k / 32; b++, block += n * how.block_bytes) {
        __builtin_prefetch(x + 32 * b + 512); // 2 KiB ahead: packing 12 -> 8 % of 1792 rows
        __builtin_prefetch(x + 32 * b + 528);
        const float d = pack_codes(codes, x + 32 * b);
        packed.put(block, n, column, d, codes.sum(0), codes.sum(1), how);
    }
}

template <class Set, unsigned N>
__attribute__((noinline)) void gemm_pack_columns(uint8_t *packed, const GemmAct &act, size_t first,
                                                 size_t count, const Addends &how) {
    for (size_t c = first; c < first + count; c++) {
        const size_t column = c % Set::kColumns;
        const Group group = group_of<Set>(c, act.n, act.k, how.block_bytes);
        uint8_t *block = packed + group.at;
        gemm_pack_column<Set, N>(block, group.n, column, act.x + c * act.ldx, act.k, how);
        if (c + 1 < act.n || act.n % Set::kColumns % 2 == 0) continue;
        const PackedBlock<Set, N> zero;
        for (size_t b = 0; b < act.k / 32; b++, block += group.n * how.block_bytes) {
            zero.put(block, group.n, column + 1, 0.0f, 0, 0, how);
        }
    }
}

template <class U> void gemm_pack(uint8_t *packed, const GemmAct &act, size_t first, size_t count) {
    gemm_pack_columns<typename U::Set, U::kPlanes>(packed, act, first, count, kAddendsOf<U>);
}

} // namespace
} // namespace ggufx::kernels
