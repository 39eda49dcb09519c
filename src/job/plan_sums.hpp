// What a plan comes to over all its tensors: bytes, the bytes a token reads, the expected error.
// SPDX-License-Identifier: MIT
#pragma once

#include "job/plan.hpp"

namespace ggufx::job {

struct PlanSums {
    uint64_t n_parameters = 0; // values but for tables of rotation factors
    uint64_t n_bytes = 0;
    uint64_t token_bytes = 0; // one row of the embedding, the used experts, everything else
    // Square root of the mean square of the types' relative errors (tests/bench/quantize.md,
    // Gaussian samples), over all values. Tensors that stay as they are count as exact.
    double error = 0;
    bool needs_imatrix = false; // a tensor cannot be made for want of one
};

// n_experts 0: none. Throws overflow.
PlanSums sum_plan(const Plan &plan, uint64_t n_experts, uint64_t n_used_experts);

// RMS of a type's error relative to the RMS of what was encoded; 0 for types that lose nothing.
double type_error(uint32_t type, bool weighed);

} // namespace ggufx::job
