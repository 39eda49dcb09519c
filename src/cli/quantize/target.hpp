// Quantization types for a target size with the least error.
// SPDX-License-Identifier: MIT
#pragma once

#include "quantize/quantize.hpp"

namespace ggufx::cli {

// Measures each candidate type on each tensor, and sets the job's plan to types with a small sum of
// squared errors within --target-size or --target-bpw. `chosen`: types of overrides, which stay
// (GGUFX_QUANTIZER_DEFAULT_TYPE: none). Throws kNoMemory if even the smallest types are too large.
void meet_target(const Globals &globals, ggufx_quantizer *job, const ModelQuantizeOptions &options,
                 std::vector<uint32_t> &chosen);

} // namespace ggufx::cli
