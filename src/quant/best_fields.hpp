// Numbers of a few bits in blocks.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace ggufx::quant {

// A number of up to 8 bits in one or two places, the second for its upper bits.
struct Field {
    struct Bits {
        int byte, shift, n; // n = 0: no such bits
    } low, high;
};

namespace {

inline int read_bits(const uint8_t *block, const Field::Bits &b) {
    return b.n ? block[b.byte] >> b.shift & ((1 << b.n) - 1) : 0;
}
inline int read_field(const uint8_t *block, const Field &f) {
    return read_bits(block, f.low) | read_bits(block, f.high) << f.low.n;
}
inline void write_bits(uint8_t *block, const Field::Bits &b, int v) {
    if (!b.n) return;
    const int mask = ((1 << b.n) - 1) << b.shift;
    block[b.byte] = static_cast<uint8_t>(((block[b.byte] & ~mask) | (v << b.shift & mask)) & 255);
}
inline void write_field(uint8_t *block, const Field &f, int v) {
    write_bits(block, f.low, v);
    write_bits(block, f.high, v >> f.low.n);
}

// n <= 8 bits from bit `first` of a little-endian number at `byte` on.
inline Field bits_of_word(int byte, int first, int n) {
    const int at = byte + first / 8, shift = first % 8, low = n < 8 - shift ? n : 8 - shift;
    return {{at, shift, low}, {at + 1, 0, n - low}};
}

} // namespace
} // namespace ggufx::quant
