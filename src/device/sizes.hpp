// Sizes of weights and scratch in device memory, known before a device is opened.
// SPDX-License-Identifier: MIT
#pragma once

#include "device/plugin.hpp"

#include <stdint.h>

namespace ggufx::device {

// Alignment of rows, in bytes, for copies of 16 bytes.
constexpr uint64_t kRowBorder = 16;
// Size of a buffer of rows. Kernels read whole words, and the last word may extend past the last
// row.
constexpr uint64_t bytes_of(uint64_t stride, uint64_t n_rows) {
    return (stride * n_rows + 63) / 64 * 64 + 64;
}

// Scratch memory of a device, in addition to weights. `values` counts floats of columns; their
// packed form and sums depend on it. Any number of columns fits whose values do.
constexpr uint64_t kScratchValues = 1 << 20, kScratchResults = 1 << 20;
constexpr uint64_t packed_bytes(uint64_t values) { // 15-bit activations have two planes
    return values / 32 * plugin::kActWords * 4 * 2;
}
constexpr uint64_t sums_bytes(uint64_t values) { // per 32, then per 16
    return values / 32 * 3 * 4;
}
// Capacity of scratch for columns when k is the length of the longest row.
constexpr uint64_t scratch_values(uint64_t k) {
    const uint64_t values = (k + 511) / 512 * 512;
    return values > kScratchValues ? values : kScratchValues;
}
// Scratch bytes in device memory.
constexpr uint64_t scratch_bytes(uint64_t values) {
    return (values + kScratchResults) * 4 + packed_bytes(values) + sums_bytes(values);
}

} // namespace ggufx::device
