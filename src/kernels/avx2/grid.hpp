// Codes of the IQ types on AVX2.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx2/vec.hpp"
#include "kernels/loops/grid_x86.hpp"

namespace ggufx::kernels::avx2 {
namespace {

template <class U>
GGUFX_INLINE void load_grid(__m256i (&c)[4], const typename U::Block *b, unsigned i) {
    load_half<U>(c, *b, i);
}

} // namespace
} // namespace ggufx::kernels::avx2
