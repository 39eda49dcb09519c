// SPDX-License-Identifier: MIT
#include "plugins/cuda/device.hpp"

#include <ggufx/types.h>

// Written by kernels.py.
extern "C" const char ggufx_kernels[];

namespace ggufx::cuda {

namespace {

struct Text {
    uint32_t type;
    const char *ptx; // ends with a zero
    size_t n_bytes;
    uint32_t segment_bytes;
};
const Text kTexts[] = {
#include "kernels_table.inc"
};

} // namespace

const char *module_text(uint32_t type) {
    for (const Text &text : kTexts)
        if (text.type == type) return text.ptx;
    return nullptr;
}

uint32_t segment_bytes(uint32_t type) {
    for (const Text &text : kTexts)
        if (text.type == type) return text.segment_bytes;
    return 0;
}

} // namespace ggufx::cuda
