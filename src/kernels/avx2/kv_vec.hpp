// AVX2 primitives for loops over KV pages, in addition to vec.hpp.
// - vpmaddubsw adds two products in int16. Codes that could saturate it stay signed: their
//   magnitude is multiplied by the other factor with their sign.
// - Products of small codes are added in int16.
// - 15-bit factors are multiplied by 16-bit codes in vpmaddwd, two instructions instead of three
//   for two planes of bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx2/vec.hpp"
#include "kernels/kv.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

struct KvVec : Vec {
    static constexpr unsigned kStripHalves = 1; // 8 sums of 4 rows
    static constexpr unsigned kFloatTile = 2;
    template <KvKind Kind>
    static constexpr bool kSignedCodes = kv_largest(kv_format(Kind)) > kCodeLimit;
    static constexpr bool kPairs = true;
    static constexpr bool kLongTables = false;
#ifdef GGUFX_SMALL
    static constexpr unsigned kReadyTile = 0; // no unpacked pages
#else
    static constexpr unsigned kReadyTile = 1; // token registers per tile of unpacked pages
#endif
    // Registers of codes whose sums of two products each, times 127, fit int16: 8, 4 or 1.
    template <KvKind Kind>
    static constexpr unsigned kShortSteps = kv_largest(kv_format(Kind)) * 254 * 8 <= INT16_MAX ? 8
                                            : kv_largest(kv_format(Kind)) * 254 * 4 <= INT16_MAX
                                                ? 4
                                                : 1;

    static GGUFX_INLINE Vi zero_i() {
        return _mm256_setzero_si256();
    }
    static GGUFX_INLINE Vi add_i(Vi a, Vi b) {
        return _mm256_add_epi32(a, b);
    }
    static GGUFX_INLINE Vi and_i(Vi a, Vi b) {
        return _mm256_and_si256(a, b);
    }
    static GGUFX_INLINE Vi or_i(Vi a, Vi b) {
        return _mm256_or_si256(a, b);
    }
    template <int N> static GGUFX_INLINE Vi shift_right(Vi v) {
        return _mm256_srai_epi32(v, N);
    }
    static GGUFX_INLINE Vi round(Vf v) {
        return _mm256_cvtps_epi32(v);
    }

    // ---- bytes
    static GGUFX_INLINE Vi set1_8(int v) {
        return _mm256_set1_epi8(static_cast<char>(v));
    }
    static GGUFX_INLINE Vi add8(Vi a, Vi b) {
        return _mm256_add_epi8(a, b);
    }
    static GGUFX_INLINE Vi flip_signs(Vi v) {
        return _mm256_xor_si256(v, set1_8(-128));
    }
    static GGUFX_INLINE Vi load_table(const int8_t *t) {
        return _mm256_broadcastsi128_si256(load16(t));
    }
    static GGUFX_INLINE Vi lookup(Vi table, Vi index) {
        return _mm256_shuffle_epi8(table, index);
    }
    // Bits bits of each byte, from bit Shift on.
    template <unsigned Shift, unsigned Bits> static GGUFX_INLINE Vi field(Vi x) {
        if constexpr (Shift != 0) x = _mm256_srli_epi16(x, Shift);
        return and_i(x, set1_8((1 << Bits) - 1));
    }
    // Bit From of each byte, moved to bit To; other bits are zero.
    template <unsigned From, unsigned To> static GGUFX_INLINE Vi bit(Vi x) {
        if constexpr (From > To) x = _mm256_srli_epi16(x, From - To);
        if constexpr (From < To) x = _mm256_slli_epi16(x, To - From);
        return and_i(x, set1_8(1 << To));
    }
    // Each byte times 2^N; bytes are small.
    template <unsigned N> static GGUFX_INLINE Vi shift_up(Vi x) {
        return _mm256_slli_epi16(x, N);
    }
    static GGUFX_INLINE void store_low_bytes(int8_t *to, Vi v) {
        const __m128i low =
            _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
        _mm_storel_epi64(reinterpret_cast<__m128i *>(to), _mm_packs_epi16(low, low));
    }
    // Lane i becomes lane i - 1 of the 16 lanes at p; the first one becomes zero.
    static GGUFX_INLINE Vi load_lane_up(const uint8_t *p, bool first) {
        if (!first) return load_i(p - 4);
        const Vi up =
            _mm256_permutevar8x32_epi32(load_i(p), _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6));
        return _mm256_blend_epi32(up, zero_i(), 1);
    }

    // ---- dot products of four bytes per lane
    template <bool Signed> struct Codes {
        Vi magnitude, value; // without Signed, both are the unsigned codes
    };
    template <KvKind Kind> static GGUFX_INLINE Codes<kSignedCodes<Kind>> prepare(Vi codes) {
        if constexpr (kSignedCodes<Kind>) return {_mm256_abs_epi8(codes), codes};
        return {codes, codes};
    }
    static GGUFX_INLINE Vi four_bytes(const int8_t *four) {
        int32_t v;
        __builtin_memcpy(&v, four, 4);
        return _mm256_set1_epi32(v);
    }
    // Keeps a sum in a register. Otherwise gcc adds products to each other before the sum and
    // spills them.
    static GGUFX_INLINE Vi pinned(Vi v) {
        __asm__ volatile("" : "+x"(v));
        return v;
    }
    static GGUFX_INLINE Vi add_products(Vi sum, Vi u, Vi s) {
        return pinned(
            add_i(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(u, s), _mm256_set1_epi16(1))));
    }
    template <bool Signed>
    static GGUFX_INLINE Vi dot_query(Vi sum, Codes<Signed> codes, const int8_t *four) {
        if constexpr (!Signed) return add_products(sum, codes.value, four_bytes(four));
        return add_products(sum, codes.magnitude, _mm256_sign_epi8(four_bytes(four), codes.value));
    }
    static GGUFX_INLINE Vi short_products(Codes<false> codes, const int8_t *four) {
        return _mm256_maddubs_epi16(codes.value, four_bytes(four));
    }
    static GGUFX_INLINE Vi add_shorts(Vi a, Vi b) {
        return pinned(_mm256_add_epi16(a, b));
    }
    static GGUFX_INLINE Vi add_pairs(Vi sum, Vi shorts) {
        return add_i(sum, _mm256_madd_epi16(shorts, _mm256_set1_epi16(1)));
    }

    // ---- pairs: bytes 0 and 2 of a lane in one int16 register, 1 and 3 in another
    struct Pairs {
        Vi part[2];
    };
    static GGUFX_INLINE Pairs widen(Vi codes) { // unsigned
        return {{and_i(codes, _mm256_set1_epi16(255)), _mm256_srli_epi16(codes, 8)}};
    }
    static GGUFX_INLINE Vi dot_pairs(Vi sum, Vi codes, const int8_t *two) {
        return pinned(add_i(sum, _mm256_madd_epi16(codes, four_bytes(two))));
    }
    // Stores eight int32 that fit int16: lanes 0, 2, 4, 6 and 1, 3, 5, 7.
    static GGUFX_INLINE void store_pairs(int8_t *even, int8_t *odd, Vi v) {
        const __m128i order = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
        const __m128i all =
            _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
        const __m128i parted = _mm_shuffle_epi8(all, order);
        _mm_storel_epi64(reinterpret_cast<__m128i *>(even), parted);
        _mm_storel_epi64(reinterpret_cast<__m128i *>(odd), _mm_unpackhi_epi64(parted, parted));
    }

    // ---- floats
    // Swaps lanes i and i ^ H; flip_where() flips the sign bits set in `sign`.
    template <unsigned H> static GGUFX_INLINE Vf swap_lanes(Vf v) {
        if constexpr (H == 4) return _mm256_permute2f128_ps(v, v, 1);
        return _mm256_permute_ps(v, H == 1 ? 0xb1 : 0x4e);
    }
    static GGUFX_INLINE Vf flip_where(Vf v, Vi sign) {
        return _mm256_castsi256_ps(_mm256_xor_si256(_mm256_castps_si256(v), sign));
    }
    template <KvKind Kind> static GGUFX_INLINE Vf load_value(const uint8_t *p) {
        if constexpr (Kind == KvKind::f32) return load(reinterpret_cast<const float *>(p));
        if constexpr (Kind == KvKind::bf16) return load_bf16(p);
        return load_f16(p);
    }
    template <size_t N> static GGUFX_INLINE uint32_t largest_bits(const Vf (&x)[N]) {
        const Vi magnitude = _mm256_set1_epi32(0x7fffffff);
        Vi most = zero_i();
#pragma GCC unroll 8
        for (size_t i = 0; i < N; i++)
            most = _mm256_max_epi32(most, and_i(_mm256_castps_si256(x[i]), magnitude));
        __m128i m = _mm_max_epi32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
        m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
        m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
        return static_cast<uint32_t>(_mm_cvtsi128_si32(m));
    }
    template <size_t N> static GGUFX_INLINE bool all_finite(const Vf (&x)[N]) {
        return largest_bits(x) < 0x7f800000u;
    }
    static GGUFX_INLINE int32_t reduce_add(Vi v) {
        __m128i m = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
        m = _mm_add_epi32(m, _mm_shuffle_epi32(m, 0x4e));
        return _mm_cvtsi128_si32(_mm_add_epi32(m, _mm_shuffle_epi32(m, 0xb1)));
    }
    static GGUFX_INLINE Vf max(Vf a, Vf b) {
        return _mm256_max_ps(a, b);
    }
    static GGUFX_INLINE float reduce_max(Vf v) {
        __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
        m = _mm_max_ps(m, _mm_movehl_ps(m, m));
        return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
    }
    static GGUFX_INLINE float first(Vf v) {
        return _mm256_cvtss_f32(v);
    }
    // Register i of 64 lanes: a in lanes whose mask bit is set, else b.
    static GGUFX_INLINE Vf select(Vf a, Vf b, uint64_t mask, unsigned i) {
        const Vi bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        const Vi eight = set1_i(static_cast<int32_t>(mask >> (8 * i) & 255));
        const Vi on = _mm256_cmpeq_epi32(and_i(eight, bits), bits);
        return _mm256_blendv_ps(b, a, _mm256_castsi256_ps(on));
    }
    static GGUFX_INLINE Vf zero_below(Vf v, Vf x, Vf limit) {
        return _mm256_and_ps(v, _mm256_cmp_ps(x, limit, _CMP_NLT_UQ));
    }
    static GGUFX_INLINE Vf add_exponent(Vf v, Vi n) {
        return _mm256_castsi256_ps(add_i(_mm256_castps_si256(v), shift_left<23>(n)));
    }

    // ---- weights of a page
    static GGUFX_INLINE Vi larger_magnitude(Vi most, Vf x) {
        return _mm256_max_epi32(most, and_i(_mm256_castps_si256(x), set1_i(INT32_MAX)));
    }
    // Lane r of out: the maximum of the lanes of a[r], none negative; or their sum.
    static GGUFX_INLINE void largest_of4(void *out, const Vi (&a)[4]) {
        __m128i m[4];
#pragma GCC unroll 4
        for (unsigned r = 0; r < 4; r++)
            m[r] = _mm_max_epi32(_mm256_castsi256_si128(a[r]), _mm256_extracti128_si256(a[r], 1));
        store_largest_of4(out, m);
    }
    static GGUFX_INLINE void sums_of4(void *out, const Vi (&a)[4]) {
        __m128i m[4];
#pragma GCC unroll 4
        for (unsigned r = 0; r < 4; r++)
            m[r] = _mm_add_epi32(_mm256_castsi256_si128(a[r]), _mm256_extracti128_si256(a[r], 1));
        store_sums_of4(out, m);
    }
    // Stores 64 weights that fit int16, as pairs.
    template <bool Unsigned>
    static GGUFX_INLINE void store_weights(int8_t *even, int8_t *odd, const Vi (&q)[8]) {
        const Vi part = _mm256_broadcastsi128_si256(
            _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
        const Vi order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++) { // groups of four 0, 2 | 1, 3 of two registers
            const Vi two = _mm256_shuffle_epi8(_mm256_packs_epi32(q[2 * i], q[2 * i + 1]), part);
            const Vi sorted = _mm256_permutevar8x32_epi32(two, order);
            _mm_storeu_si128(reinterpret_cast<__m128i *>(even + 16 * i),
                             _mm256_castsi256_si128(sorted));
            _mm_storeu_si128(reinterpret_cast<__m128i *>(odd + 16 * i),
                             _mm256_extracti128_si256(sorted, 1));
        }
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
