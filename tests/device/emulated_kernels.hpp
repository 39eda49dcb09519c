// The kernels of plugins/cuda by type and name, on an emulated card.
// SPDX-License-Identifier: MIT
#pragma once

#include "plugins/cuda/arguments.hpp"

#include <stddef.h>
#include <stdint.h>
#include <string>

namespace ggufx::emulation {

// How it goes, and faults that tests put into kernels.
struct Control {
    int32_t copies_late = 0;
    uint32_t order = 0; // 0: ascending, else a seed
    // Faults that tests put into kernels.
    int32_t wait_less = 0;  // groups that a wait leaves over beyond what it may
    int32_t no_half = 0;    // 1: no barrier before a segment is used, 2: none behind it
    int32_t no_block = 0;   // no barrier behind the columns
    uint32_t slot_less = 0; // bytes of a slot
    uint64_t n_outside = 0; // bytes beyond a block's memory
    uint64_t n_blocks = 0;  // that ran
};

using Kernel = void (*)(const card::Arguments &);

// type: "Q4_K", or "columns" for those that need none. Null: there is none.
Kernel find_kernel(const std::string &type, const std::string &name);
void run_kernel(Control &control, Kernel kernel, const card::Arguments &arguments, uint32_t grid_x,
                uint32_t grid_y, size_t shared_bytes);

} // namespace ggufx::emulation
