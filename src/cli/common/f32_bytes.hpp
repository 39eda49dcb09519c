// f32 values as little-endian bytes for files, on any host.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>

namespace ggufx::cli {

inline std::string f32_bytes(std::span<const float> values) {
    std::string bytes(reinterpret_cast<const char *>(values.data()), values.size_bytes());
    if constexpr (std::endian::native == std::endian::big) {
        for (size_t i = 0; i < bytes.size(); i += sizeof(float)) {
            std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                         bytes.begin() + static_cast<std::ptrdiff_t>(i + sizeof(float)));
        }
    }
    return bytes;
}

} // namespace ggufx::cli
