// Blocked products (n >= 4 columns) with integer activations: reference definition C3, one chain
// per output. A block is decoded once for all columns; accumulators are in y. Each precision is a
// separate object file (gemm.cpp, gemm_precise.cpp).
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

// Q2_K and Q3_K include the sub-scale in the integer sum; other groups of 16 have one FMA each.
template <class F> constexpr bool kFolded = false;
template <> constexpr bool kFolded<fmt::Q2_K> = true;
template <> constexpr bool kFolded<fmt::Q3_K> = true;

// Adds the products of block b, the j-th 32 values of blk.
template <class F, class Col>
float add_product(float acc, const typename F::Block &blk, const Codes<F> &codes, unsigned j,
                  const Col &column, size_t b) {
    const Act &act = column.act;
    if constexpr (kFolded<F>) {
        const auto t = scaled_dot(blk, codes, j, column, b);
        return fmaf(static_cast<float>(t), F::d(blk) * act.d[b], acc);
    } else {
        constexpr unsigned n_groups = 32 / F::kGroup;
        for (unsigned z = 0; z < n_groups; z++) {
            const unsigned g = j * n_groups + z;
            const auto i = dot(codes.c + g * F::kGroup, column, 32 * b + z * F::kGroup, F::kGroup);
            const float scale = F::d(blk, g) * static_cast<float>(F::scale(blk, g));
            acc = fmaf(static_cast<float>(i), scale * act.d[b], acc);
        }
        return acc;
    }
}

// Adds the minimum terms of the same values.
template <class F, class Col>
float add_min(float acc, const typename F::Block &blk, unsigned j, const Col &column, size_t b) {
    const Act &act = column.act;
    if constexpr (F::kGroup == 32) return add_mins<F>(acc, blk, j, act.s + b);
    float s16[2];
    for (unsigned z = 0; z < 2; z++) s16[z] = act.d[b] * static_cast<float>(column.s16(2 * b + z));
    return add_mins<F>(acc, blk, j, s16);
}

template <bool Precise> Act column_at(uint8_t *packed, size_t k, size_t c) {
    return act_at(packed + c * (Precise ? act_precise_bytes(k) : act_bytes(k)), k);
}

template <bool Precise> size_t packed_bytes(size_t k, size_t n) {
    return (Precise ? act_precise_bytes(k) : act_bytes(k)) * n;
}

template <bool Precise> void pack(uint8_t *packed, const GemmAct &act, size_t first, size_t count) {
    for (size_t c = first; c < first + count; c++) {
        pack_column<Precise>(column_at<Precise>(packed, act.k, c), act.x + c * act.ldx);
    }
}

template <class F, bool Precise> void gemm(Out y, Rows w, const GemmAct &act, Scratch) {
    constexpr unsigned n_parts = F::kValues / 32;
    uint8_t *packed = const_cast<uint8_t *>(act.packed); // only read
    for (size_t r = 0; r < w.n; r++) {
        const uint8_t *row = w.data + r * w.stride;
        for (size_t c = 0; c < act.n; c++) y.y[c * y.ld + r] = 0.0f;
        for (size_t i = 0; i < w.k / F::kValues; i++) {
            const auto &blk = block_at<F>(row, i);
            const Codes<F> codes(blk);
            for (size_t c = 0; c < act.n; c++) {
                const Act planes = column_at<Precise>(packed, w.k, c);
                const Column<Precise> column = {planes};
                float acc = y.y[c * y.ld + r];
                for (unsigned j = 0; j < n_parts; j++) {
                    const size_t b = i * n_parts + j;
                    acc = add_product<F>(acc, blk, codes, j, column, b);
                    if constexpr (F::kMins != fmt::Mins::kNone) {
                        acc = add_min<F>(acc, blk, j, column, b);
                    }
                }
                y.y[c * y.ld + r] = acc;
            }
        }
        for (size_t c = 0; c < act.n; c++) y.y[c * y.ld + r] = finish(y.y[c * y.ld + r]);
    }
}

} // namespace
} // namespace scalar

constexpr Family<Gemm> scalar::GGUFX_FAMILY = for_types<Gemm>([]<class F, Kind K>() -> Gemm {
    constexpr bool precise = GGUFX_PRECISE;
    if constexpr (K == Kind::Quantized)
        return {packed_bytes<precise>, pack<precise>, gemm<F, precise>, 1, 1};
    else
        return {};
});

} // namespace ggufx::kernels
