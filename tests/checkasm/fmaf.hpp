// Test of the libm's fmaf: the result is rounded once.
// SPDX-License-Identifier: MIT
#pragma once

namespace testdata {

// Prints wrong results and returns their number; adds the number of cases to *n_checked.
long count_wrong_fmaf(long *n_checked);

} // namespace testdata
