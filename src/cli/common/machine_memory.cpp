// SPDX-License-Identifier: MIT
#include "common/machine_memory.hpp"

#include <unistd.h>

namespace ggufx::cli {

uint64_t machine_memory() {
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGE_SIZE);
    if (pages <= 0 || page_bytes <= 0) return 0;
    return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes);
}

} // namespace ggufx::cli
