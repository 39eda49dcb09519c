// Shared parts of the scalar kernels: the reference definition of docs/reproducibility/products.md.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/all.hpp"
#include "kernels/table.hpp"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

namespace ggufx::kernels::scalar {
namespace {

constexpr unsigned kLanes = 16;

// Types whose d depends on the group of 16: lanes correspond to groups instead of blocks.
template <class F> constexpr bool kScalePerGroup = false;
template <> constexpr bool kScalePerGroup<fmt::NVFP4> = true;

// Returns the nearest even integer of |v| <= 2^22 under the mode of C7: the last bit of v + 1.5 *
// 2^23 is 1.
inline int32_t nearest_even(float v) {
    constexpr float kMagic = 0x1.8p23f;
    return static_cast<int32_t>(f32_bits(v + kMagic) - f32_bits(kMagic));
}

// Returns the sum of 16 lanes in the tree order of C2.
inline float tree(const float *l) {
    float r[8];
    for (unsigned i = 0; i < 8; i++) r[i] = l[i] + l[i + 8];
    for (unsigned i = 0; i < 4; i++) r[i] = r[i] + r[i + 4];
    return (r[0] + r[2]) + (r[1] + r[3]);
}

// Returns the stored form of a result: no -0, one NaN.
inline float finish(float y) {
    y = y + 0.0f;
    return y == y ? y : f32_from_bits(kFixedNan);
}

// Returns the sum of 32 or 16 values of x (C6).
inline float x_sum(const float *x, size_t group) {
    float l[kLanes];
    for (unsigned j = 0; j < kLanes; j++) l[j] = group == 32 ? x[j] + x[16 + j] : x[j];
    return tree(l);
}

template <class F> const typename F::Block &block_at(const uint8_t *row, size_t i) {
    return *reinterpret_cast<const typename F::Block *>(row + i * sizeof(typename F::Block));
}

// Integer codes of one block of a format, decoded one value at a time.
template <class F> struct Codes {
    int32_t c[F::kValues];
    explicit Codes(const typename F::Block &b) {
        for (unsigned i = 0; i < F::kValues; i++) c[i] = F::code(b, i);
    }
};

// Multiplies rows by n columns with 16 lanes each. add(lanes, column, block, codes, j, b) adds
// block b of the row, the j-th 32 values of a block of weights.
template <class F, class Add> void for_blocks(Out y, const Rows &w, size_t n, const Add &add) {
    constexpr unsigned n_parts = F::kValues / 32;
    for (size_t r = 0; r < w.n; r++) {
        const size_t at = place_of(w, r);
        const uint8_t *row = w.data + at * w.stride;
        float lanes[kRowColumns][kLanes] = {};
        for (size_t i = 0; i < w.k / F::kValues; i++) {
            const auto &blk = block_at<F>(row, i);
            const Codes<F> codes(blk);
            for (size_t c = 0; c < n; c++) {
                for (unsigned j = 0; j < n_parts; j++) {
                    add(lanes[c], c, blk, codes, j, i * n_parts + j);
                }
            }
        }
        for (size_t c = 0; c < n; c++) y.y[c * y.ld + at] = finish(tree(lanes[c]));
    }
}

// Adds the minimum terms of C3 and C6 for the j-th 32 values of blk. sums: sums of their
// activations, per group.
template <class F>
float add_mins(float acc, const typename F::Block &blk, unsigned j, const float *sums) {
    if constexpr (F::kMins == fmt::Mins::kFloat) {
        return fmaf(F::m(blk), *sums, acc);
    } else {
        constexpr unsigned n_groups = 32 / F::kGroup;
        for (unsigned z = 0; z < n_groups; z++) {
            const float m = F::dmin(blk) * static_cast<float>(F::min(blk, n_groups * j + z));
            acc = fmaf(-m, sums[z], acc);
        }
        return acc;
    }
}

// One column of packed activations: 8 bits, or 15 bits in two planes. Sum holds any T of C2.
template <bool Precise> struct Column {
    using Sum = int32_t;
    const Act &act;
    Sum q(size_t i) const { return act.q[i]; }
    Sum s16(size_t g) const { return act.s16[g]; }
};
template <> struct Column<true> {
    using Sum = int64_t;
    const Act &act;
    Sum q(size_t i) const { return 128 * act.q[i] + plane_codes(act, 1)[i]; }
    Sum s16(size_t g) const { return 128 * act.s16[g] + plane_sums(act, 1)[g]; }
};

// Returns the exact sum of `n` products of codes and the activations from `first` on.
template <class Col>
typename Col::Sum dot(const int32_t *c, const Col &column, size_t first, unsigned n) {
    typename Col::Sum sum = 0;
    for (unsigned i = 0; i < n; i++) sum += c[i] * column.q(first + i);
    return sum;
}

// Returns T of C2 for block b, 32 values from j * 32 in the block of weights. Includes the
// sub-scales.
template <class F, class Col>
typename Col::Sum scaled_dot(const typename F::Block &blk, const Codes<F> &codes, unsigned j,
                             const Col &column, size_t b) {
    constexpr unsigned n_groups = 32 / F::kGroup;
    typename Col::Sum t = 0;
    for (unsigned z = 0; z < n_groups; z++) {
        const unsigned g = j * n_groups + z;
        t += F::scale(blk, g) *
             dot(codes.c + g * F::kGroup, column, 32 * b + z * F::kGroup, F::kGroup);
    }
    return t;
}

// Packs one block of 32 values (C1, C5).
template <bool Precise> void pack_block(const Act &act, size_t b, const float *x) {
    constexpr float kLimit = Precise ? 16256.0f : 127.0f;
    uint32_t u = 0;
    for (unsigned i = 0; i < 32; i++) {
        const uint32_t magnitude = f32_bits(x[i]) & 0x7fffffffu;
        if (magnitude > u) u = magnitude;
    }
    const bool finite = u < kActNotFinite, zero = u < kActTiny || !finite;
    const float amax = f32_from_bits(zero ? 0x3f800000u : u);
    const float id = kLimit / amax;
    int32_t sums[2] = {0, 0}, sums_lo[2] = {0, 0};
    for (unsigned i = 0; i < 32; i++) {
        const int32_t q = zero ? 0 : nearest_even(x[i] * id);
        const int32_t hi = Precise ? (q + 64) >> 7 : q, lo = q - 128 * hi;
        act.q[32 * b + i] = static_cast<int8_t>(hi);
        sums[i / 16] += hi;
        if (Precise) plane_codes(act, 1)[32 * b + i] = static_cast<int8_t>(lo);
        if (Precise) sums_lo[i / 16] += lo;
    }
    for (unsigned z = 0; z < 2; z++) {
        act.s16[2 * b + z] = static_cast<int16_t>(sums[z]);
        if (Precise) plane_sums(act, 1)[2 * b + z] = static_cast<int16_t>(sums_lo[z]);
    }
    const int32_t sum =
        Precise ? 128 * (sums[0] + sums[1]) + sums_lo[0] + sums_lo[1] : sums[0] + sums[1];
    act.d[b] = !finite ? f32_from_bits(kFixedNan) : zero ? 0.0f : amax / kLimit;
    act.s[b] = act.d[b] * static_cast<float>(sum);
}

// Packs a whole column in natural order and pads it with zeros (C1, C5).
template <bool Precise> void pack_column(const Act &act, const float *x) {
    constexpr float zeros[32] = {};
    const size_t n_blocks = act.k / 32, n_padded = (act.k + kActPad - 1) / kActPad * (kActPad / 32);
    for (size_t b = 0; b < n_padded; b++) {
        pack_block<Precise>(act, b, b < n_blocks ? x + 32 * b : zeros);
    }
}

} // namespace
} // namespace ggufx::kernels::scalar
