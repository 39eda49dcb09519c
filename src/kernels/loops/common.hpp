// Shared parts of all loop templates: inlining, prefetch, steps of a row and its tail. A step is 32
// * kLanes values: one vector of block sums. Loops are templates over U, an Unpack struct of an
// instruction set (docs/contributing/kernels.md), which inherits the primitives of that set
// (vec.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/table.hpp"

#include <stddef.h>
#include <stdint.h>

// Vectors stay in registers only if everything is inlined.
#define GGUFX_INLINE inline __attribute__((always_inline))

namespace ggufx::kernels {
namespace {

// Distance that covers DRAM latency but avoids eviction. Prefetches into L2. With prefetch into L1,
// 2 KiB ahead, Zen 4 read Q8_0 at 16 GB/s instead of 28 (Q6_K 16 instead of 25); Emerald Rapids
// showed no difference. Zen 5 prefers L1 (Rows::near): 1.10 and 1.12 times the tokens per second on
// two models.
constexpr size_t kPrefetchAhead = 1024, kPrefetchNear = 2048;

// always_inline is required: gcc treats a function that only prefetches as pure and deletes its
// calls.
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
// Prefetches the rows at p... into L2, or into L1 if w.near. Checked in each step, so that no loop
// is duplicated, and once for all rows. V: `near` is ignored by sets without such processors.
template <class V, size_t Bytes> GGUFX_INLINE void prefetch_for(const Rows &w, const auto *...p) {
    if constexpr (V::kLanes == 16) {
        bool near = w.near;
        __asm__("" : "+r"(near));
        if (near) return (prefetch_near<Bytes>(p), ...);
    }
    (prefetch<Bytes>(p), ...);
}

// The blocks of a row after its last whole step, padded with zero blocks. A zero block times zero
// activations adds +0 to a lane, which changes nothing except a -0 (removed by "+ 0.0f").
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

// Returns the stored form of a result: no -0, one NaN (C2).
GGUFX_INLINE float finish(float y) {
    y = y + 0.0f;
    return y == y ? y : __builtin_nanf("");
}

} // namespace
} // namespace ggufx::kernels
