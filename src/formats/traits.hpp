// Members of every format struct, and shared helpers. Internal linkage on purpose: kernels of every
// instruction set include this (src/README.md).
//
// Float and integer types (F32 ... I64):
//   Block: one value, bytes in file order.
//   value(b) -> float: exact where f32 can hold it, else rounded to nearest even.
//
// Block formats; i = value in the block, g = i / kGroup = group in the block:
//   Block: uint8_t fields only, so sizeof is the bytes in the file; any alignment.
//   kValues, kGroup, kMins: values per block, values per sub-scale (16 or 32), kind of minimum.
//   code_at(i), scale_at(g), min_at(g) -> Field: position of the stored number (fields.hpp), which
//     code(), scale() and min() read. Exceptions:
//     - TQ1_0 has digit_at(i), as it has base-3 digits instead of bits.
//     - Types with a codebook have index_low_at and index_high_at (per grid row), and signs_at (per
//       8 values) or shift_at. They read whole words.
//   code(b, i) -> int: the code of C2 (docs/reproducibility/products.md), signed (with mins:
//     unsigned): c-8, grid*sign, doubled fp4 codes, 8*grid+e, t-1 ...
//   scale(b, g) -> int: integer sub-scale, 1 where the format has none.
//   d(b, g = 0) -> float: "D" of C2 (docs/reproducibility/products.md); only NVFP4 depends on g.
//   m(b) -> float: with Mins::kFloat, added to each value.
//   min(b, g) -> int: with Mins::kInteger, dmin(b) * min(b, g) is subtracted from each value.
//   dmin(b) -> float: scale of min().
//   value = (d * scale) * code  [ + m | - dmin * min ], all products exact
//     (docs/reproducibility/formats.md).
// SPDX-License-Identifier: MIT
#pragma once

#include "base/half.hpp"
#include "formats/fields.hpp"
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

template <class F>
concept HasCodebook = requires {
    F::index_low_at(0u);
};

inline float load_f16(const uint8_t *p) {
    return f16_to_f32(load_u16le(p));
}

// Returns -v if bit j of the sign byte is set, else v.
inline int with_sign(int v, unsigned sign_byte, unsigned j) {
    return (sign_byte >> j) & 1u ? -v : v;
}

} // namespace
} // namespace fmt
} // namespace ggufx
