// n = 1..3 columns with int8 activations: the text C2 word for word, one value at a time.
// SPDX-License-Identifier: MIT
#include "kernels/scalar/canonical.hpp"
#include "kernels/scalar/families.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

constexpr size_t kMaxColumns = 3;

// The minimum step of block b, the j-th 32 values of blk.
template <class F>
float add_min(float lane, const typename F::Block &blk, unsigned j, const Act &act, size_t b) {
    if constexpr (F::kMins == fmt::Mins::kFloat) {
        return fmaf(F::m(blk), act.s[b], lane);
    } else if constexpr (F::kGroup == 32) {
        return fmaf(-static_cast<float>(F::min(blk, j)), F::dmin(blk) * act.s[b], lane);
    } else {
        const int32_t m =
            F::min(blk, 2 * j) * act.s16[2 * b] + F::min(blk, 2 * j + 1) * act.s16[2 * b + 1];
        return fmaf(-static_cast<float>(m), F::dmin(blk) * act.d[b], lane);
    }
}

// Block b of the row, the j-th 32 values of blk, into the 16 lanes.
template <class F>
void add_block(float *lanes, const typename F::Block &blk, const Codes<F> &codes, unsigned j,
               const Act &act, size_t b) {
    const int8_t *q = act.q + 32 * b;
    if constexpr (kScalePerGroup<F>) {
        for (unsigned z = 0; z < 2; z++) {
            const int32_t t = dot(codes.c + 32 * j + 16 * z, q + 16 * z, 16);
            float &lane = lanes[(2 * b + z) % kLanes];
            lane = fmaf(static_cast<float>(t), F::d(blk, 2 * j + z) * act.d[b], lane);
        }
    } else {
        float &lane = lanes[b % kLanes];
        const int32_t t = scaled_dot<F>(blk, codes, j, q);
        lane = fmaf(static_cast<float>(t), F::d(blk) * act.d[b], lane);
        if constexpr (F::kMins != fmt::Mins::kNone) lane = add_min<F>(lane, blk, j, act, b);
    }
}

template <class F> void matvec(Out y, Rows w, const Act *act, size_t n) {
    constexpr unsigned n_parts = F::kValues / 32;
    for (size_t r = 0; r < w.n; r++) {
        const uint8_t *row = w.data + r * w.stride;
        float lanes[kMaxColumns][kLanes] = {};
        for (size_t i = 0; i < w.k / F::kValues; i++) {
            const auto &blk = block_at<F>(row, i);
            const Codes<F> codes(blk);
            for (size_t c = 0; c < n; c++) {
                for (unsigned j = 0; j < n_parts; j++) {
                    add_block<F>(lanes[c], blk, codes, j, act[c], i * n_parts + j);
                }
            }
        }
        for (size_t c = 0; c < n; c++) y.y[c * y.ld + r] = finish(tree(lanes[c]));
    }
}

template <class F> constexpr Matvec entry_Quantized() {
    return {pack_column, matvec<F>};
}
template <class F> constexpr Matvec entry_Float() {
    return {nullptr, nullptr};
}
template <class F> constexpr Matvec entry_Integer() {
    return {nullptr, nullptr};
}
template <class F> constexpr Matvec entry_Activation() {
    return {nullptr, nullptr};
}

} // namespace
} // namespace scalar

const Matvec kScalarMatvec[fmt::kTypeIds] = {
#define X(NAME, ID, TEXT, VALUES, BYTES, KIND, ...) scalar::entry_##KIND<fmt::NAME>(),
#define REMOVED(...) {nullptr, nullptr},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
