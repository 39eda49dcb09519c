// IQ4_NL: 32 values in 18 bytes; 4-bit indices into a codebook of 16 times one f16 scale.
// Verified by the golden vectors deq/iq4_nl, made with ggml (tests/golden/MANIFEST).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/grids/grids.hpp"
#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct IQ4_NL : BlockFormat<32, 32> {
    struct Block {
        uint8_t d[2];
        uint8_t qs[16];
    };
    static constexpr Field code_at(unsigned i) { return {nibble32(offsetof(Block, qs), i)}; }
    static int code(const Block &b, unsigned i) { return kCodesIq4[read(b, code_at(i))]; }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
