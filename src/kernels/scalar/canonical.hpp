// The pieces of the canonical text (matmul/README.md) that several scalar kernels need.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/all.hpp"
#include "kernels/act.hpp"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

constexpr unsigned kLanes = 16;

// Types whose d depends on the group of 16: their lanes count groups instead of blocks.
template <class F> constexpr bool kScalePerGroup = false;
template <> constexpr bool kScalePerGroup<fmt::NVFP4> = true;

// Nearest even integer of |v| <= 2^22 under the mode of C7: the last bit of v + 1.5 * 2^23 is 1.
inline int32_t nearest_even(float v) {
    constexpr float kMagic = 0x1.8p23f;
    return static_cast<int32_t>(f32_bits(v + kMagic) - f32_bits(kMagic));
}

// The sum of 16 lanes, in the tree of C2.
inline float tree(const float *l) {
    float r[8];
    for (unsigned i = 0; i < 8; i++) r[i] = l[i] + l[i + 8];
    for (unsigned i = 0; i < 4; i++) r[i] = r[i] + r[i + 4];
    return (r[0] + r[2]) + (r[1] + r[3]);
}

// What is stored: no -0, one NaN.
inline float finish(float y) {
    y = y + 0.0f;
    return y == y ? y : f32_from_bits(kFixedNan);
}

// C6: the sum of 32 or 16 values of x.
inline float x_sum(const float *x, size_t group) {
    float l[kLanes];
    for (unsigned j = 0; j < kLanes; j++) l[j] = group == 32 ? x[j] + x[16 + j] : x[j];
    return tree(l);
}

template <class F> const typename F::Block &block_at(const uint8_t *row, size_t i) {
    return *reinterpret_cast<const typename F::Block *>(row + i * sizeof(typename F::Block));
}

// The integer codes of one block of a format, decoded one value at a time.
template <class F> struct Codes {
    int32_t c[F::kValues];
    explicit Codes(const typename F::Block &b) {
        for (unsigned i = 0; i < F::kValues; i++) c[i] = F::code(b, i);
    }
};

// Exact sum of `n` products of codes and activations.
inline int32_t dot(const int32_t *c, const int8_t *q, unsigned n) {
    int32_t sum = 0;
    for (unsigned i = 0; i < n; i++) sum += c[i] * q[i];
    return sum;
}

// C2's T of the 32 values from j * 32 on in the block: sub-scales folded in.
template <class F>
int32_t scaled_dot(const typename F::Block &b, const Codes<F> &codes, unsigned j, const int8_t *q) {
    constexpr unsigned n_groups = 32 / F::kGroup;
    int32_t t = 0;
    for (unsigned z = 0; z < n_groups; z++) {
        const unsigned g = j * n_groups + z;
        t += F::scale(b, g) * dot(codes.c + g * F::kGroup, q + z * F::kGroup, F::kGroup);
    }
    return t;
}

// C1: one block of 32.
inline void pack_block(const Act &act, size_t b, const float *x) {
    uint32_t u = 0;
    for (unsigned i = 0; i < 32; i++) {
        const uint32_t magnitude = f32_bits(x[i]) & 0x7fffffffu;
        if (magnitude > u) u = magnitude;
    }
    const bool finite = u < kActNotFinite, zero = u < kActTiny || !finite;
    const float amax = f32_from_bits(zero ? 0x3f800000u : u);
    const float id = 127.0f / amax;
    int32_t sum16[2] = {0, 0};
    for (unsigned i = 0; i < 32; i++) {
        const int32_t q = zero ? 0 : nearest_even(x[i] * id);
        act.q[32 * b + i] = static_cast<int8_t>(q);
        sum16[i / 16] += q;
    }
    act.d[b] = !finite ? f32_from_bits(kFixedNan) : zero ? 0.0f : amax / 127.0f;
    act.s[b] = act.d[b] * static_cast<float>(sum16[0] + sum16[1]);
    act.s16[2 * b] = static_cast<int16_t>(sum16[0]);
    act.s16[2 * b + 1] = static_cast<int16_t>(sum16[1]);
}

// C1: a whole column in natural order, zeros behind it.
inline void pack_column(const Act &act, const float *x) {
    const size_t n_blocks = act.k / 32;
    for (size_t b = 0; b < n_blocks; b++) pack_block(act, b, x + 32 * b);
    const size_t n_padded = (act.k + kActPad - 1) / kActPad * (kActPad / 32);
    for (size_t b = n_blocks; b < n_padded; b++) {
        for (unsigned i = 0; i < 32; i++) act.q[32 * b + i] = 0;
        act.d[b] = act.s[b] = 0.0f;
        act.s16[2 * b] = act.s16[2 * b + 1] = 0;
    }
}

} // namespace
} // namespace scalar
} // namespace kernels
} // namespace ggufx
