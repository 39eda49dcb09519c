// Blocked products with integer activations: tiles, products and packed activations of the AVX-512
// layer, with tiles filled by VBMI.
// SPDX-License-Identifier: MIT
#include "kernels/avx512/vbmi_tiles.hpp"
#include "kernels/loops/families.hpp"
#include "kernels/loops/gemm_tile.hpp"

namespace ggufx::kernels {

namespace avx512 {
extern const Family<Gemm> kGemm, kGemmPrecise;
}
using namespace avx512vbmi;

namespace {

template <const Family<Gemm> &Below> consteval Family<Gemm> filled() {
    return for_types<Gemm>([]<class F, Kind>() -> Gemm {
        if constexpr (requires { sizeof(Filled<F>); }) {
            using U = Filled<F>;
            return {[](size_t k, size_t n) { return Below.of[kIdOf<F>].bytes(k, n); },
                    [](uint8_t *packed, const GemmAct &act, size_t first, size_t count) {
                        Below.of[kIdOf<F>].pack(packed, act, first, count);
                    },
                    [](Out y, Rows w, const GemmAct &act, Scratch scratch) {
                        Below.of[kIdOf<F>].run_filled(y, w, act, scratch, fill_step<U>);
                    },
                    U::kColumns, U::kTileVectors * U::kLanes};
        } else {
            return {};
        }
    });
}

} // namespace

constexpr Family<Gemm> avx512vbmi::kGemm = filled<avx512::kGemm>();
constexpr Family<Gemm> avx512vbmi::kGemmPrecise = filled<avx512::kGemmPrecise>();

} // namespace ggufx::kernels
