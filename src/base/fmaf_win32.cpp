// The fmaf of mingw-w64 rounds twice (its long double has 64 bits, a product and a sum need more),
// and every bit of a result rests on one rounding. This one takes its place in the library and in
// programs that link the archive.
// SPDX-License-Identifier: MIT
#include "base/bytes.hpp"

#include <math.h>

// A product of two floats is exact in double. Where the sum is not, its last bit is made odd: then
// the rounding to float, which sees two bits more than it keeps, is the only one that counts.
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
