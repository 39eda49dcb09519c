// Quantization error of a type for one tensor.
// SPDX-License-Identifier: MIT
#pragma once

#include "job/rows.hpp"

namespace ggufx::job {

// Returns the root mean square error over up to max_values values in evenly spaced rows; 0: all.
double measure(const matmul::Engine &engine, const Ref<Host> &host, const PlannedTensor &tensor,
               bool best, uint32_t type, uint64_t max_values, const Progress &progress);

} // namespace ggufx::job
