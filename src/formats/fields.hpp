// Bit fields of a block, which can be read, written and compared. A format states its fields once,
// as functions of the value or group index. Dequantization, scalar quantization, the search for
// better codes and the statistics of the tool use them. Internal linkage on purpose, as in
// traits.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx {
namespace fmt {

// n bits of a byte from bit `shift` on; n = 0: none.
struct Bits {
    size_t byte;
    unsigned shift, n;
    constexpr bool operator==(const Bits &) const = default;
};
// A number of up to 8 bits in one or two bit ranges, the second for its upper bits.
struct Field {
    Bits low, high = {0, 0, 0};
    constexpr bool operator==(const Field &) const = default;
};

namespace {

template <class Block> const uint8_t *bytes_of(const Block *block) {
    return reinterpret_cast<const uint8_t *>(block);
}
template <class Block> uint8_t *bytes_of(Block *block) {
    return reinterpret_cast<uint8_t *>(block);
}

inline int read_bits(const uint8_t *block, Bits b) {
    return b.n ? block[b.byte] >> b.shift & ((1 << b.n) - 1) : 0;
}
inline void write_bits(uint8_t *block, Bits b, int v) {
    if (!b.n) return;
    const int mask = (1 << b.n) - 1, kept = block[b.byte] & ~(mask << b.shift);
    block[b.byte] = static_cast<uint8_t>((kept | (v & mask) << b.shift) & 255);
}

// Returns the stored number, without sign or offset.
inline int read_field(const uint8_t *block, Field f) {
    return read_bits(block, f.low) | read_bits(block, f.high) << f.low.n;
}
template <class Block> int read(const Block &block, Field f) {
    return read_field(bytes_of(&block), f);
}
// Replaces the stored number.
inline void write_field(uint8_t *block, Field f, int v) {
    write_bits(block, f.low, v);
    write_bits(block, f.high, v >> f.low.n);
}
template <class Block> void write(Block &block, Field f, int v) {
    write_field(bytes_of(&block), f, v);
}

// ---- orders shared by several formats; `at`: offset of their bytes, i: value or group -----------

constexpr Field byte(size_t at, unsigned i) {
    return {{at + i, 0, 8}};
}
// Consecutive values in a byte, the first in the lowest bits.
constexpr Bits nibble_in_order(size_t at, unsigned i) {
    return {at + i / 2, 4 * (i % 2), 4};
}
constexpr Bits code2_in_order(size_t at, unsigned i) { // 2 bits
    return {at + i / 4, 2 * (i % 4), 2};
}
constexpr Bits bit_in_order(size_t at, unsigned i) {
    return {at + i / 8, i % 8, 1};
}
// Values i and i + 16 of 32 in one byte.
constexpr Bits nibble32(size_t at, unsigned i) {
    return {at + 16 * (i / 32) + i % 16, 4 * (i / 16 % 2), 4};
}
// Values i and i + 32 of 64 in one byte.
constexpr Bits nibble64(size_t at, unsigned i) {
    return {at + 32 * (i / 64) + i % 32, 4 * (i / 32 % 2), 4};
}
// Values i, i + 32, i + 64 and i + 96 of 128 in one byte.
constexpr Bits code2_of_128(size_t at, unsigned i) {
    return {at + 32 * (i / 128) + i % 32, 2 * (i / 32 % 4), 2};
}
// Value i of 256 in bit i / 32 of byte i % 32.
constexpr Bits bit256(size_t at, unsigned i) {
    return {at + i % 32, i / 32, 1};
}
// n <= 8 bits of the little-endian number at `at`, from bit `first` on.
constexpr Field bits_of_word(size_t at, unsigned first, unsigned n) {
    const unsigned shift = first % 8, low = n < 8 - shift ? n : 8 - shift;
    return {{at + first / 8, shift, low}, {at + first / 8 + 1, 0, n - low}};
}

// 8 scales and 8 minimums of 6 bits in 12 bytes.
constexpr Field scale6(size_t at, unsigned k) {
    if (k < 4) return {{at + k, 0, 6}};
    return {{at + 4 + k, 0, 4}, {at + k - 4, 6, 2}};
}
constexpr Field min6(size_t at, unsigned k) {
    if (k < 4) return {{at + 4 + k, 0, 6}};
    return {{at + 4 + k, 4, 4}, {at + k, 6, 2}};
}

} // namespace
} // namespace fmt
} // namespace ggufx
