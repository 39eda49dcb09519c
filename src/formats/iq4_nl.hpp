// IQ4_NL: 32 values in 18 bytes; 4-bit indices into a codebook of 16 times one f16 scale.
// Layout source: format notes section 5 + golden vectors deq/iq4_nl.
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
    static int code(const Block &b, unsigned i) { return kCodesIq4[nibble(b.qs, i)]; }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
