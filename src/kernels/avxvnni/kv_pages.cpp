// AVX-VNNI attention on integer pages. Float pages and quantization of pages use AVX2.
// SPDX-License-Identifier: MIT
#include "kernels/avx2/kv_vec.hpp"
#include "kernels/kv_encode.hpp"
#include "kernels/loops/families.hpp"
#include "kernels/loops/kv_weigh.hpp"

namespace ggufx {
namespace kernels {

namespace avxvnni {
namespace {

// Dot products by vpdpbusd with unsigned codes. For kinds without negative scales, weights are
// unsigned and codes signed.
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
    // Splits 64 weights of at most 16256 into planes, W = 128 * high + low with low >= 0. Packing
    // leaves the groups of four of four registers in the order 0, 2, 4, 6, 1, 3, 5, 7.
    template <bool Unsigned>
    static GGUFX_INLINE void store_weights(int8_t *high, int8_t *low, const Vi (&q)[8]) {
        const Vi order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        Vi h[4], l[4];
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++) {
            const Vi w = _mm256_packs_epi32(q[2 * i], q[2 * i + 1]);
            h[i] = _mm256_srai_epi16(w, 7);
            l[i] = and_i(w, _mm256_set1_epi16(127));
        }
#pragma GCC unroll 2
        for (unsigned i = 0; i < 2; i++) {
            const Vi a = _mm256_packs_epi16(h[2 * i], h[2 * i + 1]);
            const Vi b = _mm256_packs_epi16(l[2 * i], l[2 * i + 1]);
            store_i(high + 32 * i, _mm256_permutevar8x32_epi32(a, order));
            store_i(low + 32 * i, _mm256_permutevar8x32_epi32(b, order));
        }
    }
};

constexpr auto kKinds = for_kv_kinds<KvKernels>([]<KvKind K>() -> KvKernels {
    if constexpr (K >= KvKind::q8_0)
        return kKvKind<KvVec, K>;
    else
        return {};
});

} // namespace
} // namespace avxvnni

const KvPages GGUFX_LAYER::kKvPages =
    kv_pages_with<avxvnni::KvVec>(kAvx2KvEncoders, avxvnni::kKinds);

} // namespace kernels
} // namespace ggufx
