// Row-wise products (n = 1..3 columns) with f32 activations: reference definitions C4 (float types)
// and C6 (block types).
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/scalar/canonical.hpp"

namespace ggufx::kernels {
namespace scalar {
namespace {

// C4: one chain per lane k % 16.
template <class F> void matvec_values(Out y, Rows w, const ActF32 *act, size_t n) {
    for (size_t r = 0; r < w.n; r++) {
        const size_t at = place_of(w, r);
        const uint8_t *row = w.data + at * w.stride;
        for (size_t c = 0; c < n; c++) {
            float lanes[kLanes] = {};
            for (size_t i = 0; i < w.k; i++) {
                float &lane = lanes[i % kLanes];
                lane = fmaf(F::value(block_at<F>(row, i)), act[c].x[i], lane);
            }
            y.y[c * y.ld + at] = finish(tree(lanes));
        }
    }
}

template <class F>
void add_block(float *lanes, const typename F::Block &blk, const Codes<F> &codes, unsigned j,
               const ActF32 &act, size_t b) {
    const float *x = act.x + 32 * b;
    float c[32];
    for (unsigned i = 0; i < 32; i++) c[i] = static_cast<float>(codes.c[32 * j + i]);
    if constexpr (F::kGroup == 32) {
        const float scale = F::d(blk) * static_cast<float>(F::scale(blk, j));
        for (unsigned i = 0; i < 16; i++) {
            const float t = fmaf(c[16 + i], x[16 + i], c[i] * x[i]);
            lanes[i] = fmaf(t, scale, lanes[i]);
        }
    } else {
        for (unsigned z = 0; z < 2; z++) {
            const unsigned g = 2 * j + z;
            const float scale = F::d(blk, g) * static_cast<float>(F::scale(blk, g));
            for (unsigned i = 0; i < 16; i++) {
                lanes[i] = fmaf(c[16 * z + i] * x[16 * z + i], scale, lanes[i]);
            }
        }
    }
    if constexpr (F::kMins != fmt::Mins::kNone) {
        const float *sums = F::kGroup == 32 ? act.sum32 + b : act.sum16 + 2 * b;
        lanes[b % kLanes] = add_mins<F>(lanes[b % kLanes], blk, j, sums);
    }
}

template <class F> void matvec_blocks(Out y, Rows w, const ActF32 *act, size_t n) {
    for_blocks<F>(y, w, n,
                  [act](float *lanes, size_t c, const auto &blk, const auto &codes, unsigned j,
                        size_t b) { add_block<F>(lanes, blk, codes, j, act[c], b); });
}

void sum_groups(float *sums, const float *x, size_t k, size_t group) {
    for (size_t g = 0; g < k / group; g++) sums[g] = x_sum(x + g * group, group);
}

} // namespace
} // namespace scalar

constexpr Family<MatvecF32> scalar::kMatvecF32 =
    for_types<MatvecF32>([]<class F, Kind K>() -> MatvecF32 {
        if constexpr (K == Kind::Quantized)
            return {matvec_blocks<F>, kSumsOf<F>, sum_groups};
        else if constexpr (kIsFloat<F, K>)
            return {matvec_values<F>, 0, nullptr};
        else
            return {};
    });

} // namespace ggufx::kernels
