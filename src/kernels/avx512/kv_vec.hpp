// AVX-512 VNNI primitives for loops over KV pages, in addition to vec.hpp. Codes are unsigned bytes
// times signed weights or query codes. For kinds without negative scales, weights are unsigned and
// codes signed.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx512/vec.hpp"
#include "kernels/kv.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

struct KvVec : Vec {
    static constexpr unsigned kStripHalves = 2; // 16 sums of 4 rows
    static constexpr unsigned kFloatTile = 4;
    static constexpr bool kPairs = false;
    static constexpr bool kLongTables = false;
#ifdef GGUFX_SMALL
    static constexpr unsigned kReadyTile = 0; // no unpacked pages
#else
    static constexpr unsigned kReadyTile = 4; // token registers per tile: 16 sums of 4 rows
#endif
    template <KvKind> static constexpr bool kSignedCodes = false;
    template <KvKind> static constexpr unsigned kShortSteps = 1;

    static GGUFX_INLINE Vi zero_i() {
        return _mm512_setzero_si512();
    }
    static GGUFX_INLINE Vi add_i(Vi a, Vi b) {
        return _mm512_add_epi32(a, b);
    }
    static GGUFX_INLINE Vi and_i(Vi a, Vi b) {
        return _mm512_and_si512(a, b);
    }
    static GGUFX_INLINE Vi or_i(Vi a, Vi b) {
        return _mm512_or_si512(a, b);
    }
    template <int N> static GGUFX_INLINE Vi shift_right(Vi v) {
        return _mm512_srai_epi32(v, N);
    }
    static GGUFX_INLINE Vi round(Vf v) {
        return _mm512_cvtps_epi32(v);
    }

    // ---- bytes
    static GGUFX_INLINE Vi set1_8(int v) {
        return _mm512_set1_epi8(static_cast<char>(v));
    }
    static GGUFX_INLINE Vi add8(Vi a, Vi b) {
        return _mm512_add_epi8(a, b);
    }
    static GGUFX_INLINE Vi flip_signs(Vi v) {
        return _mm512_xor_si512(v, set1_8(-128));
    }
    static GGUFX_INLINE Vi load_table(const int8_t *t) {
        return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i *>(t)));
    }
    static GGUFX_INLINE Vi lookup(Vi table, Vi index) {
        return _mm512_shuffle_epi8(table, index);
    }
    // Bits bits of each byte, from bit Shift on.
    template <unsigned Shift, unsigned Bits> static GGUFX_INLINE Vi field(Vi x) {
        const Vi mask = set1_8((1 << Bits) - 1);
        if constexpr (Shift == 0) return and_i(x, mask);
        if constexpr (Shift + Bits == 8 && Bits == 4) return and_i(_mm512_srli_epi16(x, 4), mask);
        return and_i(_mm512_srli_epi16(x, Shift), mask);
    }
    // Bit From of each byte, moved to bit To; other bits are zero.
    template <unsigned From, unsigned To> static GGUFX_INLINE Vi bit(Vi x) {
        if constexpr (From > To) x = _mm512_srli_epi16(x, From - To);
        if constexpr (From < To) x = _mm512_slli_epi16(x, To - From);
        return and_i(x, set1_8(1 << To));
    }
    // Each byte times 2^N; bytes are small.
    template <unsigned N> static GGUFX_INLINE Vi shift_up(Vi x) {
        return _mm512_slli_epi16(x, N);
    }
    static GGUFX_INLINE void store_low_bytes(int8_t *to, Vi v) {
        _mm_storeu_si128(reinterpret_cast<__m128i *>(to), _mm512_cvtepi32_epi8(v));
    }
    // Lane i becomes lane i - 1 of the register at p; lane 0 becomes zero.
    static GGUFX_INLINE Vi load_lane_up(const uint8_t *p, bool) {
        const Vi v = load_i(p);
        return _mm512_maskz_alignr_epi32(0xfffe, v, v, 15);
    }

    // ---- dot products of four bytes per lane
    template <KvKind> static GGUFX_INLINE Vi prepare(Vi codes) {
        return codes;
    }
    static GGUFX_INLINE Vi four_bytes(const int8_t *four) {
        int32_t v;
        __builtin_memcpy(&v, four, 4);
        return _mm512_set1_epi32(v);
    }
    static GGUFX_INLINE Vi dot_query(Vi sum, Vi codes, const int8_t *four) {
        return _mm512_dpbusd_epi32(sum, codes, four_bytes(four));
    }
    template <bool Unsigned>
    static GGUFX_INLINE Vi dot_weights(Vi sum, Vi codes, const int8_t *four) {
        if constexpr (Unsigned) return _mm512_dpbusd_epi32(sum, four_bytes(four), codes);
        return _mm512_dpbusd_epi32(sum, codes, four_bytes(four));
    }

    // ---- floats
    // Swaps lanes i and i ^ H; flip_where() flips the sign bits set in `sign`.
    template <unsigned H> static GGUFX_INLINE Vf swap_lanes(Vf v) {
        if constexpr (H == 1) return _mm512_permute_ps(v, 0xb1);
        if constexpr (H == 2) return _mm512_permute_ps(v, 0x4e);
        return _mm512_shuffle_f32x4(v, v, H == 4 ? 0xb1 : 0x4e);
    }
    static GGUFX_INLINE Vf flip_where(Vf v, Vi sign) {
        return _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(v), sign));
    }
    template <KvKind Kind> static GGUFX_INLINE Vf load_value(const uint8_t *p) {
        if constexpr (Kind == KvKind::f32) return _mm512_loadu_ps(p);
        if constexpr (Kind == KvKind::bf16) return load_bf16(p);
        return load_f16(p);
    }
    template <size_t N> static GGUFX_INLINE uint32_t largest_bits(const Vf (&x)[N]) {
        const Vi magnitude = _mm512_set1_epi32(0x7fffffff);
        Vi most = zero_i();
#pragma GCC unroll 4
        for (size_t i = 0; i < N; i++)
            most = _mm512_max_epu32(most, and_i(_mm512_castps_si512(x[i]), magnitude));
        return _mm512_reduce_max_epu32(most);
    }
    template <size_t N> static GGUFX_INLINE bool all_finite(const Vf (&x)[N]) {
        unsigned bad = 0;
#pragma GCC unroll 4
        for (size_t i = 0; i < N; i++) bad |= _mm512_fpclass_ps_mask(x[i], 0x99); // NaN, infinities
        return bad == 0;
    }
    static GGUFX_INLINE int32_t reduce_add(Vi v) {
        return _mm512_reduce_add_epi32(v);
    }
    static GGUFX_INLINE Vf max(Vf a, Vf b) {
        return _mm512_max_ps(a, b);
    }
    static GGUFX_INLINE float reduce_max(Vf v) {
        return _mm512_reduce_max_ps(v);
    }
    static GGUFX_INLINE float first(Vf v) {
        return _mm512_cvtss_f32(v);
    }
    // Register i of 64 lanes: a in lanes whose mask bit is set, else b.
    static GGUFX_INLINE Vf select(Vf a, Vf b, uint64_t mask, unsigned i) {
        return _mm512_mask_mov_ps(b, static_cast<__mmask16>(mask >> (16 * i)), a);
    }
    static GGUFX_INLINE Vf zero_below(Vf v, Vf x, Vf limit) {
        return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, limit, _CMP_NLT_UQ), v);
    }
    static GGUFX_INLINE Vf add_exponent(Vf v, Vi n) {
        return _mm512_castsi512_ps(add_i(_mm512_castps_si512(v), shift_left<23>(n)));
    }

    // ---- weights of a page
    static GGUFX_INLINE Vi larger_magnitude(Vi most, Vf x) {
        return _mm512_castps_si512(_mm512_range_ps(_mm512_castsi512_ps(most), x, 0x0b));
    }
    // Lane r of out: the maximum of the lanes of a[r], none negative; or their sum.
    static GGUFX_INLINE void largest_of4(void *out, const Vi (&a)[4]) {
        __m128i m[4];
#pragma GCC unroll 4
        for (unsigned r = 0; r < 4; r++) {
            const __m256i half =
                _mm256_max_epi32(_mm512_castsi512_si256(a[r]), _mm512_extracti64x4_epi64(a[r], 1));
            m[r] = _mm_max_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
        }
        store_largest_of4(out, m);
    }
    static GGUFX_INLINE void sums_of4(void *out, const Vi (&a)[4]) {
        __m128i m[4];
#pragma GCC unroll 4
        for (unsigned r = 0; r < 4; r++) {
            const __m256i half =
                _mm256_add_epi32(_mm512_castsi512_si256(a[r]), _mm512_extracti64x4_epi64(a[r], 1));
            m[r] = _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
        }
        store_sums_of4(out, m);
    }
    // Splits 64 weights of at most 16256 into planes, W = 128 * high + low with low >= 0. Packing
    // leaves the groups of four of register i in lanes 4 * j + i; they belong in 4 * i + j.
    template <bool Unsigned>
    static GGUFX_INLINE void store_weights(int8_t *high, int8_t *low, const Vi (&q)[4]) {
        const Vi order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        Vi h[2], l[2];
#pragma GCC unroll 2
        for (unsigned i = 0; i < 2; i++) {
            const Vi w = _mm512_packs_epi32(q[2 * i], q[2 * i + 1]);
            h[i] = _mm512_srai_epi16(w, 7);
            l[i] = and_i(w, _mm512_set1_epi16(127));
        }
        store_i(high, _mm512_permutexvar_epi32(order, _mm512_packs_epi16(h[0], h[1])));
        store_i(low, _mm512_permutexvar_epi32(order, _mm512_packs_epi16(l[0], l[1])));
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
