// Row operations: reference definitions of docs/reproducibility/models.md.
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/scalar/rows_norm.hpp"
#include "kernels/scalar/rows_state.hpp"
#include "kernels/scalar/rows_values.hpp"

namespace ggufx::kernels {

constexpr RowKernels scalar::kRows = {
    .rms = scalar::rms,
    .layer_norm = scalar::layer_norm,
    .l2 = scalar::l2,
    .rotate_pairs = scalar::rotate_pairs,
    .rotate_halves = scalar::rotate_halves,
    .add = scalar::add,
    .add_scaled = scalar::add_scaled,
    .multiply = scalar::multiply,
    .scale = scalar::scale_row,
    .clamp = scalar::clamp,
    .cap = scalar::cap,
    .silu = scalar::activate<scalar::silu_of>,
    .gelu = scalar::activate<scalar::gelu_of>,
    .relu2 = scalar::activate<scalar::relu2_of>,
    .oai = scalar::oai,
    .sigmoid = scalar::sigmoid,
    .softmax = scalar::softmax,
    .exp_from = scalar::exp_from,
    .maxima = scalar::maxima,
    .conv = scalar::conv,
    .delta = scalar::delta,
    .scan = scalar::scan,
    .scan_each = scalar::scan_each,
};

} // namespace ggufx::kernels
