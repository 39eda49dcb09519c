// AVX-512 VBMI attention on pages with table lookups of codes; the other kinds use AVX-512.
// SPDX-License-Identifier: MIT
#include "kernels/avx512/kv_vec.hpp"
#include "kernels/kv_encode.hpp"
#include "kernels/loops/families.hpp"
#include "kernels/loops/kv_weigh.hpp"

namespace ggufx {
namespace kernels {

namespace avx512 {
namespace {

// Tables of 64 bytes.
struct VbmiKvVec : KvVec {
    static constexpr bool kLongTables = true;

    // Bits 6 and 7 of an index are ignored.
    static GGUFX_INLINE Vi lookup64(Vi table, Vi index) {
        return _mm512_permutexvar_epi8(index, table);
    }
    // Shifts bytes up by N bits, or down by -N; bits that enter from an adjacent byte must not
    // matter.
    template <int N> static GGUFX_INLINE Vi slide(Vi x) {
        if constexpr (N < 0) return _mm512_srli_epi16(x, -N);
        if constexpr (N > 0) return _mm512_slli_epi16(x, N);
        return x;
    }
    // Selects the bits of a set in Mask and the other bits of b, in each byte.
    template <unsigned Mask> static GGUFX_INLINE Vi pick(Vi a, Vi b) {
        return _mm512_ternarylogic_epi32(b, a, set1_8(static_cast<int>(Mask)), 0xd8);
    }
};

constexpr auto kTabled = for_kv_kinds<KvKernels>([]<KvKind K>() -> KvKernels {
    if constexpr (K >= KvKind::iq4_nl)
        return kKvKind<VbmiKvVec, K>;
    else
        return {};
});

} // namespace
} // namespace avx512

const KvPages avx512vbmi::kKvPages =
    kv_pages_with<avx512::VbmiKvVec>(kAvx512KvEncoders, avx512::kTabled);

} // namespace kernels
} // namespace ggufx
