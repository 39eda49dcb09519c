// Activations of 15 bits (matmul/README.md, C5): a value is 128 * high + low. The Act of a column
// holds the high plane, with d and s of the whole; the low plane stands behind it in the same
// memory. About 2.5 bytes per value. The kernels are tables of their own beside the layers.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/table.hpp"

namespace ggufx {
namespace kernels {
namespace {

// Bytes of one packed column, a multiple of 64: what act_at() lays out, then low q | low s16.
constexpr size_t act_precise_bytes(size_t k) {
    const size_t padded = (k + kActPad - 1) / kActPad * kActPad;
    return act_bytes(k) + padded + padded / 16 * sizeof(int16_t);
}
// In the order of act.q; |low| <= 64.
inline int8_t *low_codes(const Act &act) {
    return act.q + act_bytes(act.k);
}
// In the order of act.s16.
inline int16_t *low_sums(const Act &act) {
    const size_t padded = (act.k + kActPad - 1) / kActPad * kActPad;
    return reinterpret_cast<int16_t *>(low_codes(act) + padded);
}

} // namespace

// What one instruction set has; arrays of fmt::kTypeIds entries, block types alone.
struct PreciseLayer {
    Isa isa;
    const Matvec *matvec;
    const Gemm *gemm;
};

// The layer of a set, null when it has none; scalar has all types.
const PreciseLayer *precise_layer(Isa isa);

namespace {

// The best entry of a family for a type, as find() of table.hpp.
template <class T>
const T *find_precise(const Kernels &kernels, const T *PreciseLayer::*family, uint32_t type,
                      const Layer **layer = nullptr) {
    if (type >= fmt::kTypeIds) return nullptr;
    for (const Layer *l : kernels.layers) {
        if (!l) break;
        const PreciseLayer *precise = precise_layer(l->isa);
        if (!precise || !(precise->*family)[type].run) continue;
        if (layer) *layer = l;
        return precise->*family + type;
    }
    return nullptr;
}

} // namespace
} // namespace kernels
} // namespace ggufx
