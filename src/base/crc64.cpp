// Eight bytes at a time: table k holds what a byte does with k more behind it.
// SPDX-License-Identifier: MIT
#include "base/crc64.hpp"

#include "base/bytes.hpp"

namespace ggufx {

namespace {

constexpr uint64_t kPolynomial = 0xc96c5795d7870f42u; // x^64 + x^62 + x^57 + ..., lowest bit last

struct Tables {
    uint64_t entry[8][256];
    constexpr Tables() : entry{} {
        for (uint32_t i = 0; i < 256; i++) {
            uint64_t c = i;
            for (int bit = 0; bit < 8; bit++) c = c >> 1 ^ (c & 1 ? kPolynomial : 0);
            entry[0][i] = c;
        }
        for (uint32_t k = 1; k < 8; k++)
            for (uint32_t i = 0; i < 256; i++)
                entry[k][i] = entry[k - 1][i] >> 8 ^ entry[0][entry[k - 1][i] & 0xff];
    }
};
constexpr Tables kTables;

} // namespace

uint64_t crc64(uint64_t crc, const void *data, size_t n) {
    const auto *p = static_cast<const uint8_t *>(data);
    crc = ~crc;
    for (; n >= 8; n -= 8, p += 8) {
        const uint64_t x = crc ^ load_u64le(p);
        crc = 0;
        for (unsigned k = 0; k < 8; k++) crc ^= kTables.entry[7 - k][x >> 8 * k & 0xff];
    }
    for (; n > 0; n--, p++) crc = crc >> 8 ^ kTables.entry[0][(crc ^ *p) & 0xff];
    return ~crc;
}

} // namespace ggufx
