// Totals of a plan over all tensors: bytes, bytes that a token reads, expected error.
// SPDX-License-Identifier: MIT
#pragma once

#include "job/plan.hpp"

namespace ggufx::job {

struct PlanSums {
    uint64_t n_parameters = 0; // all values except RoPE frequency factors
    uint64_t n_bytes = 0;
    uint64_t token_bytes = 0; // one row of the embedding, the used experts, everything else
    // Square root of the mean square of the types' relative errors (tests/bench/quantize.md,
    // Gaussian samples), over all values. Tensors that are copied count as exact.
    double error = 0;
    bool needs_imatrix = false; // a tensor needs an imatrix entry that is missing
};

// n_experts 0: no mixture of experts. Throws overflow.
PlanSums sum_plan(const Plan &plan, uint64_t n_experts, uint64_t n_used_experts);

} // namespace ggufx::job
