// Dequantization, one step at a time. Codes and scales pass through small arrays in row order, so
// this serves every Unpack struct of every instruction set.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/floats.hpp"
#include "kernels/loops/common.hpp"

namespace ggufx::kernels {
namespace {

// One step of block weights in row order, with scales and shifts per kGroup values.
template <class V, unsigned Group> struct Step {
    static constexpr size_t kValues = 32 * V::kLanes;
    alignas(64) uint8_t codes[kValues];       // signed
    alignas(64) float scale[kValues / Group]; // d * sub-scale
    alignas(64) float shift[kValues / Group]; // added to values, for types with minimums

    // Returns kLanes signed codes from value i of the step.
    GGUFX_INLINE typename V::Vf code(size_t i) const { return V::to_float(V::widen_i8(codes + i)); }
};
template <class U> using StepOf = Step<typename U::Set, U::kGroup>;

// Loads a step of n_blocks blocks: kStepBlocks, or fewer at the end of a row. The only function
// here that is compiled per format.
template <class U>
__attribute__((noinline)) void load_step(StepOf<U> &to, const uint8_t *blocks, size_t n_blocks) {
    Tail<U> tail;
    const auto *b = n_blocks >= U::kStepBlocks ? blocks_at<U>(blocks) : tail.fill(blocks, n_blocks);
#pragma GCC unroll 2
    for (unsigned i = 0; i < 2; i++) {
        typename U::V8 c[4];
        U::load_u8(c, b, i);
        if constexpr (!U::kSigned && U::kOffset != 0) { // while the codes are bytes
#pragma GCC unroll 4
            for (auto &four : c) four = U::sub_codes(four, static_cast<int8_t>(U::kOffset));
        }
        U::store_codes(to.codes + i * kStepValues<U> / 2, c);
    }
    U::store_scales(to.scale, to.shift, U::load_scales(b), b);
}

// Properties of a format that the loops need.
template <class V, unsigned Group> struct Blocks {
    void (*load)(Step<V, Group> &to, const uint8_t *blocks, size_t n_blocks);
    size_t values, step_blocks, step_bytes;

    // See prefetch().
    GGUFX_INLINE void prefetch_step(const uint8_t *p) const {
        p += kPrefetchAhead;
        for (size_t i = 0; i < step_bytes; i += 64) __builtin_prefetch(p + i, 0, 2);
    }
};
template <class U>
constexpr Blocks<typename U::Set, U::kGroup> kBlocksOf = {load_step<U>, U::kValues, U::kStepBlocks,
                                                          kStepBytes<U>};

template <class V, unsigned Group, bool Mins>
GGUFX_INLINE void decode_step(float *out, const Step<V, Group> &step) {
    for (size_t i = 0; i < step.kValues; i += V::kLanes) {
        auto y = V::mul(V::set1(step.scale[i / Group]), step.code(i));
        if constexpr (Mins) y = V::add(y, V::set1(step.shift[i / Group]));
        V::store(out + i, V::fix_nan(y, 0xffc00000u)); // as in formats/decode.hpp
    }
}

template <class V, unsigned Group, bool Mins>
__attribute__((noinline)) void decode_blocks(float *out, const uint8_t *from, size_t n_blocks,
                                             const Blocks<V, Group> &blocks) {
    Step<V, Group> step;
    for (; n_blocks >= blocks.step_blocks; n_blocks -= blocks.step_blocks) {
        blocks.prefetch_step(from);
        blocks.load(step, from, blocks.step_blocks);
        decode_step<V, Group, Mins>(out, step);
        from += blocks.step_bytes;
        out += step.kValues;
    }
    if (n_blocks == 0) return;
    alignas(64) float last[step.kValues];
    blocks.load(step, from, n_blocks);
    decode_step<V, Group, Mins>(last, step);
    __builtin_memcpy(out, last, n_blocks * blocks.values * sizeof(float));
}

template <class U> void dequant_blocks(float *out, const uint8_t *from, size_t n_blocks) {
    decode_blocks<typename U::Set, U::kGroup, U::kMins != fmt::Mins::kNone>(out, from, n_blocks,
                                                                            kBlocksOf<U>);
}

// ---- float types --------------------------------------------------------------------------------

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
} // namespace ggufx::kernels
