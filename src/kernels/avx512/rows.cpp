// AVX-512 row operations.
// SPDX-License-Identifier: MIT
#include "kernels/avx512/row_vec.hpp"
#include "kernels/loops/families.hpp"
#include "kernels/loops/rows_table.hpp"

namespace ggufx {
namespace kernels {

constexpr RowKernels GGUFX_LAYER::kRows = kRowsOf<avx512::RowVec>;

} // namespace kernels
} // namespace ggufx
