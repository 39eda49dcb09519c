// Encoding of numbers in one file: byte order, and the width of counts (32 bits in v1).
// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"

#include <stdint.h>

namespace ggufx::gguf {

// Returns a number loaded from a mapping, whose bytes another process may change. The compiler may
// not load it a second time: the checked value must be the used one.
template <class T> inline T settled(T v) {
    __atomic_signal_fence(__ATOMIC_ACQ_REL);
    return v;
}

struct Wire {
    bool big_endian = false;
    bool narrow = false; // version 1: counts, lengths and dimensions have 32 bits

    uint16_t u16(const uint8_t *p) const {
        const uint16_t v = settled(load_u16le(p));
        return big_endian ? bswap16(v) : v;
    }
    uint32_t u32(const uint8_t *p) const {
        const uint32_t v = settled(load_u32le(p));
        return big_endian ? bswap32(v) : v;
    }
    uint64_t u64(const uint8_t *p) const {
        const uint64_t v = settled(load_u64le(p));
        return big_endian ? bswap64(v) : v;
    }
    unsigned count_bytes() const { return narrow ? 4 : 8; }
    uint64_t count(const uint8_t *p) const { return narrow ? u32(p) : u64(p); }
};

} // namespace ggufx::gguf
