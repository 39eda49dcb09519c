// Scalar dequantization of whole blocks to f32: one template over the format structs of traits.hpp.
// Every product is exact (docs/reproducibility/formats.md), so only the addition of a minimum
// rounds. Internal linkage on purpose: kernels of every instruction set include this
// (src/README.md).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

// NaN arises only from an infinite or NaN scale. Hosts differ in its sign and payload; this returns
// the x86 default everywhere, as in the golden vectors.
inline float fixed_nan(float y) {
    return y == y ? y : f32_from_bits(0xffc00000u);
}

// Returns the offset added to every value of group g.
template <class F>
float offset([[maybe_unused]] const typename F::Block &b, [[maybe_unused]] unsigned g) {
    if constexpr (F::kMins == Mins::kFloat) return F::m(b);
    if constexpr (F::kMins == Mins::kInteger)
        return -(F::dmin(b) * static_cast<float>(F::min(b, g)));
    return 0.0f; // unused: adding it would turn -0 into +0
}

// Without __restrict each stored float might alias the block, which would then be reloaded.
template <class F> void decode_block(float *__restrict out, const typename F::Block &__restrict b) {
    for (unsigned g = 0; g < F::kValues / F::kGroup; g++) {
        const float scale = F::d(b, g) * static_cast<float>(F::scale(b, g));
        const float shift = offset<F>(b, g);
        for (unsigned i = g * F::kGroup; i < (g + 1) * F::kGroup; i++) {
            float y = scale * static_cast<float>(F::code(b, i));
            if constexpr (F::kMins != Mins::kNone) y = y + shift;
            out[i] = fixed_nan(y);
        }
    }
}

template <class F>
void decode_blocks(float *__restrict out, const uint8_t *__restrict bytes, size_t n_blocks) {
    for (size_t k = 0; k < n_blocks; k++, bytes += sizeof(typename F::Block), out += F::kValues) {
        const auto &b = *reinterpret_cast<const typename F::Block *>(bytes); // uint8_t fields only
        if constexpr (F::kGroup == 0) {
            *out = F::value(b);
        } else {
            decode_block<F>(out, b);
        }
    }
}

} // namespace
} // namespace fmt
} // namespace ggufx
