// The plain read that kernels are compared with: wide loads, 1 or 4 places at once.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace ggufx::cli {

// Reads n bytes (a multiple of 1024) and returns a digest that depends on all of them.
using ReadLoop = uint64_t (*)(const uint8_t *data, size_t n);

// streams is 1 or 4; NULL when this build has no such loop.
ReadLoop read_loop_baseline(unsigned streams, bool prefetch);
ReadLoop read_loop_avx2(unsigned streams, bool prefetch);
ReadLoop read_loop_avx512(unsigned streams, bool prefetch);

} // namespace ggufx::cli
