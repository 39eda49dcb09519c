// The kernels of plugins/cuda by type and name, on an emulated GPU.
// SPDX-License-Identifier: MIT
#pragma once

#include "plugins/cuda/arguments.hpp"

#include <stddef.h>
#include <stdint.h>
#include <string>

namespace ggufx::emulation {

// Execution settings, injected faults and counters.
struct Control {
    int32_t copies_late = 0;
    uint32_t order = 0; // 0: ascending, else a seed
    // Faults injected into kernels.
    int32_t wait_less = 0;  // number of groups that a wait leaves pending beyond its limit
    int32_t no_half = 0;    // 1: no barrier before a segment is used, 2: none after it
    int32_t no_block = 0;   // no barrier after the columns
    uint32_t slot_less = 0; // bytes missing from a buffer slot
    uint64_t n_outside = 0; // bytes accessed outside a block's memory
    uint64_t n_blocks = 0;  // executed blocks
};

using Kernel = void (*)(const card::Arguments &);

// type: "Q4_K", or "columns" for kernels without a type. Returns null if there is no such kernel.
Kernel find_kernel(const std::string &type, const std::string &name);
void run_kernel(Control &control, Kernel kernel, const card::Arguments &arguments, uint32_t grid_x,
                uint32_t grid_y, size_t shared_bytes);

} // namespace ggufx::emulation
