// C++ environment for lanes/ on the processor, for tests and simulated devices.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"

#include <math.h>

#ifndef FMA_VARIANT
#define FMA_VARIANT FMA_DEVICE
#endif
#define LANE [[gnu::unused]] static inline
#define CONSTANT static constexpr
#define UNROLL
#define LANES_F64

namespace ggufx::lanes {
namespace {

#include "plugins/lanes/cpp.inc"

LANE uint as_uint(float f) {
    return f32_bits(f);
}
LANE float as_float(uint u) {
    return f32_from_bits(u);
}
LANE float fma_device(float a, float b, float c) {
    return fmaf(a, b, c);
}
LANE int dot4(uint a, uint b, int t) {
    uint sum = static_cast<uint>(t); // wraps
    for (uint i = 0; i < 32; i += 8) {
        const int product = static_cast<int8_t>(a >> i & 255u) * static_cast<int8_t>(b >> i & 255u);
        sum += static_cast<uint>(product);
    }
    return static_cast<int>(sum);
}
LANE double mul2(double a, double b) {
    return a * b;
}
LANE double add2(double a, double b) {
    return a + b;
}
LANE double sub2(double a, double b) {
    return a - b;
}
// Rounds s to odd: returns s, or its neighbour with an odd last bit if the exact sum is s + lost.
LANE float f32_of_odd(double s, double lost) {
    uint64_t bits = f64_bits(s);
    const bool finite = (bits >> 52 & 2047) != 2047;
    if (finite && lost != 0 && (bits & 1) == 0) bits += (lost > 0) == (s > 0) ? 1 : UINT64_MAX;
    return static_cast<float>(f64_from_bits(bits));
}

LANE uint half_at(Place p) {
    return load_u16le(p);
}
LANE uint word_at(Place p) {
    return load_u32le(p);
}
LANE Words words4_at(Place p) {
    return {{word_at(p), word_at(p + 4), word_at(p + 8), word_at(p + 12), 0, 0, 0, 0}};
}
LANE Words words8_at(Place p) {
    Words v;
    for (uint i = 0; i < 8; i++) v.w[i] = word_at(p + 4 * i);
    return v;
}
LANE uint book_word(Codebook book, uint i) {
    return word_at(book + 4 * i);
}

} // namespace
} // namespace ggufx::lanes

#include "plugins/lanes/formats.hpp"
