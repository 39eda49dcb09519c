// Launches of the fake device: the reference lanes (src/plugins/lanes), one value after another.
// SPDX-License-Identifier: MIT
#pragma once

#include "device/plugin.hpp"

namespace ggufx::fake {

// Buffers as memory; spans of `launch` refer to addresses in `memory` (by buffer id).
struct Memories {
    void *user;
    uint8_t *(*at)(void *user, plugin::Span span);
};

// Computes the self-test for `n` cases (device/self_test.hpp).
void probe(uint32_t *results, const uint32_t *operands, uint32_t n);

// Returns false when the type has no such operation.
bool compute(const plugin::Launch &launch, const Memories &memories);

} // namespace ggufx::fake
