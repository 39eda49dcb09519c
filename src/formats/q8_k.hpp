// Q8_K: activations, 256 values in 292 bytes; int8 codes times one f32 scale, then 16 sums of 16
// codes as i16, which dequantization does not need. Verified by the golden vectors xq/*/q8_K, made
// with ggml (tests/golden).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct Q8_K : BlockFormat<256, 32> {
    struct Block {
        uint8_t d[4];
        uint8_t qs[256];
        uint8_t bsums[32];
    };
    static int code(const Block &b, unsigned i) { return load_i8(b.qs + i); }
    static float d(const Block &b, unsigned = 0) { return load_f32le(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
