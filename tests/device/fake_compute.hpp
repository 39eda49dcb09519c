// Launches of the fake device: the text of lanes (src/plugins/lanes), one value after another.
// SPDX-License-Identifier: MIT
#pragma once

#include "device/plugin.hpp"

namespace ggufx::fake {

// Buffers as memory; of `launch` the spans mean addresses in `memory` (of buffer ids).
struct Memories {
    void *user;
    uint8_t *(*at)(void *user, plugin::Span span);
};

// Of `n` cases (device/self_test.hpp).
void probe(uint32_t *results, const uint32_t *operands, uint32_t n);

// False: there is no such operation for the type.
bool compute(const plugin::Launch &launch, const Memories &memories);

} // namespace ggufx::fake
