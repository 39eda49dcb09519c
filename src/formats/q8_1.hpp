// Q8_1: activations, 32 values in 36 bytes; int8 codes times a f16 scale, and the f16 sum s = d *
// (sum of the codes), which dequantization does not need. Verified by the golden vectors xq/*/q8_1,
// made with ggml (tests/golden).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct Q8_1 : BlockFormat<32, 32> {
    struct Block {
        uint8_t d[2], s[2];
        uint8_t qs[32];
    };
    static int code(const Block &b, unsigned i) { return load_i8(b.qs + i); }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
