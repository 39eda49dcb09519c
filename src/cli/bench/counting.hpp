// A runtime that counts the memory the library asks for.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/api.hpp"

#include <cstdint>

namespace ggufx::cli {

// Bytes now and at most, and calls. One thread: the runtime has no pool.
struct Counter {
    uint64_t now = 0;
    uint64_t peak = 0;
    uint64_t calls = 0;
};

Runtime counting_runtime(Counter &counter); // the counter outlives it

} // namespace ggufx::cli
