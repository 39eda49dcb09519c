// Blocks to f32, a step at a time: codes and scales go through small arrays in row order, so this
// serves every Unpack struct of every instruction set.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/floats.hpp"
#include "kernels/loops/common.hpp"

namespace ggufx {
namespace kernels {
namespace {

// One step of block weights in row order.
template <class U> struct Step {
    alignas(64) uint8_t codes[kStepValues<U>];               // signed
    alignas(64) float scale[kStepValues<U> / U::kGroup]; // d * sub-scale
    alignas(64) float shift[kStepValues<U> / U::kGroup]; // added to values; if kMins

    GGUFX_INLINE void load(const typename U::Block *b) {
#pragma GCC unroll 2
        for (unsigned i = 0; i < 2; i++) {
            typename U::V8 c[4];
            U::load_u8(c, b, i);
            if constexpr (!U::kSigned && U::kOffset != 0) { // while they are bytes
#pragma GCC unroll 4
                for (auto &four : c) four = U::sub_codes(four, static_cast<int8_t>(U::kOffset));
            }
            U::store_codes(codes + i * kStepValues<U> / 2, c);
        }
        U::store_scales(scale, shift, U::load_scales(b), b);
    }
    // kLanes signed codes from value i of the step on.
    GGUFX_INLINE typename U::Vf code(size_t i) const {
        return U::to_float(U::widen_i8(codes + i));
    }
};

template <class U> GGUFX_INLINE void decode_step(float *out, const typename U::Block *b) {
    Step<U> step;
    step.load(b);
    for (size_t i = 0; i < kStepValues<U>; i += U::kLanes) {
        auto y = U::mul(U::set1(step.scale[i / U::kGroup]), step.code(i));
        if constexpr (U::kMins != fmt::Mins::kNone)
            y = U::add(y, U::set1(step.shift[i / U::kGroup]));
        U::store(out + i, U::fix_nan(y, 0xffc00000u)); // as formats/decode.hpp
    }
}

template <class U> void dequant_blocks(float *out, const uint8_t *blocks, size_t n_blocks) {
    for (; n_blocks >= U::kStepBlocks; n_blocks -= U::kStepBlocks) {
        prefetch<kStepBytes<U>>(blocks);
        decode_step<U>(out, blocks_at<U>(blocks));
        blocks += kStepBytes<U>;
        out += kStepValues<U>;
    }
    if (n_blocks == 0) return;
    Tail<U> tail;
    alignas(64) float last[kStepValues<U>];
    decode_step<U>(last, tail.fill(blocks, n_blocks));
    __builtin_memcpy(out, last, n_blocks * U::kValues * sizeof(float));
}

// ---- float types --------------------------------------------------------------------------------

template <class F> constexpr bool kIsFloat = false;
template <> constexpr bool kIsFloat<fmt::F32> = true;
template <> constexpr bool kIsFloat<fmt::F16> = true;
template <> constexpr bool kIsFloat<fmt::BF16> = true;

template <class V, class F> struct LoadFloat;
template <class V> struct LoadFloat<V, fmt::F32> {
    static GGUFX_INLINE auto load(const uint8_t *p) {
        return V::load(reinterpret_cast<const float *>(p));
    }
};
template <class V> struct LoadFloat<V, fmt::F16> {
    static GGUFX_INLINE auto load(const uint8_t *p) { return V::load_f16(p); }
};
template <class V> struct LoadFloat<V, fmt::BF16> {
    static GGUFX_INLINE auto load(const uint8_t *p) { return V::load_bf16(p); }
};

template <class V, class F> void dequant_floats(float *out, const uint8_t *values, size_t n) {
    constexpr size_t n_bytes = sizeof(typename F::Block);
    for (; n >= V::kLanes; n -= V::kLanes) {
        V::store(out, LoadFloat<V, F>::load(values));
        values += V::kLanes * n_bytes;
        out += V::kLanes;
    }
    uint8_t last[V::kLanes * n_bytes] = {};
    float last_out[V::kLanes];
    __builtin_memcpy(last, values, n * n_bytes);
    V::store(last_out, LoadFloat<V, F>::load(last));
    __builtin_memcpy(out, last_out, n * sizeof(float));
}

} // namespace
} // namespace kernels
} // namespace ggufx
