// Which sets are chosen for which features, and who serves which type.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/dispatch.hpp"

namespace testdata {

// Sets that differ in their best layer alone have one name for callers; this one tells them apart.
inline const char *set_name(const ggufx::kernels::Kernels &kernels) {
    return kernels.layers[0]->name;
}

// Asks for the choices of every set of features, also those no machine has, prints wrong ones and
// returns their number; adds the number of cases to *n_checked.
long count_wrong_choices(long *n_checked);

// For each of n choices who serves each type and family.
void print_coverage(const ggufx::kernels::Kernels *const *list, size_t n);

} // namespace testdata
