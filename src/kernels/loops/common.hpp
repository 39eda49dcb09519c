// What all loop templates share: inlining, prefetch, steps of a row and its tail.
// A step is 32 * kLanes values: one vector of block sums. Loops are written over U, an Unpack
// struct of an instruction set (docs/contributing/kernels.md), which inherits that set's primitives (vec.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/table.hpp"

#include <stddef.h>
#include <stdint.h>

// Vectors stay in registers only where everything is inlined.
#define GGUFX_INLINE inline __attribute__((always_inline))

namespace ggufx::kernels {
namespace {

// Far enough to cover DRAM latency, near enough not to be evicted. Into the second cache: with
// prefetch into the first, 2 KiB ahead, Zen 4 read Q8_0 at 16 GB/s instead of 28 (Q6_K 16, 25);
// Emerald Rapids does not mind. Zen 5 wants the first (Rows::near): of two models' tokens it made
// 1.10 and 1.12 times as many.
constexpr size_t kPrefetchAhead = 1024, kPrefetchNear = 2048;

// always_inline is needed: gcc takes a function that only prefetches for pure and deletes calls.
template <size_t Bytes> GGUFX_INLINE void prefetch_at(const uint8_t *p) {
#pragma GCC unroll 16
    for (size_t i = 0; i < Bytes; i += 64) __builtin_prefetch(p + i, 0, 2);
}
template <size_t Bytes> GGUFX_INLINE void prefetch(const uint8_t *p) {
    prefetch_at<Bytes>(p + kPrefetchAhead);
}
template <size_t Bytes> GGUFX_INLINE void prefetch_near(const uint8_t *p) {
#pragma GCC unroll 16
    for (size_t i = 0; i < Bytes; i += 64) __builtin_prefetch(p + kPrefetchNear + i, 0, 3);
}
// Of the rows at p..., where they want it; asked in each step, so that no loop is there twice, and
// once for all of them. V: a set that runs on processors which want it near.
template <class V, size_t Bytes> GGUFX_INLINE void prefetch_for(const Rows &w, const auto *...p) {
    if constexpr (V::kLanes == 16) {
        bool near = w.near;
        __asm__("" : "+r"(near));
        if (near) return (prefetch_near<Bytes>(p), ...);
    }
    (prefetch<Bytes>(p), ...);
}

// The blocks of a row behind its last whole step, followed by zero blocks. A zero block times
// zero activations adds +0 to a lane, which changes nothing but a -0 (gone after "+ 0.0f").
template <class U> struct Tail {
    typename U::Block blocks[U::kStepBlocks];

    GGUFX_INLINE const typename U::Block *fill(const uint8_t *from, size_t n_blocks) {
        __builtin_memset(blocks, 0, sizeof blocks);
        __builtin_memcpy(blocks, from, n_blocks * sizeof(typename U::Block));
        return blocks;
    }
};

template <class U> constexpr size_t kStepBytes = U::kStepBlocks * sizeof(typename U::Block);
template <class U> constexpr size_t kStepValues = 32 * U::kLanes;

template <class U> GGUFX_INLINE const typename U::Block *blocks_at(const uint8_t *p) {
    return reinterpret_cast<const typename U::Block *>(p); // bytes only inside: any alignment
}

// What is stored: no -0, one NaN (C2).
GGUFX_INLINE float finish(float y) {
    y = y + 0.0f;
    return y == y ? y : __builtin_nanf("");
}

} // namespace
} // namespace ggufx::kernels
