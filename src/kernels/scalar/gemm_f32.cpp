// Blocked products (n >= 4 columns) with f32 activations: reference definition C4, one chain over k
// per output, on the dequantized values of the row (formats/decode.hpp; block types as well: C6).
// SPDX-License-Identifier: MIT
#include "formats/decode.hpp"
#include "kernels/loops/families.hpp"
#include "kernels/scalar/canonical.hpp"

namespace ggufx::kernels {
namespace scalar {
namespace {

size_t packed_bytes(size_t, size_t) {
    return 0;
}

void pack(uint8_t *, const GemmAct &, size_t, size_t) {}

constexpr size_t kPanel = 1024; // values of a row dequantized at a time; whole blocks of every type
static_assert(kPanel * sizeof(float) <= kScratchMin);

// Concurrent chains, each in its own order, to hide the FMA latency of a single chain.
constexpr size_t kColumns = 4;

// Adds n values of the row times each column to y[c * ldy].
void add_panel(float *y, size_t ldy, const float *values, const float *x, size_t ldx,
               size_t n_columns, size_t n) {
    float acc[kColumns] = {};
    const float *column[kColumns];
    for (size_t c = 0; c < kColumns; c++) {
        const size_t valid = c < n_columns ? c : 0; // surplus chains repeat the first one
        acc[c] = y[valid * ldy];
        column[c] = x + valid * ldx;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t c = 0; c < kColumns; c++) acc[c] = fmaf(values[i], column[c][i], acc[c]);
    }
    for (size_t c = 0; c < n_columns; c++) y[c * ldy] = acc[c];
}

template <class F> void gemm(Out y, Rows w, const GemmAct &act, Scratch scratch) {
    float *values = reinterpret_cast<float *>(scratch.data);
    for (size_t r = 0; r < w.n; r++) {
        const uint8_t *row = w.data + r * w.stride;
        for (size_t c = 0; c < act.n; c++) y.y[c * y.ld + r] = 0.0f;
        for (size_t first = 0; first < w.k; first += kPanel) {
            const size_t n = w.k - first < kPanel ? w.k - first : kPanel;
            const uint8_t *blocks = row + first / F::kValues * sizeof(typename F::Block);
            fmt::decode_blocks<F>(values, blocks, n / F::kValues);
            for (size_t c = 0; c < act.n; c += kColumns) {
                add_panel(y.y + c * y.ld + r, y.ld, values, act.x + c * act.ldx + first, act.ldx,
                          act.n - c < kColumns ? act.n - c : kColumns, n);
            }
        }
        for (size_t c = 0; c < act.n; c++) y.y[c * y.ld + r] = finish(y.y[c * y.ld + r]);
    }
}

} // namespace
} // namespace scalar

constexpr Family<Gemm> scalar::kGemmF32 = for_types<Gemm>([]<class F, Kind K>() -> Gemm {
    if constexpr (K == Kind::Quantized || kIsFloat<F, K>)
        return {packed_bytes, pack, gemm<F>, 1, 1};
    else
        return {};
});

} // namespace ggufx::kernels
