// NEON row operations.
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/loops/rows_table.hpp"
#include "kernels/neon/row_vec.hpp"

namespace ggufx {
namespace kernels {

constexpr RowKernels GGUFX_LAYER::kRows = kRowsOf<neon::RowVec>;

} // namespace kernels
} // namespace ggufx
