// What the loops over KV pages need of AVX-VNNI: avx2's, and dot products by vpdpbusd, whose codes
// are unsigned bytes; where no scale is negative, weights are unsigned and codes signed.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx2/kv_vec.hpp"

namespace ggufx {
namespace kernels {
namespace avxvnni {
namespace {

struct KvVec : avx2::KvVec {
    static constexpr bool kPairs = false;
    template <KvKind> static constexpr bool kSignedCodes = false;
    template <KvKind> static constexpr unsigned kShortSteps = 1;

    template <KvKind> static GGUFX_INLINE Vi prepare(Vi codes) { return codes; }
    static GGUFX_INLINE Vi dot_query(Vi sum, Vi codes, const int8_t *four) {
        return _mm256_dpbusd_avx_epi32(sum, codes, four_bytes(four));
    }
    template <bool Unsigned>
    static GGUFX_INLINE Vi dot_weights(Vi sum, Vi codes, const int8_t *four) {
        if constexpr (Unsigned) return _mm256_dpbusd_avx_epi32(sum, four_bytes(four), codes);
        return _mm256_dpbusd_avx_epi32(sum, codes, four_bytes(four));
    }
};

} // namespace
} // namespace avxvnni
} // namespace kernels
} // namespace ggufx
