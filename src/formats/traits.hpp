// What every format struct offers, and the few helpers they share.
// Internal linkage on purpose: kernels of every instruction set include this (architecture.md).
//
// Float and integer types (F32 ... I64):
//   Block                      one value, bytes in file order
//   value(b) -> float          exact where f32 can hold it, else rounded to nearest even
//
// Block formats; i = value in the block, g = i / kGroup = group in the block:
//   Block                      uint8_t fields only: sizeof == bytes in the file, any alignment
//   kValues, kGroup, kMins     values per block, values per sub-scale (16 or 32), kind of minimum
//   code(b, i) -> int          the signed (with mins: unsigned) integer code of canonical.md C2:
//                              c-8, grid*sign, doubled fp4 codes, 8*grid+e, t-1 ...
//   scale(b, g) -> int         integer sub-scale, 1 where the format has none
//   d(b, g = 0) -> float       "D" of canonical.md C2; depends on g for NVFP4 alone
//   m(b) -> float              Mins::kFloat: added to each value
//   min(b, g) -> int           Mins::kInteger: dmin(b) * min(b, g) is subtracted from each value
//   dmin(b) -> float
//   value = (d * scale) * code  [ + m | - dmin * min ], all products exact (types.md section 0)
// SPDX-License-Identifier: MIT
#pragma once

#include "base/half.hpp"
#include "formats/format.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx {
namespace fmt {
namespace {

template <unsigned Values, unsigned Group, Mins M = Mins::kNone> struct BlockFormat {
    static constexpr unsigned kValues = Values, kGroup = Group;
    static constexpr Mins kMins = M;
    template <class Block> static int scale(const Block &, unsigned) { return 1; }
};

struct ValueFormat {
    static constexpr unsigned kValues = 1, kGroup = 0;
    static constexpr Mins kMins = Mins::kNone;
};

inline float load_f16(const uint8_t *p) {
    return f16_to_f32(load_u16le(p));
}

// Code i of 32 in 16 bytes: low nibbles are values 0..15, high nibbles 16..31.
inline int nibble(const uint8_t *qs, unsigned i) {
    return (qs[i & 15] >> (i < 16 ? 0 : 4)) & 15;
}

// The 2-bit field of value i of 256 in 64 bytes, as Q2_K and Q3_K order them.
inline int crumb(const uint8_t *qs, unsigned i) {
    const unsigned half = i / 128, field = (i / 32) % 4, l = i % 32;
    return (qs[32 * half + l] >> (2 * field)) & 3;
}

// The 4-bit code of value i of 256 in 128 bytes, as Q4_K and Q5_K order them.
inline int nibble256(const uint8_t *qs, unsigned i) {
    return (qs[32 * (i / 64) + i % 32] >> (4 * ((i / 32) % 2))) & 15;
}

// 8 scales and 8 mins of 6 bits in the 12 bytes of Q4_K and Q5_K.
inline int scale6(const uint8_t *s, unsigned k) {
    return k < 4 ? s[k] & 63 : (s[k + 4] & 15) | (s[k - 4] >> 6) << 4;
}

inline int min6(const uint8_t *s, unsigned k) {
    return k < 4 ? s[k + 4] & 63 : (s[k + 4] >> 4) | (s[k] >> 6) << 4;
}

// -v when bit j of the sign byte is set.
inline int with_sign(int v, unsigned sign_byte, unsigned j) {
    return (sign_byte >> j) & 1u ? -v : v;
}

} // namespace
} // namespace fmt
} // namespace ggufx
