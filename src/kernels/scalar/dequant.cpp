// Dequantization of all types: formats/decode.hpp without changes.
// SPDX-License-Identifier: MIT
#include "formats/decode.hpp"
#include "kernels/loops/families.hpp"

namespace ggufx::kernels {

constexpr Family<Dequant> scalar::kDequant =
    for_types<Dequant>([]<class F, Kind>() -> Dequant { return {fmt::decode_blocks<F>}; });

} // namespace ggufx::kernels
