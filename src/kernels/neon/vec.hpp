// NEON of armv8-a (GGUFX_NEON_DOT: with sdot). A vector is a pair of registers, eight lanes, so
// that a step is 256 values (8 blocks) as on AVX2. A chunk is 128 values in row order. Codes are
// signed bytes; products of int8 are added in int16 while they provably fit.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/neon/codes.hpp"

namespace ggufx::kernels::neon {
namespace {

struct Vec : Codes {
    static constexpr unsigned kLanes = 8;
    static constexpr unsigned kTileVectors = 1; // 4 columns: 8 sums and 8 results in registers
    using Vf = F32x8;

    static GGUFX_INLINE Vf zero() { return set1(0.0f); }
    static GGUFX_INLINE Vf set1(float v) { return {vdupq_n_f32(v), vdupq_n_f32(v)}; }
    static GGUFX_INLINE Vf load(const float *p) { return {vld1q_f32(p), vld1q_f32(p + 4)}; }
    static GGUFX_INLINE void keep_in_register(Vf &) {} // no other instruction reads memory
    static GGUFX_INLINE void store(float *p, Vf v) {
        vst1q_f32(p, v.lo);
        vst1q_f32(p + 4, v.hi);
    }
    static GGUFX_INLINE Vf add(Vf a, Vf b) { return {a.lo + b.lo, a.hi + b.hi}; }
    static GGUFX_INLINE Vf sub(Vf a, Vf b) { return {a.lo - b.lo, a.hi - b.hi}; }
    static GGUFX_INLINE Vf mul(Vf a, Vf b) { return {a.lo * b.lo, a.hi * b.hi}; }
    static GGUFX_INLINE Vf fma(Vf a, Vf b, Vf c) {
        return {vfmaq_f32(c.lo, a.lo, b.lo), vfmaq_f32(c.hi, a.hi, b.hi)};
    }
    static GGUFX_INLINE Vf fnma(Vf a, Vf b, Vf c) { // c - a * b
        return {vfmsq_f32(c.lo, a.lo, b.lo), vfmsq_f32(c.hi, a.hi, b.hi)};
    }
    static GGUFX_INLINE Vf to_float(Vi v) { return {vcvtq_f32_s32(v.lo), vcvtq_f32_s32(v.hi)}; }
    static GGUFX_INLINE Vi set1_i(int32_t v) { return {vdupq_n_s32(v), vdupq_n_s32(v)}; }
    static GGUFX_INLINE Vi load_i(const void *p) {
        const int32_t *v = static_cast<const int32_t *>(p);
        return {vld1q_s32(v), vld1q_s32(v + 4)};
    }
    static GGUFX_INLINE void store_i(void *p, Vi v) {
        int32_t *to = static_cast<int32_t *>(p);
        vst1q_s32(to, v.lo);
        vst1q_s32(to + 4, v.hi);
    }
    static GGUFX_INLINE void store_i(void *p, V8 v) {
        int8_t *to = static_cast<int8_t *>(p);
        vst1q_s8(to, v.lo);
        vst1q_s8(to + 16, v.hi);
    }
    static GGUFX_INLINE Vi add_i(Vi a, Vi b) { return {a.lo + b.lo, a.hi + b.hi}; }
    static GGUFX_INLINE Vi sub_i(Vi a, Vi b) { return {a.lo - b.lo, a.hi - b.hi}; }
    static GGUFX_INLINE Vi mul_i(Vi a, Vi b) { return {a.lo * b.lo, a.hi * b.hi}; }
    static GGUFX_INLINE Vi and_i(Vi a, int32_t b) {
        return {vandq_s32(a.lo, vdupq_n_s32(b)), vandq_s32(a.hi, vdupq_n_s32(b))};
    }
    static GGUFX_INLINE Vi max_i(Vi a, Vi b) {
        return {vmaxq_s32(a.lo, b.lo), vmaxq_s32(a.hi, b.hi)};
    }
    static GGUFX_INLINE Vf as_float(Vi v) {
        return {vreinterpretq_f32_s32(v.lo), vreinterpretq_f32_s32(v.hi)};
    }
    // Lanes of yes if a < b (or a == b), else of no.
    static GGUFX_INLINE Vf select_less(Vi a, int32_t b, Vf yes, Vf no) {
        const int32x4_t limit = vdupq_n_s32(b);
        return {vbslq_f32(vcltq_s32(a.lo, limit), yes.lo, no.lo),
                vbslq_f32(vcltq_s32(a.hi, limit), yes.hi, no.hi)};
    }
    static GGUFX_INLINE Vf select_equal(Vi a, int32_t b, Vf yes, Vf no) {
        const int32x4_t same = vdupq_n_s32(b);
        return {vbslq_f32(vceqq_s32(a.lo, same), yes.lo, no.lo),
                vbslq_f32(vceqq_s32(a.hi, same), yes.hi, no.hi)};
    }
    template <int N> static GGUFX_INLINE Vi shift_left(Vi v) {
        return {vshlq_n_s32(v.lo, N), vshlq_n_s32(v.hi, N)};
    }
    template <int N> static GGUFX_INLINE Vi shift_right(Vi v) {
        return {vshrq_n_s32(v.lo, N), vshrq_n_s32(v.hi, N)};
    }

    using Codes::widen_i8, Codes::widen_u8;
    static GGUFX_INLINE Vi widen_i8(const uint8_t *p) {
        return widen_i16(vmovl_s8(vreinterpret_s8_u8(vld1_u8(p))));
    }
    static GGUFX_INLINE Vi widen_u8(const uint8_t *p) { return widen_u8(vld1_u8(p)); }
    static GGUFX_INLINE Vf f16_to_f32(uint16x8_t h) {
        const float16x8_t v = vreinterpretq_f16_u16(h);
        return {vcvt_f32_f16(vget_low_f16(v)), vcvt_high_f32_f16(v)};
    }
    static GGUFX_INLINE uint16x8_t load_u16(const uint8_t *p) {
        return vreinterpretq_u16_u8(vld1q_u8(p));
    }
    static GGUFX_INLINE Vf load_f16(const uint8_t *p) { return f16_to_f32(load_u16(p)); }
    static GGUFX_INLINE Vf broadcast_f16(const uint8_t *p) {
        const float16x4_t h = vreinterpret_f16_u16(vdup_n_u16(load_u16le(p)));
        const float32x4_t v = vcvt_f32_f16(h);
        return {v, v};
    }
    // The f16 of a block of 256 for its eight lanes; the first two of 16 bytes of it; d of block k.
    static GGUFX_INLINE Vf block_f16(const uint8_t *p, size_t) { return broadcast_f16(p); }
    static GGUFX_INLINE void first_f16(Vf (&to)[2], Sixteen v) {
        const float32x4_t d = vcvt_f32_f16(vreinterpret_f16_u8(vget_low_u8((uint8x16_t)v)));
        const float32x4_t first = vdupq_laneq_f32(d, 0), second = vdupq_laneq_f32(d, 1);
        to[0] = {first, first};
        to[1] = {second, second};
    }
    static GGUFX_INLINE Vf of_block(Vf d, unsigned) { return d; }
    static GGUFX_INLINE Vf load_bf16(const uint8_t *p) {
        const uint16x8_t v = load_u16(p);
        return {vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(v), 16)),
                vreinterpretq_f32_u32(vshll_high_n_u16(v, 16))};
    }
    static GGUFX_INLINE float32x4_t fix_nan(float32x4_t v, uint32_t bits) {
        return vbslq_f32(vceqq_f32(v, v), v, vreinterpretq_f32_u32(vdupq_n_u32(bits)));
    }
    static GGUFX_INLINE Vf fix_nan(Vf v, uint32_t bits) {
        return {fix_nan(v.lo, bits), fix_nan(v.hi, bits)};
    }
    // a * b + c in one lane, c in the others.
    static GGUFX_INLINE Vf fma_lane(unsigned lane, Vf a, Vf b, Vf c) {
        constexpr uint32_t kIndex[8] = {0, 1, 2, 3, 4, 5, 6, 7};
        const uint32x4_t here = vdupq_n_u32(lane);
        const Vf all = fma(a, b, c);
        return {vbslq_f32(vceqq_u32(vld1q_u32(kIndex), here), all.lo, c.lo),
                vbslq_f32(vceqq_u32(vld1q_u32(kIndex + 4), here), all.hi, c.hi)};
    }

    // Sum of sixteen lanes in the tree order of C2.
    static GGUFX_INLINE float tree(const Vf (&l)[2]) {
        const Vf r8 = add(l[0], l[1]);
        const float32x4_t r4 = vaddq_f32(r8.lo, r8.hi);
        const float32x2_t r2 = vadd_f32(vget_low_f32(r4), vget_high_f32(r4));
        return vget_lane_f32(r2, 0) + vget_lane_f32(r2, 1);
    }

    // Partial sums for pair_sums: sums of 16 values in order, or halves of sums of 32 if the format
    // has no scale per 16, which takes fewer additions.
    template <class U> static GGUFX_INLINE Vi group_sums(const V8 (&c)[4], const int8_t *q) {
        static_assert(U::kMaxCode <= 128);
        const int8x16_t q0 = vld1q_s8(q), q1 = vld1q_s8(q + 16), q2 = vld1q_s8(q + 32),
                        q3 = vld1q_s8(q + 48), q4 = vld1q_s8(q + 64), q5 = vld1q_s8(q + 80),
                        q6 = vld1q_s8(q + 96), q7 = vld1q_s8(q + 112);
        if constexpr (U::kGroup == 32) {
            return {add_two(block_sum<U>(c[0], q0, q1), block_sum<U>(c[1], q2, q3)),
                    add_two(block_sum<U>(c[2], q4, q5), block_sum<U>(c[3], q6, q7))};
        } else {
            return {vpaddq_s32(add_two(group_sum<U>(c[0].lo, q0), group_sum<U>(c[0].hi, q1)),
                               add_two(group_sum<U>(c[1].lo, q2), group_sum<U>(c[1].hi, q3))),
                    vpaddq_s32(add_two(group_sum<U>(c[2].lo, q4), group_sum<U>(c[2].hi, q5)),
                               add_two(group_sum<U>(c[3].lo, q6), group_sum<U>(c[3].hi, q7)))};
        }
    }
    // Sums of 32 of two chunks, blocks in order.
    static GGUFX_INLINE Vi pair_sums(Vi u0, Vi u1) {
        return {vpaddq_s32(u0.lo, u0.hi), vpaddq_s32(u1.lo, u1.hi)};
    }
    // offset * (sum of q) of each block.
    static GGUFX_INLINE Vi offset_sums(const int16_t *s16, int16_t offset) {
        return {vmulq_n_s32(vpaddlq_s16(vld1q_s16(s16)), offset),
                vmulq_n_s32(vpaddlq_s16(vld1q_s16(s16 + 8)), offset)};
    }
    static GGUFX_INLINE int32x4_t madd16(int16x8_t a, int16x8_t b) {
        return vpaddq_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b)), vmull_high_s16(a, b));
    }
    // Sums of 16 are already in order (groups of a chunk).
    static GGUFX_INLINE Vi order_groups(Vi u) { return u; }
    // Each of kLanes / 2 values twice.
    static GGUFX_INLINE Vf load_pairs(const float *p) {
        const float32x4_t v = vld1q_f32(p);
        return {vzip1q_f32(v, v), vzip2q_f32(v, v)};
    }
    // Products of int16, pairs added.
    static GGUFX_INLINE Vi madd16(V16 a, const int16_t *b) {
        return {madd16(a.lo, vld1q_s16(b)), madd16(a.hi, vld1q_s16(b + 8))};
    }

    static GGUFX_INLINE size_t block_position(size_t b) { return 32 * b; }
    static GGUFX_INLINE V8 sub_codes(V8 c, int8_t by) {
        return {vsubq_s8(c.lo, vdupq_n_s8(by)), vsubq_s8(c.hi, vdupq_n_s8(by))};
    }
    // Stores the 128 codes of a chunk in row order.
    static GGUFX_INLINE void store_codes(uint8_t *out, const V8 (&c)[4]) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            vst1q_u8(out + 32 * j, vreinterpretq_u8_s8(c[j].lo));
            vst1q_u8(out + 32 * j + 16, vreinterpretq_u8_s8(c[j].hi));
        }
    }

    // Replaces codes of two groups of 16 by (code - Offset) * scale[group] + Add, low bytes. With
    // Turn, the product is negated.
    template <int Offset, bool Turn, int Add>
    static GGUFX_INLINE void scale_codes(uint8_t *codes, const int8_t *scale) {
#pragma GCC unroll 2
        for (unsigned g = 0; g < 2; g++) {
            const int by = Turn ? -scale[g] : scale[g];
            const uint8x16_t from = vdupq_n_u8(static_cast<uint8_t>(Add - Offset * by));
            const uint8x16_t s = vdupq_n_u8(static_cast<uint8_t>(by));
            vst1q_u8(codes + 16 * g, vmlaq_u8(from, vld1q_u8(codes + 16 * g), s));
        }
    }

    // Transposes 4 x 4.
    static GGUFX_INLINE void transpose4(int32x4_t &a, int32x4_t &b, int32x4_t &c, int32x4_t &d) {
        const int64x2_t ab0 = vreinterpretq_s64_s32(vtrn1q_s32(a, b)),
                        ab1 = vreinterpretq_s64_s32(vtrn2q_s32(a, b)),
                        cd0 = vreinterpretq_s64_s32(vtrn1q_s32(c, d)),
                        cd1 = vreinterpretq_s64_s32(vtrn2q_s32(c, d));
        a = vreinterpretq_s32_s64(vtrn1q_s64(ab0, cd0));
        b = vreinterpretq_s32_s64(vtrn1q_s64(ab1, cd1));
        c = vreinterpretq_s32_s64(vtrn2q_s64(ab0, cd0));
        d = vreinterpretq_s32_s64(vtrn2q_s64(ab1, cd1));
    }
    static GGUFX_INLINE void transpose(Vi (&r)[8]) {
        transpose4(r[0].lo, r[1].lo, r[2].lo, r[3].lo);
        transpose4(r[4].hi, r[5].hi, r[6].hi, r[7].hi);
        transpose4(r[0].hi, r[1].hi, r[2].hi, r[3].hi);
        transpose4(r[4].lo, r[5].lo, r[6].lo, r[7].lo);
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++) {
            const int32x4_t corner = r[i].hi;
            r[i].hi = r[4 + i].lo;
            r[4 + i].lo = corner;
        }
    }

    static GGUFX_INLINE uint32_t max_bits32(const float *x) {
        uint32x4_t m = vdupq_n_u32(0);
#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; i++) {
            const uint32x4_t bits = vreinterpretq_u32_f32(vld1q_f32(x + 4 * i));
            m = vmaxq_u32(m, vandq_u32(bits, vdupq_n_u32(0x7fffffff)));
        }
        return vmaxvq_u32(m);
    }
    // Rounds x * id to the nearest integers, ties to even.
    static GGUFX_INLINE Vi nearest(const float *x, float id) {
        return {vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x), id)),
                vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + 4), id))};
    }
    // Stores 16 codes and returns their sum.
    static GGUFX_INLINE int32_t store_group(int8_t *q, const Vi (&v)[2]) {
        const int16x8_t a = vcombine_s16(vmovn_s32(v[0].lo), vmovn_s32(v[0].hi));
        const int16x8_t b = vcombine_s16(vmovn_s32(v[1].lo), vmovn_s32(v[1].hi));
        vst1q_s8(q, vcombine_s8(vmovn_s16(a), vmovn_s16(b)));
        return vaddvq_s16(vaddq_s16(a, b)); // |sum| <= 16 * 127
    }
};

// One f16 of each of eight 32-blocks; field(i) is its address in block i.
template <class Field> GGUFX_INLINE Vec::Vf gather_f16(const Field &field) {
    uint16x8_t h = vdupq_n_u16(load_u16le(field(0)));
    h = vsetq_lane_u16(load_u16le(field(1)), h, 1);
    h = vsetq_lane_u16(load_u16le(field(2)), h, 2);
    h = vsetq_lane_u16(load_u16le(field(3)), h, 3);
    h = vsetq_lane_u16(load_u16le(field(4)), h, 4);
    h = vsetq_lane_u16(load_u16le(field(5)), h, 5);
    h = vsetq_lane_u16(load_u16le(field(6)), h, 6);
    h = vsetq_lane_u16(load_u16le(field(7)), h, 7);
    return Vec::f16_to_f32(h);
}
// d of eight 32-blocks, or of fewer larger ones repeated for each 32 values.
template <unsigned N = 1, class Block> GGUFX_INLINE Vec::Vf gather_d(const Block *b) {
    if constexpr (N == 8) {
        return Vec::broadcast_f16(b->d);
    } else if constexpr (N == 4) {
        return Vec::f16_to_f32(
            vcombine_u16(vdup_n_u16(load_u16le(b[0].d)), vdup_n_u16(load_u16le(b[1].d))));
    } else {
        return gather_f16([b](unsigned i) __attribute__((always_inline)) { return b[i / N].d; });
    }
}
template <class Scales, class Block> GGUFX_INLINE Scales gather_d_and_m(const Block *b) {
    return {gather_d(b),
            gather_f16([b](unsigned i) __attribute__((always_inline)) { return b[i].m; })};
}

} // namespace
} // namespace ggufx::kernels::neon
