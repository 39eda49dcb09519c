// Sizes with units, as users type them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace ggufx::cli {

// Parses "1000", "64K", "1.5G", "8GiB", "16 GB" to bytes. K, M, G, T and KiB .. TiB are powers of
// 1024, KB .. TB of 1000. A fraction is rounded to whole bytes. `option` is for the message.
uint64_t parse_size(const std::string &text, const char *option);

} // namespace ggufx::cli
