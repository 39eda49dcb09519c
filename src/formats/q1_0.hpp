// Q1_0: 128 values in 18 bytes; one sign bit per value (set = +) and one f16 scale.
// Layout source: format notes section 3 + golden vectors deq/q1_0.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct Q1_0 : BlockFormat<128, 32> {
    struct Block {
        uint8_t d[2];
        uint8_t qs[16];
    };
    static int code(const Block &b, unsigned i) { return 2 * ((b.qs[i / 8] >> (i % 8)) & 1) - 1; }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
