// What the loops over KV pages need of AVX-512 VBMI: avx512's, and tables of 64 bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx512/kv_vec.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

struct VbmiKvVec : KvVec {
    static constexpr bool kLongTables = true;

    // Bits 6 and 7 of an index mean nothing.
    static GGUFX_INLINE Vi lookup64(Vi table, Vi index) {
        return _mm512_permutexvar_epi8(index, table);
    }
    // Bytes N bits up, or -N down; what comes in from a neighbour must not matter.
    template <int N> static GGUFX_INLINE Vi slide(Vi x) {
        if constexpr (N < 0) return _mm512_srli_epi16(x, -N);
        if constexpr (N > 0) return _mm512_slli_epi16(x, N);
        return x;
    }
    // Of each byte the bits of a where Mask has ones, else those of b.
    template <unsigned Mask> static GGUFX_INLINE Vi pick(Vi a, Vi b) {
        return _mm512_ternarylogic_epi32(b, a, set1_8(static_cast<int>(Mask)), 0xd8);
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
