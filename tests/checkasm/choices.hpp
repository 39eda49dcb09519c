// Kernel dispatch: instruction sets chosen for processor features, and the layer that provides each
// type.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/dispatch.hpp"

namespace testdata {

// Name of the top layer. Distinguishes sets that share a public name because they differ in the top
// layer alone.
inline const char *set_name(const ggufx::kernels::Kernels &kernels) {
    return kernels.layers[0]->name;
}

// Checks dispatch for every combination of features, also those that no machine has. Prints wrong
// choices and returns their number; adds the number of cases to *n_checked.
long count_wrong_choices(long *n_checked);

// Prints, for each of n choices, the layer that provides each type and family.
void print_coverage(const ggufx::kernels::Kernels *const *list, size_t n);

} // namespace testdata
