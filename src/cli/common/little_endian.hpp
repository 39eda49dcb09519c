// Little-endian numbers in files that the tool writes itself.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace ggufx::cli {

// Appends the low n_bytes of a number, lowest byte first; zeros after the eighth.
inline void put_number(std::string &out, uint64_t value, unsigned n_bytes) {
    for (unsigned i = 0; i < n_bytes; i++, value >>= 8) out += static_cast<char>(value & 0xff);
}

} // namespace ggufx::cli
