// Random numbers of the system, which nobody can guess.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace ggufx::cli {

uint64_t random_number();
uint64_t random_seed(); // below 2^32: exact as a double in any reader of JSON, and short to type

} // namespace ggufx::cli
