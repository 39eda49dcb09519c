// A runtime that counts memory allocations of the library.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"

#include <cstdint>

namespace ggufx::cli {

// Current and peak bytes, and allocations. For one thread: the runtime has no pool.
struct Counter {
    uint64_t now = 0;
    uint64_t peak = 0;
    uint64_t calls = 0;
};

Runtime counting_runtime(Counter &counter); // the counter must outlive it

} // namespace ggufx::cli
