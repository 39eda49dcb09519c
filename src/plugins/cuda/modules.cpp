// SPDX-License-Identifier: MIT
#include "plugins/cuda/device.hpp"

#include <ggufx/types.h>
#include <iterator>

// Written by kernels.py.
extern "C" const char ggufx_kernels[];

namespace ggufx::cuda {

namespace {

const Text kTexts[] = {
#include "kernels_table.inc"
};

} // namespace

uint32_t n_texts() {
    return static_cast<uint32_t>(std::size(kTexts));
}

uint32_t find_text(uint32_t type) {
    uint32_t i = 0;
    while (i < n_texts() && kTexts[i].type != type) i++;
    return i;
}

const Text &text_at(uint32_t i) {
    return kTexts[i];
}

} // namespace ggufx::cuda
