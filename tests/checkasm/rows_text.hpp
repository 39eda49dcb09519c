// Does the scalar text of row steps mean what kernels/rows.hpp says?
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/rows.hpp"

namespace rowsteps {

// Against the formulas in binary64, and what becomes of NaN and infinities. Prints what is wrong
// and returns the number of that; adds the number of checks to *n_checked.
long check_text(const ggufx::kernels::RowKernels &scalar, long *n_checked);

} // namespace rowsteps
