// Replaces fmaf of mingw-w64, which rounds twice (its long double has 64 bits, a product and a sum
// need more). Bit-identical results need a single rounding. The replacement serves the library and
// programs that link the archive.
// SPDX-License-Identifier: MIT
#include "base/bytes.hpp"

#include <math.h>

// The product of two floats is exact in double. If the sum is inexact, its last bit is made odd
// (round to odd). Then the rounding to float, which sees two bits more than it keeps, is the only
// one that counts.
float fmaf(float a, float b, float c) {
    const double p = static_cast<double>(a) * static_cast<double>(b), d = static_cast<double>(c);
    const double sum = p + d;
    if (!(sum - sum == 0.0)) return static_cast<float>(sum); // infinities, NaN
    const double of_d = sum - p;
    const double error = (p - (sum - of_d)) + (d - of_d);
    uint64_t bits = ggufx::f64_bits(sum);
    if (error != 0.0 && (bits & 1) == 0) bits += (error > 0.0) == (sum > 0.0) ? 1u : ~uint64_t{0};
    return static_cast<float>(ggufx::f64_from_bits(bits));
}
