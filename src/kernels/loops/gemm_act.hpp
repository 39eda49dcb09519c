// Packed activations of gemm.hpp, per group of n = kColumns columns (the last group may have fewer,
// but an even number: a column of zeros follows an odd last one): codes
// [k / 32][plane][32 / kDepth][n][kDepth], then per block d, s and -kOffset * sums, [..][n] each.
// kDepth is 4 for dot products, 8 for products of matrices.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/common.hpp"
#include "kernels/loops/pack_act.hpp"

namespace ggufx::kernels {
namespace {

// How a set multiplies in tiles: add_products of its primitives, or a specialisation with
// kOffsetLast, set_products and add_i. kCentre<U> and centre_sums: see tile_products.hpp of AVX2.
template <class V> struct TileProducts : V {
    static constexpr bool kOffsetLast = false;
    template <class U> static constexpr int kCentre = 0;
};
template <class U> constexpr int kCentreOf = TileProducts<typename U::Set>::template kCentre<U>;

// What the micro-kernel has to know of a format; formats with equal kinds share its code.
template <class V, unsigned N, unsigned Group, unsigned Shifts, bool Offset, bool Signed,
          int MaxCode, bool Centred>
struct TileKind : TileProducts<V> {
    static constexpr unsigned kPlanes = N, kGroup = Group;
    static constexpr unsigned kShifts = Shifts; // per block
    static constexpr bool kOffset = Offset, kSigned = Signed, kCentred = Centred;
    static constexpr int kMaxCode = MaxCode;
    // Integers per block and column that go into its sums: of each group what they begin with,
    // then, if codes were centred that have no offset, what is added in the end.
    static constexpr size_t kAddends = 32 / Group + (Centred && !Offset ? 1 : 0);
};
template <class U>
using KindOf = TileKind<typename U::Set, U::kPlanes, U::kGroup, U::kShifts, U::kOffset != 0,
                        U::kSigned, U::kExactDot ? 255 : kCentreOf<U> ? 63 : U::kMaxCode,
                        kCentreOf<U> != 0>;

// What the packed activations have to hold for a format, its TileKind and kOffset.
struct Addends {
    int offset, centre;
    unsigned group, n_shifts;
    size_t n; // kAddends
};
template <class U>
constexpr Addends kAddendsOf = {U::kOffset, kCentreOf<U>, U::kGroup, U::kShifts,
                                KindOf<U>::kAddends};

// The packed activations of one group of n columns: kColumns, fewer in the last group.
template <unsigned N> struct GroupAct {
    size_t n;
    int8_t *q;
    float *d, *s;
    int32_t *offset; // kAddends per block, at most two

    static constexpr size_t kBlockBytes = N * 32 + 2 * sizeof(float) + 2 * sizeof(int32_t);
    static constexpr size_t bytes(size_t k, size_t n_columns) {
        return (k / 32 * n_columns * kBlockBytes + 63) / 64 * 64;
    }
    GroupAct(uint8_t *memory, size_t k, size_t n_columns) : n(n_columns) {
        q = reinterpret_cast<int8_t *>(memory);
        d = reinterpret_cast<float *>(memory + N * k * n);
        s = d + k / 32 * n;
        offset = reinterpret_cast<int32_t *>(s + k / 32 * n);
    }
};

template <class V> using GroupOf = GroupAct<V::kPlanes>;

// Columns there is room for: half as many forms of the micro-kernel.
constexpr size_t even(size_t n_columns) {
    return (n_columns + 1) / 2 * 2;
}

template <class V>
GGUFX_INLINE GroupOf<V> group_at(uint8_t *packed, size_t k, size_t n, size_t group) {
    static_assert(V::kColumns % 2 == 0);
    const size_t left = n - group * V::kColumns;
    return {packed + group * GroupOf<V>::bytes(k, V::kColumns), k,
            left < V::kColumns ? even(left) : V::kColumns};
}

template <class V> size_t gemm_bytes(size_t k, size_t n) {
    return n / V::kColumns * GroupOf<V>::bytes(k, V::kColumns) +
           GroupOf<V>::bytes(k, even(n % V::kColumns));
}

// Codes and sums of one block of a column. V: the set's primitives and planes.
template <class Set, unsigned N> struct PackedBlock {
    int8_t q[N * 32] = {};
    int16_t s16[N * 2] = {};

    // Into the group of a column; d is their scale.
    GGUFX_INLINE void put(const GroupAct<N> &to, size_t column, size_t b, float d, int32_t sum0,
                          int32_t sum1, const Addends &how) const {
        constexpr size_t depth = Set::kDepth, n_units = N * 32 / depth;
        for (size_t i = 0; i < n_units; i++) {
            const size_t unit = (n_units * b + i) * to.n + column;
            __builtin_memcpy(to.q + unit * depth, q + depth * i, depth);
        }
        const size_t at = b * to.n + column;
        to.d[at] = d;
        if (how.n_shifts == 2) { // s per group, in the room of the offsets too
            to.s[2 * b * to.n + column] = d * static_cast<float>(sum0);
            to.s[(2 * b + 1) * to.n + column] = d * static_cast<float>(sum1);
            return;
        }
        to.s[at] = d * static_cast<float>(sum0 + sum1);
        int32_t addends[2] = {-how.offset * sum0, -how.offset * sum1};
        if (how.centre != 0) {
            if constexpr (requires { TileProducts<Set>::centre_sums; }) {
                TileProducts<Set>::centre_sums(addends, q, how.centre, how.group);
            }
            if (how.offset == 0) addends[1] = how.centre * (sum0 + sum1);
        } else if (how.group == 32) {
            addends[0] += addends[1];
        }
        for (size_t z = 0; z < how.n; z++) {
            to.offset[(how.n * b + z) * to.n + column] = addends[z];
        }
    }
};

template <class Set, unsigned N>
GGUFX_INLINE void gemm_pack_column(const GroupAct<N> &to, size_t column, const float *x, size_t k,
                                   const Addends &how) {
    PackedBlock<Set, N> block;
    BlockCodes<Planes<Set, N>> codes;
    for (size_t p = 0; p < N; p++) {
        codes.q[p] = block.q + 32 * p;
        codes.s16[p] = block.s16 + 2 * p;
    }
    for (size_t b = 0; b < k / 32; b++) {
        __builtin_prefetch(x + 32 * b + 512); // 2 KiB ahead: packing was 12 % of 1792 rows, now 8
        __builtin_prefetch(x + 32 * b + 528);
        const float d = pack_codes(codes, x + 32 * b);
        block.put(to, column, b, d, codes.sum(0), codes.sum(1), how);
    }
}

template <class Set, unsigned N>
__attribute__((noinline)) void gemm_pack_columns(uint8_t *packed, const GemmAct &act, size_t first,
                                                 size_t count, const Addends &how) {
    for (size_t c = first; c < first + count; c++) {
        const size_t column = c % Set::kColumns;
        const auto to = group_at<Planes<Set, N>>(packed, act.k, act.n, c / Set::kColumns);
        gemm_pack_column<Set, N>(to, column, act.x + c * act.ldx, act.k, how);
        if (c + 1 < act.n || act.n % Set::kColumns % 2 == 0) continue;
        const PackedBlock<Set, N> zero;
        for (size_t b = 0; b < act.k / 32; b++) zero.put(to, column + 1, b, 0.0f, 0, 0, how);
    }
}

template <class U> void gemm_pack(uint8_t *packed, const GemmAct &act, size_t first, size_t count) {
    gemm_pack_columns<typename U::Set, U::kPlanes>(packed, act, first, count, kAddendsOf<U>);
}

} // namespace
} // namespace ggufx::kernels
