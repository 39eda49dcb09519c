// Memory that this process may still use: free memory of the machine and limits of the process and
// its control groups.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace ggufx::io {

// Returns 0 if that is unknown (other systems than Linux). The page cache counts as free.
uint64_t memory_room();

} // namespace ggufx::io
