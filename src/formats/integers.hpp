// I8, I16, I32, I64: one value per "block", little-endian, decoded as the number it is.
// I32 beyond 2^24 and I64 round to the nearest f32 (ties to even).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct I8 : ValueFormat {
    struct Block {
        uint8_t v[1];
    };
    static float value(const Block &b) { return static_cast<float>(load_i8(b.v)); }
};

struct I16 : ValueFormat {
    struct Block {
        uint8_t v[2];
    };
    static float value(const Block &b) { return static_cast<float>(load_i16le(b.v)); }
};

struct I32 : ValueFormat {
    struct Block {
        uint8_t v[4];
    };
    static float value(const Block &b) { return static_cast<float>(load_i32le(b.v)); }
};

struct I64 : ValueFormat {
    struct Block {
        uint8_t v[8];
    };
    static float value(const Block &b) { return static_cast<float>(load_i64le(b.v)); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
