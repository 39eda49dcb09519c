// Codes of the IQ types on AVX-512, for tiles and decoding.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx512/vec.hpp"
#include "kernels/loops/grid_x86.hpp"
#include "kernels/loops/unpack/parts.hpp"

namespace ggufx::kernels::avx512 {
namespace {

template <class U>
GGUFX_INLINE void load_grid(__m512i (&c)[4], const typename U::Block *b, unsigned i) {
    __m256i first[4], second[4];
    load_half<U>(first, b[i], 0);
    load_half<U>(second, b[i], 1);
#pragma GCC unroll 4
    for (unsigned j = 0; j < 4; j++) c[j] = Vec::two_of_32(first[j], second[j]);
}

// n = 1..3 are left to the layers below and above.
template <class F>
requires(GridRows<F>::kBytes != 0) struct UnpackPlanes<F> {
};

} // namespace
} // namespace ggufx::kernels::avx512
