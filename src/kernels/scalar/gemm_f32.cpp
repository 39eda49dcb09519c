// n >= 4 columns with f32 activations: the text C4, one chain over k per output, on the decoded
// values of the row (formats/decode.hpp, so block types too: C6).
// SPDX-License-Identifier: MIT
#include "formats/decode.hpp"
#include "kernels/scalar/canonical.hpp"
#include "kernels/scalar/families.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

size_t packed_bytes(size_t, size_t) {
    return 0;
}

void pack(uint8_t *, const GemmAct &, size_t, size_t) {}

constexpr size_t kPanel = 1024; // values of a row decoded at a time; whole blocks of every type
static_assert(kPanel * sizeof(float) <= kScratchMin);

template <class F> void gemm(Out y, Rows w, const GemmAct &act, Scratch scratch) {
    float *values = reinterpret_cast<float *>(scratch.data);
    for (size_t r = 0; r < w.n; r++) {
        const uint8_t *row = w.data + r * w.stride;
        for (size_t c = 0; c < act.n; c++) y.y[c * y.ld + r] = 0.0f;
        for (size_t first = 0; first < w.k; first += kPanel) {
            const size_t n = w.k - first < kPanel ? w.k - first : kPanel;
            const uint8_t *blocks = row + first / F::kValues * sizeof(typename F::Block);
            fmt::decode_blocks<F>(values, blocks, n / F::kValues);
            for (size_t c = 0; c < act.n; c++) {
                const float *x = act.x + c * act.ldx + first;
                float acc = y.y[c * y.ld + r];
                for (size_t i = 0; i < n; i++) acc = fmaf(values[i], x[i], acc);
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
    if constexpr (sizeof(typename F::Block) > sizeof(float)) {
        return {}; // F64
    } else {
        return {packed_bytes, pack, gemm<F>, 1, 1};
    }
}
template <class F> constexpr Gemm entry_Integer() {
    return {};
}
template <class F> constexpr Gemm entry_Activation() {
    return {};
}

} // namespace
} // namespace scalar

const Gemm kScalarGemmF32[fmt::kTypeIds] = {
#define X(NAME, ID, TEXT, VALUES, BYTES, KIND, ...) scalar::entry_##KIND<fmt::NAME>(),
#define REMOVED(...) {},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
