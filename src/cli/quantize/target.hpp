// Types that keep a model within a size at the least error.
// SPDX-License-Identifier: MIT
#pragma once

#include "quantize/quantize.hpp"

namespace ggufx::cli {

// Measures what each candidate type does to each tensor, and chooses among them so that the sum of
// squared errors of all weights is small within --target-size or --target-bpw: job's plan is then
// that one. `chosen` are types of overrides (GGUFX_JOB_BY_RECIPE: none), which stay. Ends with
// kNoMemory where even the smallest types are too large.
void meet_target(const Globals &globals, ggufx_job *job, const ModelQuantizeOptions &options,
                 std::vector<uint32_t> &chosen);

} // namespace ggufx::cli
