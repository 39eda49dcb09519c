// Exponent of MXFP4 blocks as in the reference.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/half.hpp"

#include <stdint.h>

namespace ggufx::fmt {
namespace {

// Returns floor(log2(v)) as the reference computes it: the logarithm is rounded to f32 first, so
// that the last few floats below a power of two reach it. With v = (1 - n * 2^-24) * 2^k the
// distance is n * 2^-24 / ln 2. It is lost if it is below half the spacing of floats under k,
// 2^(q-24) where |k| (just below k) has the exponent q: n <= ln 2 * 2^q.
inline int floor_log2(float v) {
    constexpr int kMost[8] = {0, 1, 2, 5, 11, 22, 44, 88}; // floor(ln 2 * 2^q)
    uint32_t bits = f32_bits(v);
    int shift = 0;
    if (bits < 0x00800000u) { // subnormal
        while (bits << shift < 0x00800000u) shift++;
        bits = (bits << shift & 0x007fffffu) | 0x00800000u;
    }
    const int floor = static_cast<int>(bits >> 23) - 127 - shift;
    const int n = 0x00800000 - static_cast<int>(bits & 0x007fffffu);
    const int k = floor + 1;
    // Floats between 0 and 1, and just below 0, are dense enough.
    if (k == 0 || k == 1) return floor;
    const int most = k > 0 ? k - 1 : -k; // integer part of |log2 v|
    int q = 0;
    while (most >> (q + 1)) q++;
    return n <= kMost[q] ? k : floor;
}

// Returns the E8M0 byte of an MXFP4 block whose largest magnitude is `most`. Below 2^-125 the
// reference converts a negative number to a byte, which C leaves undefined; x86 takes its low byte.
// For [2^-126, 2^-125) that byte is 255, a NaN. Here it is 0, the smallest scale, whose levels
// cover these values.
inline uint8_t mxfp4_exponent(float most) {
    const int e = most > 0.0f ? floor_log2(most) - 2 + 127 : 0;
    return static_cast<uint8_t>(e == -1 ? 0 : e & 255);
}

} // namespace
} // namespace ggufx::fmt
