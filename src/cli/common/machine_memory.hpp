// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace ggufx::cli {

uint64_t machine_memory(); // bytes of RAM, used or not; 0: unknown

} // namespace ggufx::cli
