// NEON primitives that read codes and scales of formats. A vector is the 32 codes of a block, a
// chunk is half a 256-block. The second half of wider vectors, `far` bytes later, is ignored.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/bytes.hpp"
#include "kernels/neon/i8mm.hpp"
#include "kernels/neon/products.hpp"

namespace ggufx::kernels::neon {
namespace {

struct Codes : Products {
    static constexpr int kSignedAbove = 0; // formats that allow it use signed codes
    static constexpr int kLeastBound = 15; // lower bound of the largest code
    using Vi = S32x8;
    using V8 = S8x32; // codes
    using V16 = S16x16;
    using Half = S8x32;                          // 32 bytes
    using Sixteen = VectorOf<uint8_t, 16>::Type; // 16 bytes of a 256-block
    using RowWords = VectorOf<uint16_t, 16>::Type;

    static GGUFX_INLINE V8 codes32(uint8x16_t lo, uint8x16_t hi) {
        return {vreinterpretq_s8_u8(lo), vreinterpretq_s8_u8(hi)};
    }
    static GGUFX_INLINE uint8x16_t low_of(V8 v) { return vreinterpretq_u8_s8(v.lo); }
    static GGUFX_INLINE uint8x16_t high_of(V8 v) { return vreinterpretq_u8_s8(v.hi); }

    // ---- codes ----------------------------------------------------------------------------------

    static GGUFX_INLINE V8 load_codes(const uint8_t *p, size_t = 0) {
        return codes32(vld1q_u8(p), vld1q_u8(p + 16));
    }
    // 16 bytes: low nibbles, then high nibbles.
    static GGUFX_INLINE V8 load_nibbles(const uint8_t *p, size_t) {
        const uint8x16_t v = vld1q_u8(p);
        return codes32(vandq_u8(v, vdupq_n_u8(15)), vshrq_n_u8(v, 4));
    }
    // 8 bytes: low nibbles, then high nibbles; then the next 8.
    static GGUFX_INLINE V8 load_nibbles8(const uint8_t *p, size_t far) {
        const V8 v = load_nibbles(p, far);
        const int64x2_t low = vreinterpretq_s64_s8(v.lo), high = vreinterpretq_s64_s8(v.hi);
        return {vreinterpretq_s8_s64(vzip1q_s64(low, high)),
                vreinterpretq_s8_s64(vzip2q_s64(low, high))};
    }
    // 8 bytes of four adjacent 2-bit codes each: copies each byte four times and shifts the copies.
    static GGUFX_INLINE V8 load_2bit(const uint8_t *p, size_t) {
        constexpr uint8_t kBytes[16] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
        const uint8x16_t first = vld1q_u8(kBytes), second = vaddq_u8(first, vdupq_n_u8(4));
        const uint8x16_t v = vcombine_u8(vld1_u8(p), vdup_n_u8(0));
        const int8x16_t shifts = vreinterpretq_s8_u32(vdupq_n_u32(0xfafcfe00u)); // 0, -2, -4, -6
        return bits<0, 2>(codes32(vshlq_u8(vqtbl1q_u8(v, first), shifts),
                                  vshlq_u8(vqtbl1q_u8(v, second), shifts)));
    }
    // 32 bytes with a bit for each group of 32 of a block; bits 0..3 of the result belong to chunk
    // i.
    static GGUFX_INLINE V8 load_planes(const uint8_t *p, unsigned i) {
        return i == 0 ? load_codes(p) : bits<4, 4>(load_codes(p));
    }
    // Returns 0xff in byte i if bit i is set, else 0.
    static GGUFX_INLINE V8 spread_bits(uint32_t word) {
        constexpr uint8_t kBytes[16] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
        const uint8x16_t four = vreinterpretq_u8_u32(vdupq_n_u32(word));
        const uint8x16_t first = vld1q_u8(kBytes), second = vorrq_u8(first, vdupq_n_u8(2));
        const uint8x16_t bit = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201ull));
        return codes32(vtstq_u8(vqtbl1q_u8(four, first), bit),
                       vtstq_u8(vqtbl1q_u8(four, second), bit));
    }
    static GGUFX_INLINE V8 zero_codes() { return codes32(vdupq_n_u8(0), vdupq_n_u8(0)); }
    // Adds Set to v in bytes whose bit of the four bytes is set. (Signed codes: Clear in the
    // others.)
    template <int Set, int Clear> static GGUFX_INLINE V8 add_bits(V8 v, const uint8_t *p, size_t) {
        const V8 mask = spread_bits(load_u32le(p));
        const uint8x16_t set = vdupq_n_u8(Set), clear = vdupq_n_u8(static_cast<uint8_t>(Clear));
        return codes32(vorrq_u8(low_of(v), vbslq_u8(low_of(mask), set, clear)),
                       vorrq_u8(high_of(v), vbslq_u8(high_of(mask), set, clear)));
    }
    // Bits At .. At + N - 1 of each byte.
    template <unsigned At, unsigned N> static GGUFX_INLINE V8 bits(V8 v) {
        return codes32(bits<At, N>(low_of(v)), bits<At, N>(high_of(v)));
    }
    template <unsigned At, unsigned N> static GGUFX_INLINE uint8x16_t bits(uint8x16_t v) {
        const uint8x16_t shifted = shift_down<At>(v);
        return At + N == 8 ? shifted : vandq_u8(shifted, vdupq_n_u8((1 << N) - 1));
    }
    template <int By> static GGUFX_INLINE uint8x16_t shift_down(uint8x16_t v) {
        if constexpr (By == 0)
            return v;
        else if constexpr (By < 0)
            return vshlq_n_u8(v, -By);
        else
            return vshrq_n_u8(v, By);
    }
    // The same below the bits of `high` from HighAt on, Bits in total.
    template <unsigned At, unsigned N, unsigned HighAt, unsigned Bits>
    static GGUFX_INLINE V8 join(V8 low, V8 high) {
        return codes32(join<At, N, HighAt, Bits>(low_of(low), low_of(high)),
                       join<At, N, HighAt, Bits>(high_of(low), high_of(high)));
    }
    template <unsigned At, unsigned N, unsigned HighAt, unsigned Bits>
    static GGUFX_INLINE uint8x16_t join(uint8x16_t low, uint8x16_t high) {
        const uint8x16_t mask = vdupq_n_u8((1 << Bits) - 1);
        if constexpr (At + N == 8) {
            constexpr int by = static_cast<int>(HighAt) - static_cast<int>(N);
            return vandq_u8(vsriq_n_u8(shift_down<by>(high), low, At), mask);
        } else {
            return vandq_u8(vsliq_n_u8(shift_down<At>(low), shift_down<HighAt>(high), N), mask);
        }
    }
    // table[code] + offset; 16 values.
    static GGUFX_INLINE V8 look_up(const int8_t *table, V8 codes, int) {
        const int8x16_t values = vld1q_s8(table);
        return {vqtbl1q_s8(values, low_of(codes)), vqtbl1q_s8(values, high_of(codes))};
    }
    static GGUFX_INLINE RowWords widen_row_words(const uint8_t *p) {
        return (RowWords)vmovl_u8(vld1_u8(p));
    }
    static GGUFX_INLINE V8 low_nibbles(V8 v) { return bits<0, 4>(v); }
    static GGUFX_INLINE V8 high_nibbles(V8 v) { return bits<4, 4>(v); }
    static GGUFX_INLINE V8 low_nibbles(Vi v) { return low_nibbles(as_codes(v)); }
    static GGUFX_INLINE V8 high_nibbles(Vi v) { return high_nibbles(as_codes(v)); }
    static GGUFX_INLINE V8 as_codes(Vi v) {
        return {vreinterpretq_s8_s32(v.lo), vreinterpretq_s8_s32(v.hi)};
    }

    // ---- trits ----------------------------------------------------------------------------------

    static GGUFX_INLINE Half load_half(const uint8_t *p) { return load_codes(p); }
    static GGUFX_INLINE int8x16_t triple(int8x16_t v) { return vaddq_s8(v, vaddq_s8(v, v)); }
    static GGUFX_INLINE Half triple(Half v) { return {triple(v.lo), triple(v.hi)}; }
    // 16 bytes and their triples.
    static GGUFX_INLINE Half with_triple(const uint8_t *p) {
        const int8x16_t v = vreinterpretq_s8_u8(vld1q_u8(p));
        return {v, triple(v)};
    }
    // The first half of `first`, then four bytes times 1, 3, 9, 27.
    static GGUFX_INLINE Half with_powers(Half first, const uint8_t *p) {
        constexpr int8_t kPowers[16] = {1, 1, 1, 1, 3, 3, 3, 3, 9, 9, 9, 9, 27, 27, 27, 27};
        const int8x16_t four = vreinterpretq_s8_u32(vdupq_n_u32(load_u32le(p)));
        return {first.lo, vmulq_s8(four, vld1q_s8(kPowers))};
    }
    // 3 * v / 256 - 1, for the bytes of chunk i.
    static GGUFX_INLINE V8 top_trits(Half first, Half second, unsigned i) {
        const Half v = i == 0 ? first : second;
        return {top_trits(low_of(v)), top_trits(high_of(v))};
    }
    static GGUFX_INLINE int8x16_t top_trits(uint8x16_t v) { // comparisons give 0 or -1 each
        const uint8x16_t some = vcgeq_u8(v, vdupq_n_u8(86)), two = vcgeq_u8(v, vdupq_n_u8(171));
        return vreinterpretq_s8_u8(vmvnq_u8(vaddq_u8(some, two)));
    }

    // ---- scales ---------------------------------------------------------------------------------

    static GGUFX_INLINE V16 widen_i8(int8x16_t v) {
        return {vmovl_s8(vget_low_s8(v)), vmovl_high_s8(v)};
    }
    static GGUFX_INLINE Vi widen_i16(int16x8_t v) {
        return {vmovl_s16(vget_low_s16(v)), vmovl_high_s16(v)};
    }
    static GGUFX_INLINE Vi widen_u8(uint8x8_t v) {
        return widen_i16(vreinterpretq_s16_u16(vmovl_u8(v)));
    }
    static GGUFX_INLINE Sixteen load_sixteen(const uint8_t *p, size_t) {
        return (Sixteen)vld1q_u8(p);
    }
    static GGUFX_INLINE Sixteen load_eights(const uint8_t *p, size_t) {
        return (Sixteen)vcombine_u8(vld1_u8(p), vdup_n_u8(0));
    }
    // Byte k becomes byte I[k]; -1: zero.
    template <int... I> static GGUFX_INLINE Sixteen pick(Sixteen v) {
        constexpr uint8_t kIndex[16] = {static_cast<uint8_t>(I)...};
        return (Sixteen)vqtbl1q_u8((uint8x16_t)v, vld1q_u8(kIndex));
    }
    static GGUFX_INLINE Sixteen pick_at(Sixteen v, Sixteen index) {
        return (Sixteen)vqtbl1q_u8((uint8x16_t)v, (uint8x16_t)index);
    }
    // The first eight bytes, the last eight bytes, and the 16-bit words.
    static GGUFX_INLINE Vi widen_first(Sixteen v) { return widen_u8(vget_low_u8((uint8x16_t)v)); }
    static GGUFX_INLINE Vi widen_last(Sixteen v) { return widen_u8(vget_high_u8((uint8x16_t)v)); }
    static GGUFX_INLINE Vi widen_words(Sixteen v) { return widen_i16((int16x8_t)v); }
    // Signed scales of 16 groups: those of chunk i, in the order of group_sums; all in order.
    static GGUFX_INLINE Vi group_scales(Sixteen v, unsigned i) {
        const V16 s = widen_groups(v);
        return widen_i16(i == 0 ? s.lo : s.hi);
    }
    static GGUFX_INLINE V16 widen_groups(Sixteen v) { return widen_i8((int8x16_t)v); }
    // Field l of a word goes to lane l.
    template <unsigned Bits> static GGUFX_INLINE Vi lane_fields(uint32_t word, uint32_t) {
        constexpr int32_t n = -static_cast<int32_t>(Bits);
        constexpr int32_t kShifts[8] = {0, n, 2 * n, 3 * n, 4 * n, 5 * n, 6 * n, 7 * n};
        const uint32x4_t v = vdupq_n_u32(word);
        return {vreinterpretq_s32_u32(vshlq_u32(v, vld1q_s32(kShifts))),
                vreinterpretq_s32_u32(vshlq_u32(v, vld1q_s32(kShifts + 4)))};
    }
    // 8 words, and every second word of 16.
    static GGUFX_INLINE Vi load_words(const uint8_t *p, size_t = 0) {
        return {vreinterpretq_s32_u8(vld1q_u8(p)), vreinterpretq_s32_u8(vld1q_u8(p + 16))};
    }
    static GGUFX_INLINE Vi load_odd_words(const uint8_t *p, size_t) {
        const Vi a = load_words(p), b = load_words(p + 32);
        return {vuzp2q_s32(a.lo, a.hi), vuzp2q_s32(b.lo, b.hi)};
    }
    // A byte of each of 8 blocks, and four adjacent bytes of each of 2.
    static GGUFX_INLINE Vi gather_bytes(const uint8_t *p, size_t stride) {
        uint8x8_t v = vdup_n_u8(p[0]);
        v = vset_lane_u8(p[stride], v, 1);
        v = vset_lane_u8(p[2 * stride], v, 2);
        v = vset_lane_u8(p[3 * stride], v, 3);
        v = vset_lane_u8(p[4 * stride], v, 4);
        v = vset_lane_u8(p[5 * stride], v, 5);
        v = vset_lane_u8(p[6 * stride], v, 6);
        return widen_u8(vset_lane_u8(p[7 * stride], v, 7));
    }
    static GGUFX_INLINE Vi gather_fours(const uint8_t *p, size_t stride) {
        const uint32x2_t first = vdup_n_u32(load_u32le(p));
        return widen_u8(vreinterpret_u8_u32(vset_lane_u32(load_u32le(p + stride), first, 1)));
    }
};

} // namespace
} // namespace ggufx::kernels::neon
