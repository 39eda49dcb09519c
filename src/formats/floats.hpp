// F32, F16, BF16, F64: one value per "block", little-endian.
// F64 rounds to the nearest f32 (overflow becomes Inf); the others are exact.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct F32 : ValueFormat {
    struct Block {
        uint8_t v[4];
    };
    static float value(const Block &b) { return load_f32le(b.v); }
};

struct F16 : ValueFormat {
    struct Block {
        uint8_t v[2];
    };
    static float value(const Block &b) { return load_f16(b.v); }
};

struct BF16 : ValueFormat {
    struct Block {
        uint8_t v[2];
    };
    static float value(const Block &b) { return bf16_to_f32(load_u16le(b.v)); }
};

struct F64 : ValueFormat {
    struct Block {
        uint8_t v[8];
    };
    static float value(const Block &b) { return static_cast<float>(load_f64le(b.v)); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
