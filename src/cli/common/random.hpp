// Unpredictable random numbers from the system.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace ggufx::cli {

uint64_t random_number();
uint64_t random_seed(); // below 2^32: exact as a double in any JSON parser, and short to type

} // namespace ggufx::cli
