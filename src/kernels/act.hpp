// Quantized activations: int8 codes with an f32 scale per 32 values
// (docs/reproducibility/products.md, C1). Packed once per call from an f32 column; about 1.4 bytes
// per value. Internal linkage on purpose: kernels of every instruction set include this
// (src/README.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx::kernels {

// One packed column of 8-bit codes, or of 15-bit codes in two planes (C5).
// - With two planes, a value is 128 * high + low. q and s16 belong to the high plane, d and s to
//   the whole value. The low plane follows in the same memory (plane_codes, plane_sums).
// - All arrays are 64-byte aligned and padded with zeros to whole kActPad values (16 blocks of 32:
//   one 16-lane step). So kernels may read whole steps of activations. Weights must still not be
//   read past the end of the row (masked loads or a tail).
// - Kernels with their own order of the blocks in a step use it for d, s and s16 too, and may store
//   other integers in s and s16.
struct Act {
    int8_t *q;    // [k/32] d_a; NaN for a block with NaN or Inf, 0 for one below 2^-100
    float *d;     // [k/32] d_a; NaN for a block with NaN or Inf, 0 for one below 2^-100
    float *s;     // [k/32] s_a = fl(d_a * sum of q)
    int16_t *s16; // [k/16] sums of q over 16 values, natural order; <= 16 * 127
    size_t k;     // number of values, a multiple of 32
};

// f32 activations (C4, C6): the caller's column itself and, for types with minimums, its sums.
struct ActF32 {
    const float *x;     // [k], aligned as float only, not padded
    const float *sum32; // [k/32] C6 x_sum, null unless the kernel wants_sums == 32
    const float *sum16; // [k/16] the same over 16 values, null unless wants_sums == 16
    size_t k;
};

namespace {

constexpr size_t kActPad = 512;

// Returns the bytes of one packed column, a multiple of 64: q | d | s | s16. k below 2^48.
constexpr size_t act_bytes(size_t k) {
    const size_t padded = (k + kActPad - 1) / kActPad * kActPad;
    return padded + 2 * (padded / 32 * sizeof(float)) + padded / 16 * sizeof(int16_t);
}
// Returns the bytes of a column with two planes: low q | low s16 follow. About 2.5 bytes per value.
constexpr size_t act_precise_bytes(size_t k) {
    const size_t padded = (k + kActPad - 1) / kActPad * kActPad;
    return act_bytes(k) + padded + padded / 16 * sizeof(int16_t);
}

// Returns the view of a column in act_bytes(k) bytes at a 64-byte aligned address.
inline Act act_at(uint8_t *memory, size_t k) {
    const size_t padded = (k + kActPad - 1) / kActPad * kActPad;
    Act act;
    act.q = reinterpret_cast<int8_t *>(memory);
    act.d = reinterpret_cast<float *>(memory + padded);
    act.s = act.d + padded / 32;
    act.s16 = reinterpret_cast<int16_t *>(act.s + padded / 32);
    act.k = k;
    return act;
}

// Returns plane 0 (the codes or their high parts) or plane 1 (the low parts), in the same orders.
inline int8_t *plane_codes(const Act &act, unsigned plane) {
    return plane == 0 ? act.q : act.q + act_bytes(act.k);
}
inline int16_t *plane_sums(const Act &act, unsigned plane) {
    const size_t padded = (act.k + kActPad - 1) / kActPad * kActPad;
    return plane == 0 ? act.s16 : reinterpret_cast<int16_t *>(plane_codes(act, 1) + padded);
}

// Limits of C1 for u = integer maximum of bits(x) & 0x7fffffff over the block.
constexpr uint32_t kActTiny = 0x0d800000u;      // below 2^-100: the block is zero
constexpr uint32_t kActNotFinite = 0x7f800000u; // and above: d_a = NaN, q = 0
constexpr uint32_t kFixedNan = 0x7fc00000u;     // bits of every stored NaN (C2)

} // namespace
} // namespace ggufx::kernels
