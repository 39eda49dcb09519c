// NEON primitives to quantize blocks, in addition to encode_vec.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/neon/encode_vec.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

struct QuantVec : EncodeVec {
    // a < b ? a : b
    static GGUFX_INLINE Vf lesser(Vf a, Vf b) { return pick(lt(a, b), a, b); }
    static GGUFX_INLINE Mask differ(Vf a, Vf b) {
        return {vmvnq_u32(vceqq_f32(a.lo, b.lo)), vmvnq_u32(vceqq_f32(a.hi, b.hi))};
    }
    static GGUFX_INLINE float32x4_t about_inverse(float32x4_t v) {
        const float32x4_t guess = vrecpeq_f32(v);
        return vmulq_f32(guess, vrecpsq_f32(v, guess));
    }
    static GGUFX_INLINE Vf about_inverse(Vf v) { // at least 11 bits
        return {about_inverse(v.lo), about_inverse(v.hi)};
    }
    static GGUFX_INLINE uint32_t bits(Mask m) {
        constexpr uint32_t place[4] = {1, 2, 4, 8};
        const uint32x4_t p = vld1q_u32(place);
        return vaddvq_u32(vandq_u32(m.lo, p)) | vaddvq_u32(vandq_u32(m.hi, p)) << 4;
    }
    // (v & mask) | set
    static GGUFX_INLINE Vi replace(Vi v, Vi mask, Vi set) { return or_i(and_i(v, mask), set); }
    static GGUFX_INLINE float32x4_t kept(uint32x4_t m, float32x4_t v) {
        return vreinterpretq_f32_u32(vandq_u32(m, vreinterpretq_u32_f32(v)));
    }
    static GGUFX_INLINE Vf add_where(Mask m, Vf sum, Vf v) {
        return add(sum, {kept(m.lo, v.lo), kept(m.hi, v.hi)});
    }
    // Maximum of bit patterns without a sign bit.
    static GGUFX_INLINE Vi max_bits(Vi a, Vi b) {
        return {vmaxq_s32(a.lo, b.lo), vmaxq_s32(a.hi, b.hi)};
    }
    // Stores lanes with values 0 .. 65535 as words.
    static GGUFX_INLINE void store_words(uint8_t *to, Vi v) {
        const int16x8_t words = vcombine_s16(vmovn_s32(v.lo), vmovn_s32(v.hi));
        vst1q_u8(to, vreinterpretq_u8_s16(words));
    }
    static GGUFX_INLINE Vi widen_u16(const uint16_t *p) {
        const uint16x8_t v = vld1q_u16(p);
        return {vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(v))),
                vreinterpretq_s32_u32(vmovl_u16(vget_high_u16(v)))};
    }
    // Lane i: the lanes of r[i] reduced by op, which is commutative and associative.
    template <class Op> static GGUFX_INLINE Vf fold(Vf (&r)[8], Op op) {
        Vi t[8];
#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; i++) t[i] = as_int(r[i]);
        transpose(t);
        Vf all = as_float(t[0]);
#pragma GCC unroll 8
        for (unsigned i = 1; i < 8; i++) all = op(as_float(t[i]), all);
        return all;
    }
    static GGUFX_INLINE float32x4_t look_up8(uint8x16x2_t table, int32x4_t index) {
        const uint8x16_t bytes = vaddq_u8(vreinterpretq_u8_s32(vmulq_n_s32(index, 0x04040404)),
                                          vreinterpretq_u8_u32(vdupq_n_u32(0x03020100)));
        return vreinterpretq_f32_u8(vqtbl2q_u8(table, bytes));
    }
    // Selects one of Room (4 or 8) floats by the low bits of each lane.
    template <int Room> static GGUFX_INLINE Vf look_up(const float *table, Vi index) {
        const Vi low = and_i(index, set1_i(Room - 1));
        if constexpr (Room == 4) return choose(load_four(table), low);
        const uint8x16x2_t eight = {
            {vreinterpretq_u8_f32(vld1q_f32(table)), vreinterpretq_u8_f32(vld1q_f32(table + 4))}};
        return {look_up8(eight, low.lo), look_up8(eight, low.hi)};
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
