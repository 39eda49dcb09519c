// n >= 4 columns with int8 activations: the text C3, one chain per output. A block is decoded
// once and goes to all columns; their accumulators stand in y.
// SPDX-License-Identifier: MIT
#include "kernels/scalar/canonical.hpp"
#include "kernels/scalar/families.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

// Q2_K and Q3_K keep the sub-scale inside the integer sum, other 16-groups have a step each.
template <class F> constexpr bool kFolded = false;
template <> constexpr bool kFolded<fmt::Q2_K> = true;
template <> constexpr bool kFolded<fmt::Q3_K> = true;

// The product steps of block b, the j-th 32 values of blk.
template <class F>
float add_product(float acc, const typename F::Block &blk, const Codes<F> &codes, unsigned j,
                  const Act &act, size_t b) {
    const int8_t *q = act.q + 32 * b;
    if constexpr (kFolded<F>) {
        const int32_t t = scaled_dot<F>(blk, codes, j, q);
        return fmaf(static_cast<float>(t), F::d(blk) * act.d[b], acc);
    } else {
        constexpr unsigned n_groups = 32 / F::kGroup;
        for (unsigned z = 0; z < n_groups; z++) {
            const unsigned g = j * n_groups + z;
            const int32_t i = dot(codes.c + g * F::kGroup, q + z * F::kGroup, F::kGroup);
            const float scale = F::d(blk, g) * static_cast<float>(F::scale(blk, g));
            acc = fmaf(static_cast<float>(i), scale * act.d[b], acc);
        }
        return acc;
    }
}

// The minimum steps of the same values.
template <class F>
float add_min(float acc, const typename F::Block &blk, unsigned j, const Act &act, size_t b) {
    if constexpr (F::kMins == fmt::Mins::kFloat) {
        return fmaf(F::m(blk), act.s[b], acc);
    } else if constexpr (F::kGroup == 32) {
        const float m = F::dmin(blk) * static_cast<float>(F::min(blk, j));
        return fmaf(-m, act.s[b], acc);
    } else {
        for (unsigned z = 0; z < 2; z++) {
            const float m = F::dmin(blk) * static_cast<float>(F::min(blk, 2 * j + z));
            const float s16 = act.d[b] * static_cast<float>(act.s16[2 * b + z]);
            acc = fmaf(-m, s16, acc);
        }
        return acc;
    }
}

size_t packed_bytes(size_t k, size_t n) {
    return act_bytes(k) * n;
}

void pack(uint8_t *packed, const GemmAct &act, size_t first, size_t count) {
    for (size_t c = first; c < first + count; c++) {
        pack_column(act_at(packed + c * act_bytes(act.k), act.k), act.x + c * act.ldx);
    }
}

template <class F> void gemm(Out y, Rows w, const GemmAct &act, Scratch) {
    constexpr unsigned n_parts = F::kValues / 32;
    uint8_t *packed = const_cast<uint8_t *>(act.packed); // only read
    for (size_t r = 0; r < w.n; r++) {
        const uint8_t *row = w.data + r * w.stride;
        for (size_t c = 0; c < act.n; c++) y.y[c * y.ld + r] = 0.0f;
        for (size_t i = 0; i < w.k / F::kValues; i++) {
            const auto &blk = block_at<F>(row, i);
            const Codes<F> codes(blk);
            for (size_t c = 0; c < act.n; c++) {
                const Act column = act_at(packed + c * act_bytes(w.k), w.k);
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

template <class F> constexpr Gemm entry_Quantized() {
    return {packed_bytes, pack, gemm<F>, 1, 1};
}
template <class F> constexpr Gemm entry_Float() {
    return {};
}
template <class F> constexpr Gemm entry_Integer() {
    return {};
}
template <class F> constexpr Gemm entry_Activation() {
    return {};
}

} // namespace
} // namespace scalar

const Gemm kScalarGemm[fmt::kTypeIds] = {
#define X(NAME, ID, TEXT, VALUES, BYTES, KIND, ...) scalar::entry_##KIND<fmt::NAME>(),
#define REMOVED(...) {},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
