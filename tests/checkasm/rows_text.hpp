// Tests of the scalar row functions against the definitions in kernels/rows.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/rows.hpp"

namespace rowsteps {

// Compares with the formulas in binary64, and checks NaN and infinities. Prints wrong results and
// returns their number; adds the number of checks to *n_checked.
long check_text(const ggufx::kernels::RowKernels &scalar, long *n_checked);

} // namespace rowsteps
