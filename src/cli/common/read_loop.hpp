// Plain memory reads, to compare kernels with: wide loads from 1 or 4 streams.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace ggufx::cli {

// Reads n bytes (a multiple of 1024) and returns a digest that depends on all of them.
using ReadLoop = uint64_t (*)(const uint8_t *data, size_t n);

// streams is 1 or 4. Returns NULL if this build lacks the loop.
ReadLoop read_loop_baseline(unsigned streams, bool prefetch);
ReadLoop read_loop_avx2(unsigned streams, bool prefetch);
ReadLoop read_loop_avx512(unsigned streams, bool prefetch);

} // namespace ggufx::cli
