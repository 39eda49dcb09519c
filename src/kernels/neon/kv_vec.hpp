// NEON primitives for loops over KV pages, in addition to vec.hpp. Codes are signed bytes. With
// sdot, four products are one instruction; without it, products of int8 are widened in pairs.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/kv.hpp"
#include "kernels/neon/vec.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

struct KvVec : Vec {
    static constexpr unsigned kStripHalves = 1; // 8 sums of 4 rows, two registers each
    static constexpr unsigned kFloatTile = 2;
    static constexpr bool kPairs = false;
    static constexpr bool kLongTables = false;
    static constexpr unsigned kReadyTile = 0; // no unpacked pages
    template <KvKind> static constexpr bool kSignedCodes = true;
    template <KvKind> static constexpr unsigned kShortSteps = 1;

    static GGUFX_INLINE int8x16_t s8(int32x4_t v) { return vreinterpretq_s8_s32(v); }
    static GGUFX_INLINE uint8x16_t u8(int32x4_t v) { return vreinterpretq_u8_s32(v); }
    static GGUFX_INLINE int32x4_t s32(int8x16_t v) { return vreinterpretq_s32_s8(v); }
    static GGUFX_INLINE int32x4_t s32(uint8x16_t v) { return vreinterpretq_s32_u8(v); }

    static GGUFX_INLINE Vi zero_i() { return set1_i(0); }
    static GGUFX_INLINE Vi add_i(Vi a, Vi b) {
        return {vaddq_s32(a.lo, b.lo), vaddq_s32(a.hi, b.hi)};
    }
    static GGUFX_INLINE Vi and_i(Vi a, Vi b) {
        return {vandq_s32(a.lo, b.lo), vandq_s32(a.hi, b.hi)};
    }
    static GGUFX_INLINE Vi or_i(Vi a, Vi b) {
        return {vorrq_s32(a.lo, b.lo), vorrq_s32(a.hi, b.hi)};
    }
    template <int N> static GGUFX_INLINE Vi shift_right(Vi v) {
        return {vshrq_n_s32(v.lo, N), vshrq_n_s32(v.hi, N)};
    }
    static GGUFX_INLINE Vi round(Vf v) { return {vcvtnq_s32_f32(v.lo), vcvtnq_s32_f32(v.hi)}; }

    // ---- bytes
    static GGUFX_INLINE Vi set1_8(int v) {
        const int32x4_t all = s32(vdupq_n_s8(static_cast<int8_t>(v)));
        return {all, all};
    }
    static GGUFX_INLINE Vi add8(Vi a, Vi b) {
        return {s32(vaddq_s8(s8(a.lo), s8(b.lo))), s32(vaddq_s8(s8(a.hi), s8(b.hi)))};
    }
    static GGUFX_INLINE Vi flip_signs(Vi v) {
        const Vi sign = set1_8(-128);
        return {veorq_s32(v.lo, sign.lo), veorq_s32(v.hi, sign.hi)};
    }
    static GGUFX_INLINE Vi load_table(const int8_t *t) {
        const int32x4_t all = s32(vld1q_s8(t));
        return {all, all};
    }
    static GGUFX_INLINE Vi lookup(Vi table, Vi index) {
        return {s32(vqtbl1q_s8(s8(table.lo), u8(index.lo))),
                s32(vqtbl1q_s8(s8(table.lo), u8(index.hi)))};
    }
    template <unsigned N> static GGUFX_INLINE int32x4_t down8(int32x4_t x) {
        return s32(vshrq_n_u8(u8(x), N));
    }
    template <unsigned N> static GGUFX_INLINE int32x4_t up8(int32x4_t x) {
        return s32(vshlq_n_u8(u8(x), N));
    }
    // Bits bits of each byte, from bit Shift on.
    template <unsigned Shift, unsigned Bits> static GGUFX_INLINE Vi field(Vi x) {
        if constexpr (Shift != 0) x = {down8<Shift>(x.lo), down8<Shift>(x.hi)};
        if constexpr (Shift + Bits == 8) return x;
        return and_i(x, set1_8((1 << Bits) - 1));
    }
    // Bit From of each byte, moved to bit To; other bits are zero.
    template <unsigned From, unsigned To> static GGUFX_INLINE Vi bit(Vi x) {
        if constexpr (From > To) x = {down8<From - To>(x.lo), down8<From - To>(x.hi)};
        if constexpr (From < To) x = {up8<To - From>(x.lo), up8<To - From>(x.hi)};
        return and_i(x, set1_8(1 << To));
    }
    // Each byte times 2^N; bytes are small.
    template <unsigned N> static GGUFX_INLINE Vi shift_up(Vi x) {
        return {up8<N>(x.lo), up8<N>(x.hi)};
    }
    static GGUFX_INLINE void store_low_bytes(int8_t *to, Vi v) {
        vst1_s8(to, vmovn_s16(vcombine_s16(vmovn_s32(v.lo), vmovn_s32(v.hi))));
    }
    // Lane i becomes lane i - 1 of the 16 lanes at p; the first one becomes zero.
    static GGUFX_INLINE Vi load_lane_up(const uint8_t *p, bool first) {
        if (!first) return load_i(p - 4);
        const Vi v = load_i(p);
        return {vextq_s32(vdupq_n_s32(0), v.lo, 3), vextq_s32(v.lo, v.hi, 3)};
    }

    // ---- dot products of four bytes per lane
    template <KvKind> static GGUFX_INLINE Vi prepare(Vi codes) { return codes; }
    static GGUFX_INLINE int8x16_t four_bytes(const int8_t *four) {
        int32_t v;
        __builtin_memcpy(&v, four, 4);
        return s8(vdupq_n_s32(v));
    }
#ifdef GGUFX_NEON_DOT
    static GGUFX_INLINE int32x4_t dot(int32x4_t sum, int32x4_t codes, int8x16_t q) {
        return vdotq_s32(sum, s8(codes), q);
    }
#else
    // Two products of int8 fit int16: 2 * 128 * 127.
    static GGUFX_INLINE int32x4_t dot(int32x4_t sum, int32x4_t codes, int8x16_t q) {
        const int16x8_t a = vmull_s8(vget_low_s8(s8(codes)), vget_low_s8(q));
        const int16x8_t b = vmull_high_s8(s8(codes), q);
        return vpadalq_s16(sum, vpaddq_s16(a, b));
    }
#endif
    static GGUFX_INLINE Vi dot_query(Vi sum, Vi codes, const int8_t *four) {
        const int8x16_t q = four_bytes(four);
        return {dot(sum.lo, codes.lo, q), dot(sum.hi, codes.hi, q)};
    }
    template <bool> static GGUFX_INLINE Vi dot_weights(Vi sum, Vi codes, const int8_t *four) {
        return dot_query(sum, codes, four); // weights below 128 are signed bytes too
    }

    // ---- floats
    // Swaps lanes i and i ^ H; flip_where() flips the sign bits set in `sign`.
    template <unsigned H> static GGUFX_INLINE float32x4_t swap4(float32x4_t v) {
        return H == 1 ? vrev64q_f32(v) : vextq_f32(v, v, 2);
    }
    template <unsigned H> static GGUFX_INLINE Vf swap_lanes(Vf v) {
        if constexpr (H == 4) return {v.hi, v.lo};
        return {swap4<H>(v.lo), swap4<H>(v.hi)};
    }
    static GGUFX_INLINE float32x4_t flip_where(float32x4_t v, int32x4_t sign) {
        return vreinterpretq_f32_s32(veorq_s32(vreinterpretq_s32_f32(v), sign));
    }
    static GGUFX_INLINE Vf flip_where(Vf v, Vi sign) {
        return {flip_where(v.lo, sign.lo), flip_where(v.hi, sign.hi)};
    }
    template <KvKind Kind> static GGUFX_INLINE Vf load_value(const uint8_t *p) {
        if constexpr (Kind == KvKind::f32) return load(reinterpret_cast<const float *>(p));
        if constexpr (Kind == KvKind::bf16) return load_bf16(p);
        return load_f16(p);
    }
    template <size_t N> static GGUFX_INLINE uint32_t largest_bits(const Vf (&x)[N]) {
        uint32x4_t m = vdupq_n_u32(0);
        const uint32x4_t magnitude = vdupq_n_u32(0x7fffffff);
#pragma GCC unroll 8
        for (size_t i = 0; i < N; i++) {
            m = vmaxq_u32(m, vandq_u32(vreinterpretq_u32_f32(x[i].lo), magnitude));
            m = vmaxq_u32(m, vandq_u32(vreinterpretq_u32_f32(x[i].hi), magnitude));
        }
        return vmaxvq_u32(m);
    }
    template <size_t N> static GGUFX_INLINE bool all_finite(const Vf (&x)[N]) {
        return largest_bits(x) < 0x7f800000u;
    }
    static GGUFX_INLINE int32_t reduce_add(Vi v) {
        return vaddvq_s32(vaddq_s32(v.lo, v.hi));
    }
    static GGUFX_INLINE Vf max(Vf a, Vf b) {
        return {vmaxq_f32(a.lo, b.lo), vmaxq_f32(a.hi, b.hi)};
    }
    static GGUFX_INLINE float reduce_max(Vf v) {
        return vmaxvq_f32(vmaxq_f32(v.lo, v.hi));
    }
    static GGUFX_INLINE float first(Vf v) {
        return vgetq_lane_f32(v.lo, 0);
    }
    static GGUFX_INLINE uint32x4_t lanes_on(uint64_t four) {
        constexpr uint32_t kBits[4] = {1, 2, 4, 8};
        const uint32x4_t bits = vld1q_u32(kBits);
        return vtstq_u32(vdupq_n_u32(static_cast<uint32_t>(four & 15)), bits);
    }
    // Register i of 64 lanes: a in lanes whose mask bit is set, else b.
    static GGUFX_INLINE Vf select(Vf a, Vf b, uint64_t mask, unsigned i) {
        return {vbslq_f32(lanes_on(mask >> (8 * i)), a.lo, b.lo),
                vbslq_f32(lanes_on(mask >> (8 * i + 4)), a.hi, b.hi)};
    }
    static GGUFX_INLINE float32x4_t zero_below(float32x4_t v, float32x4_t x, float32x4_t limit) {
        return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(v), vcltq_f32(x, limit)));
    }
    static GGUFX_INLINE Vf zero_below(Vf v, Vf x, Vf limit) {
        return {zero_below(v.lo, x.lo, limit.lo), zero_below(v.hi, x.hi, limit.hi)};
    }
    static GGUFX_INLINE float32x4_t add_exponent(float32x4_t v, int32x4_t n) {
        return vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(v), vshlq_n_s32(n, 23)));
    }
    static GGUFX_INLINE Vf add_exponent(Vf v, Vi n) {
        return {add_exponent(v.lo, n.lo), add_exponent(v.hi, n.hi)};
    }

    // ---- weights of a page
    static GGUFX_INLINE int32x4_t larger_magnitude(int32x4_t most, float32x4_t x) {
        return vmaxq_s32(most, vandq_s32(vreinterpretq_s32_f32(x), vdupq_n_s32(INT32_MAX)));
    }
    static GGUFX_INLINE Vi larger_magnitude(Vi most, Vf x) {
        return {larger_magnitude(most.lo, x.lo), larger_magnitude(most.hi, x.hi)};
    }
    // Lane r of out: the maximum of the lanes of a[r], none negative; or their sum.
    static GGUFX_INLINE void largest_of4(void *out, const Vi (&a)[4]) {
        int32x4_t m[4];
#pragma GCC unroll 4
        for (unsigned r = 0; r < 4; r++) m[r] = vmaxq_s32(a[r].lo, a[r].hi);
        vst1q_s32(static_cast<int32_t *>(out),
                  vpmaxq_s32(vpmaxq_s32(m[0], m[1]), vpmaxq_s32(m[2], m[3])));
    }
    static GGUFX_INLINE void sums_of4(void *out, const Vi (&a)[4]) {
        int32x4_t m[4];
#pragma GCC unroll 4
        for (unsigned r = 0; r < 4; r++) m[r] = vaddq_s32(a[r].lo, a[r].hi);
        vst1q_s32(static_cast<int32_t *>(out),
                  vpaddq_s32(vpaddq_s32(m[0], m[1]), vpaddq_s32(m[2], m[3])));
    }
    // Splits 64 weights of at most 16256 into planes.
    template <bool Unsigned>
    static GGUFX_INLINE void store_weights(int8_t *high, int8_t *low, const Vi (&q)[8]) {
#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; i++) {
            const Vi h = shift_right<7>(Unsigned ? q[i] : add_i(q[i], set1_i(64)));
            store_low_bytes(high + i * kLanes, h);
            store_low_bytes(low + i * kLanes, sub_i(q[i], shift_left<7>(h)));
        }
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
