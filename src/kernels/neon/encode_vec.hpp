// NEON primitives to quantize KV pages, in addition to kv_vec.hpp: comparisons, divisions, and
// conversions that round as in the reference definition.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/neon/kv_vec.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

struct EncodeVec : KvVec {
    struct Mask {
        uint32x4_t lo, hi;
    };

    static GGUFX_INLINE Vi as_int(Vf v) {
        return {vreinterpretq_s32_f32(v.lo), vreinterpretq_s32_f32(v.hi)};
    }
    static GGUFX_INLINE Vf as_float(Vi v) {
        return {vreinterpretq_f32_s32(v.lo), vreinterpretq_f32_s32(v.hi)};
    }
    static GGUFX_INLINE Mask lt(Vf a, Vf b) {
        return {vcltq_f32(a.lo, b.lo), vcltq_f32(a.hi, b.hi)};
    }
    static GGUFX_INLINE Mask le(Vf a, Vf b) {
        return {vcleq_f32(a.lo, b.lo), vcleq_f32(a.hi, b.hi)};
    }
    static GGUFX_INLINE Mask both(Mask a, Mask b) {
        return {vandq_u32(a.lo, b.lo), vandq_u32(a.hi, b.hi)};
    }
    static GGUFX_INLINE Vf pick(Mask m, Vf a, Vf b) {
        return {vbslq_f32(m.lo, a.lo, b.lo), vbslq_f32(m.hi, a.hi, b.hi)};
    }
    static GGUFX_INLINE Vi pick_i(Mask m, Vi a, Vi b) {
        return {vbslq_s32(m.lo, a.lo, b.lo), vbslq_s32(m.hi, a.hi, b.hi)};
    }
    static GGUFX_INLINE Vf lesser(Vf a, Vf b) { return pick(lt(a, b), a, b); }
    // `to` in lanes of m, where it is greater than `from`; `from` in the others.
    static GGUFX_INLINE Vi raise(Mask m, int to, Vi from) { return pick_i(m, set1_i(to), from); }
    static GGUFX_INLINE Vf raise(Mask m, float to, Vf from) { return pick(m, set1(to), from); }
    // The level after `level` in lanes of m, where `level` is `at`; both are small integers.
    static GGUFX_INLINE Vf next_level(Mask m, float, float to, Vf level) {
        return pick(m, set1(to), level);
    }
    static GGUFX_INLINE Vi count(Mask m, Vi n) { // n + 1 in lanes of m
        return {vsubq_s32(n.lo, vreinterpretq_s32_u32(m.lo)),
                vsubq_s32(n.hi, vreinterpretq_s32_u32(m.hi))};
    }
    static GGUFX_INLINE Vf with_sign_of(float magnitude, Vf v) {
        const uint32x4_t sign = vdupq_n_u32(0x80000000u);
        const float32x4_t m = vdupq_n_f32(magnitude);
        return {vbslq_f32(sign, v.lo, m), vbslq_f32(sign, v.hi, m)};
    }
    static GGUFX_INLINE Vf greater(Vf a, Vf b) { return pick(lt(b, a), a, b); }
    static GGUFX_INLINE Vf div(Vf a, Vf b) {
        return {vdivq_f32(a.lo, b.lo), vdivq_f32(a.hi, b.hi)};
    }
    static GGUFX_INLINE Vf sqrt(Vf v) { return {vsqrtq_f32(v.lo), vsqrtq_f32(v.hi)}; }
    static GGUFX_INLINE Vf absolute(Vf v) { return {vabsq_f32(v.lo), vabsq_f32(v.hi)}; }
    static GGUFX_INLINE Vf flip(Vf v) { return flip_where(v, set1_i(INT32_MIN)); }
    static GGUFX_INLINE Vi min_i(Vi a, Vi b) {
        return {vminq_s32(a.lo, b.lo), vminq_s32(a.hi, b.hi)};
    }
    // Truncates; INT32_MIN for NaN and out-of-range values, for which the conversion saturates.
    static GGUFX_INLINE int32x4_t to_int(float32x4_t v) {
        const uint32x4_t fits =
            vandq_u32(vcgeq_f32(v, vdupq_n_f32(-0x1p31f)), vcltq_f32(v, vdupq_n_f32(0x1p31f)));
        return vbslq_s32(fits, vcvtq_s32_f32(v), vdupq_n_s32(INT32_MIN));
    }
    static GGUFX_INLINE Vi to_int(Vf v) { return {to_int(v.lo), to_int(v.hi)}; }
    static GGUFX_INLINE int32x4_t shift_right_by(int32x4_t v, int32x4_t n) {
        return vreinterpretq_s32_u32(vshlq_u32(vreinterpretq_u32_s32(v), vnegq_s32(n)));
    }
    static GGUFX_INLINE Vi shift_right_by(Vi v, Vi n) {
        return {shift_right_by(v.lo, n.lo), shift_right_by(v.hi, n.hi)};
    }

    static GGUFX_INLINE Vf round_half(Vf v) {
        return {vcvt_f32_f16(vcvt_f16_f32(v.lo)), vcvt_f32_f16(vcvt_f16_f32(v.hi))};
    }
    static GGUFX_INLINE void store_half(uint8_t *to, Vf v) {
        const float16x8_t halves = vcombine_f16(vcvt_f16_f32(v.lo), vcvt_f16_f32(v.hi));
        vst1q_u8(to, vreinterpretq_u8_f16(halves));
    }
    // Stores lanes with values 0 .. 255 as bytes.
    static GGUFX_INLINE void store_bytes(uint8_t *to, Vi v) {
        store_low_bytes(reinterpret_cast<int8_t *>(to), v);
    }
    // Four floats; choose() selects one per lane.
    static GGUFX_INLINE Vf load_four(const float *four) {
        const float32x4_t v = vld1q_f32(four);
        return {v, v};
    }
    static GGUFX_INLINE float32x4_t choose(float32x4_t four, int32x4_t index) {
        const uint8x16_t bytes = vaddq_u8(vreinterpretq_u8_s32(vmulq_n_s32(index, 0x04040404)),
                                          vreinterpretq_u8_u32(vdupq_n_u32(0x03020100)));
        return vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_f32(four), bytes));
    }
    static GGUFX_INLINE Vf choose(Vf four, Vi index) {
        return {choose(four.lo, index.lo), choose(four.hi, index.hi)};
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
