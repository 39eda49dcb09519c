// NVFP4: 64 values in 36 bytes; 4 groups of 16 e2m1 codes, each with its own UE4M3 scale.
// Codes are doubled and d halved. A tensor-wide f32 scale, if any, is a separate tensor.
// Verified by the golden vectors deq/nvfp4, made with ggml (tests/golden/MANIFEST).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/grids/grids.hpp"
#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct NVFP4 : BlockFormat<64, 16> {
    struct Block {
        uint8_t d[4];
        uint8_t qs[32]; // 8 bytes per group: low nibbles values 0..7, high nibbles 8..15
    };
    static constexpr Field code_at(unsigned i) {
        return {{offsetof(Block, qs) + 8 * (i / 16) + i % 8, 4 * (i / 8 % 2), 4}};
    }
    static constexpr Field scale_at(unsigned g) { return byte(offsetof(Block, d), g); } // UE4M3
    static int code(const Block &b, unsigned i) { return kCodesFp4[read(b, code_at(i))]; }
    static float d(const Block &b, unsigned g) { return ue4m3_half_to_f32(b.d[g]); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
