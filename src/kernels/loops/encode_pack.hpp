// Packs codes of one byte each into the fields of blocks, eight bytes at a time. Fields do not
// cross bytes, so the byte order of a word does not matter. formats/orders.hpp defines the orders.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/orders.hpp"
#include "kernels/encode.hpp"
#include "kernels/loops/common.hpp"

namespace ggufx {
namespace kernels {
namespace {

// Returns block b of a job.
template <class F> GGUFX_INLINE typename F::Block &block_of(const EncodeJob &job, size_t b) {
    return reinterpret_cast<typename F::Block *>(job.out)[b];
}

constexpr uint64_t kEachByte = 0x0101010101010101u;

GGUFX_INLINE uint64_t load_eight(const uint8_t *p) {
    uint64_t v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}
GGUFX_INLINE void store_eight(uint8_t *p, uint64_t v) {
    __builtin_memcpy(p, &v, sizeof v);
}
// Moves bits `from` .. `from` + n - 1 of each of eight bytes to bit `to`.
GGUFX_INLINE uint64_t move_bits(uint64_t v, int from, int n, int to) {
    const uint64_t field = v >> from & kEachByte * ((1u << n) - 1u);
    return field << to;
}

// Packs the low four bits of codes p[i] and p[i + apart] in one byte, n bytes.
GGUFX_INLINE void pack_nibbles(uint8_t *to, const uint8_t *codes, int n, int apart) {
    for (int i = 0; i < n; i += 8)
        store_eight(to + i, move_bits(load_eight(codes + i), 0, 4, 0) |
                                move_bits(load_eight(codes + i + apart), 0, 4, 4));
}
// Packs the low four bits of 256 codes in 128 bytes, in the order of Q4_K and Q5_K.
GGUFX_INLINE void pack_nibbles256(uint8_t *to, const uint8_t *codes) {
    for (int i = 0; i < 4; i++) pack_nibbles(to + 32 * i, codes + 64 * i, 32, 32);
}
// Packs two bits from bit `from` of 256 codes in 64 bytes, in the order of Q2_K, Q3_K and Q6_K.
GGUFX_INLINE void pack_2bit(uint8_t *to, const uint8_t *codes, int from) {
    for (int i = 0; i < 64; i += 8) {
        const uint8_t *at = codes + 128 * (i / 32) + i % 32;
        uint64_t v = 0;
#pragma GCC unroll 4
        for (int field = 0; field < 4; field++)
            v |= move_bits(load_eight(at + 32 * field), from, 2, 2 * field);
        store_eight(to + i, v);
    }
}
// Packs one bit of 256 codes in 32 bytes: that of code e in bit e / 32 of byte e % 32.
GGUFX_INLINE void pack_bits256(uint8_t *to, const uint8_t *codes, int from) {
    for (int i = 0; i < 32; i += 8) {
        uint64_t v = 0;
#pragma GCC unroll 8
        for (int bit = 0; bit < 8; bit++)
            v |= move_bits(load_eight(codes + 32 * bit + i), from, 1, bit);
        store_eight(to + i, v);
    }
}

} // namespace
} // namespace kernels
} // namespace ggufx
