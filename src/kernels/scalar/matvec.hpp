// Row-wise products (n = 1..3 columns) with integer activations: reference definition C2, one value
// at a time. Each precision is a separate object file (matvec.cpp, matvec_precise.cpp).
// The including file defines:
//   GGUFX_PRECISE   true for 15-bit activations
//   GGUFX_FAMILY    name of the table
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/scalar/canonical.hpp"
#include "kernels/table.hpp"

namespace ggufx::kernels {
namespace scalar {
namespace {

// Adds the minimum term of block b, the j-th 32 values of blk.
template <class F, class Col>
float add_min(float lane, const typename F::Block &blk, unsigned j, const Col &column, size_t b) {
    const Act &act = column.act;
    if constexpr (F::kMins == fmt::Mins::kFloat) {
        return fmaf(F::m(blk), act.s[b], lane);
    } else if constexpr (F::kGroup == 32) {
        return fmaf(-static_cast<float>(F::min(blk, j)), F::dmin(blk) * act.s[b], lane);
    } else {
        const auto m =
            F::min(blk, 2 * j) * column.s16(2 * b) + F::min(blk, 2 * j + 1) * column.s16(2 * b + 1);
        return fmaf(-static_cast<float>(m), F::dmin(blk) * act.d[b], lane);
    }
}

// Adds block b of the row, the j-th 32 values of blk, to the 16 lanes.
template <class F, class Col>
void add_block(float *lanes, const typename F::Block &blk, const Codes<F> &codes, unsigned j,
               const Col &column, size_t b) {
    const Act &act = column.act;
    if constexpr (kScalePerGroup<F>) {
        for (unsigned z = 0; z < 2; z++) {
            const auto t = dot(codes.c + 32 * j + 16 * z, column, 32 * b + 16 * z, 16);
            float &lane = lanes[(2 * b + z) % kLanes];
            lane = fmaf(static_cast<float>(t), F::d(blk, 2 * j + z) * act.d[b], lane);
        }
    } else {
        float &lane = lanes[b % kLanes];
        const auto t = scaled_dot(blk, codes, j, column, b);
        lane = fmaf(static_cast<float>(t), F::d(blk) * act.d[b], lane);
        if constexpr (F::kMins != fmt::Mins::kNone) lane = add_min<F>(lane, blk, j, column, b);
    }
}

template <class F, bool Precise> void matvec(Out y, Rows w, const Act *act, size_t n) {
    for_blocks<F>(
        y, w, n,
        [act](float *lanes, size_t c, const auto &blk, const auto &codes, unsigned j, size_t b) {
            add_block<F>(lanes, blk, codes, j, Column<Precise>{act[c]}, b);
        });
}

} // namespace
} // namespace scalar

constexpr Family<Matvec> scalar::GGUFX_FAMILY = for_types<Matvec>([]<class F, Kind K>() -> Matvec {
    if constexpr (K == Kind::Quantized)
        return {pack_column<GGUFX_PRECISE>, matvec<F, GGUFX_PRECISE>};
    else
        return {};
});

} // namespace ggufx::kernels
