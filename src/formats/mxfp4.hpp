// MXFP4: 32 values in 17 bytes; e2m1 codes times one power of two.
// Codes are doubled and d halved: both stay exact, e = 0 and 1 are f32 subnormals.
// Verified by the golden vectors deq/mxfp4, made with ggml (tests/golden/MANIFEST).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/grids/grids.hpp"
#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct MXFP4 : BlockFormat<32, 32> {
    struct Block {
        uint8_t e;
        uint8_t qs[16];
    };
    static constexpr Field code_at(unsigned i) { return {nibble32(offsetof(Block, qs), i)}; }
    static constexpr Field scale_at(unsigned) { return byte(offsetof(Block, e), 0); }
    static int code(const Block &b, unsigned i) { return kCodesFp4[read(b, code_at(i))]; }
    static float d(const Block &b, unsigned = 0) { return e8m0_half_to_f32(b.e); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
