// Slicing-by-8 CRC-64: table k holds the CRC of a byte followed by k zero bytes. Long inputs run
// three interleaved lanes, because each step depends on the one before it.
// SPDX-License-Identifier: MIT
#include "base/crc64.hpp"

#include "base/bytes.hpp"

#include <bit>

namespace ggufx {

namespace {

constexpr uint64_t kPolynomial = 0xc96c5795d7870f42u; // x^64 + x^62 + x^57 + ..., reflected
constexpr size_t kLane = 4096;                        // bytes per lane, a power of two

struct Tables {
    uint64_t entry[8][256];
    uint64_t of(uint64_t x) const {
        uint64_t sum = 0;
#pragma GCC unroll 8
        for (unsigned k = 0; k < 8; k++) sum ^= entry[7 - k][x >> 8 * k & 0xff];
        return sum;
    }
};

constexpr Tables after_bytes() {
    Tables t{};
    for (uint32_t i = 0; i < 256; i++) {
        uint64_t c = i;
        for (int bit = 0; bit < 8; bit++) c = c >> 1 ^ (c & 1 ? kPolynomial : 0);
        t.entry[0][i] = c;
    }
    for (uint32_t k = 1; k < 8; k++)
        for (uint32_t i = 0; i < 256; i++)
            t.entry[k][i] = t.entry[k - 1][i] >> 8 ^ t.entry[0][t.entry[k - 1][i] & 0xff];
    return t;
}
constexpr Tables kAfterBytes = after_bytes();

// Effect of n zero bytes on the CRC, a linear map: column i is the image of bit i.
struct Zeros {
    uint64_t column[64];
    constexpr uint64_t of(uint64_t x) const {
        uint64_t sum = 0;
        for (; x; x &= x - 1) sum ^= column[std::countr_zero(x)];
        return sum;
    }
    constexpr Zeros twice() const {
        Zeros two{};
        for (int i = 0; i < 64; i++) two.column[i] = of(column[i]);
        return two;
    }
};

constexpr Tables after_a_lane() {
    Zeros zeros{};
    for (int i = 0; i < 64; i++) {
        const uint64_t bit = uint64_t{1} << i;
        zeros.column[i] = bit >> 8 ^ kAfterBytes.entry[0][bit & 0xff];
    }
    for (size_t n = 1; n < kLane; n *= 2) zeros = zeros.twice();
    Tables t{};
    for (uint32_t k = 0; k < 8; k++)
        for (uint32_t i = 0; i < 256; i++) t.entry[7 - k][i] = zeros.of(uint64_t{i} << 8 * k);
    return t;
}
constexpr Tables kAfterLane = after_a_lane();

uint64_t three_lanes(uint64_t crc, const uint8_t *p) {
    uint64_t second = 0, third = 0;
    for (size_t i = 0; i < kLane; i += 8) {
        crc = kAfterBytes.of(crc ^ load_u64le(p + i));
        second = kAfterBytes.of(second ^ load_u64le(p + kLane + i));
        third = kAfterBytes.of(third ^ load_u64le(p + 2 * kLane + i));
    }
    return kAfterLane.of(kAfterLane.of(crc) ^ second) ^ third;
}

} // namespace

uint64_t crc64(uint64_t crc, const void *data, size_t n) {
    const auto *p = static_cast<const uint8_t *>(data);
    crc = ~crc;
    for (; n >= 3 * kLane; n -= 3 * kLane, p += 3 * kLane) crc = three_lanes(crc, p);
    for (; n >= 8; n -= 8, p += 8) crc = kAfterBytes.of(crc ^ load_u64le(p));
    for (; n > 0; n--, p++) crc = crc >> 8 ^ kAfterBytes.entry[0][(crc ^ *p) & 0xff];
    return ~crc;
}

} // namespace ggufx
