// What weights take in the memory of a device: known before anything is opened.
// SPDX-License-Identifier: MIT
#pragma once

#include "device/plugin.hpp"

#include <stdint.h>

namespace ggufx::device {

// Rows begin on borders of 16 bytes, so that copies of 16 do.
constexpr uint64_t kRowBorder = 16;
// A buffer of rows; kernels read whole words, of which the last may be half behind the last row.
constexpr uint64_t bytes_of(uint64_t stride, uint64_t n_rows) {
    return (stride * n_rows + 63) / 64 * 64 + 64;
}

// What a device has for its calls beside the weights. `values` are those of columns, packed and with
// their sums; as many columns fit as have so many values together.
constexpr uint64_t kScratchValues = 1 << 20, kScratchResults = 1 << 20;
constexpr uint64_t packed_bytes(uint64_t values) { // of 15 bits: two planes
    return values / 32 * plugin::kActWords * 4 * 2;
}
constexpr uint64_t sums_bytes(uint64_t values) { // per 32, then per 16
    return values / 32 * 3 * 4;
}
// Values of columns that a device has room for when rows of k are the longest.
constexpr uint64_t scratch_values(uint64_t k) {
    const uint64_t values = (k + 511) / 512 * 512;
    return values > kScratchValues ? values : kScratchValues;
}
// All of it that lies on the device.
constexpr uint64_t scratch_bytes(uint64_t values) {
    return (values + kScratchResults) * 4 + packed_bytes(values) + sums_bytes(values);
}

} // namespace ggufx::device
