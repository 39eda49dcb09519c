// Small compiler vectors for the bytes of scales in formats. The same code serves every set at the
// width of that set; differences between sets are in <isa>/codes.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx::kernels {
namespace {

// Vector of N bytes with elements T.
template <class T, size_t N> struct VectorOf { typedef T Type __attribute__((vector_size(N))); };

// The same bytes as elements T.
template <class T, class W> using As = typename VectorOf<T, sizeof(W)>::Type;

// Repeats elements X, which fill 16 bytes, in each 16 bytes of W.
template <class W, class T, T... X> constexpr As<T, W> repeat() {
    static_assert(sizeof...(X) * sizeof(T) == 16);
    if constexpr (sizeof(W) == 16)
        return As<T, W>{X...};
    else if constexpr (sizeof(W) == 32)
        return As<T, W>{X..., X...};
    else
        return As<T, W>{X..., X..., X..., X...};
}

} // namespace
} // namespace ggufx::kernels
