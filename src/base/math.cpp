// log, exp, pow, sin and cos in binary64 from their series, with the leading terms in
// double-double. Constants: 1/n! and 1/(2n+1) by division, pi/2 and ln 2 split into parts with
// trailing zeros.
// SPDX-License-Identifier: MIT
#include "base/math.hpp"

namespace ggufx {

namespace {

constexpr double kNan = __builtin_nan("");
constexpr double kInfinity = __builtin_inf();
constexpr double kLn2High = 0x1.62e42fefp-1; // 33 bits: exact times |k| < 2^12
constexpr double kLn2Low = 0x1.473de6af278edp-34;

// Double-double hi + lo, |lo| at most half an ulp of hi.
struct Pair {
    double hi, lo;
};

Pair two_sum(double a, double b) {
    const double s = a + b;
    const double t = s - a;
    return {s, (a - (s - t)) + (b - t)};
}

// Splits a into halves of 26 bits, whose products are exact (|a| < 2^990).
Pair split(double a) {
    const double c = 0x1.0000002p27 * a; // 2^27 + 1
    const double hi = c - (c - a);
    return {hi, a - hi};
}

Pair two_product(double a, double b) {
    const double p = a * b;
    const Pair x = split(a), y = split(b);
    return {p, ((x.hi * y.hi - p) + x.hi * y.lo + x.lo * y.hi) + x.lo * y.lo};
}

// Rounds |v| < 2^51 to the nearest integer, ties to even.
double round_even(double v) {
    const double magic = 0x1.8p52;
    return (v + magic) - magic;
}

double power_of_two(int32_t n) { // -1022 <= n <= 1023
    return f64_from_bits(static_cast<uint64_t>(n + 1023) << 52);
}

// x = 2^k m, m in [sqrt 1/2, sqrt 2): log x = k ln 2 + 2 atanh(s), s = (m - 1) / (m + 1).
// x positive and finite; error about 2^-60 of the result.
Pair log_pair(double x) {
    int32_t k = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        k = -54;
    }
    const uint64_t bits = f64_bits(x);
    k += static_cast<int32_t>(bits >> 52) - 1023;
    double m = f64_from_bits((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
    if (m > 0x1.6a09e667f3bcdp0) {
        m *= 0.5;
        k++;
    }
    const double f = m - 1.0; // exact
    const Pair den = two_sum(2.0, f);
    const double s = f / den.hi;
    const Pair back = two_product(s, den.hi);
    const double s_low = (((f - back.hi) - back.lo) - s * den.lo) / den.hi;
    const double z = s * s; // <= 0.0295: terms up to z^12 leave 2^-66
    double t = 1.0 / 25.0;
    for (int32_t i = 23; i >= 3; i -= 2) t = t * z + 1.0 / static_cast<double>(i);
    const Pair sum = two_sum(k * kLn2High, 2.0 * s);
    const double low = sum.lo + (k * kLn2Low + 2.0 * (s_low + s * (z * t)));
    return two_sum(sum.hi, low);
}

// exp(x + low), |low| far below |x|; Taylor to r^14, |r| <= 0.3466, leaves 2^-63.
double exp_pair(double x, double low) {
    if (x > 709.8) return kInfinity;
    if (x < -745.2) return 0.0;
    if (x != x) return kNan;
    const double n = round_even(x * 0x1.71547652b82fep0);
    const auto [r, r_low] = two_sum(x - n * kLn2High, low - n * kLn2Low);
    static constexpr double kInverseFactorial[] = {
        1.0 / 2.0,       1.0 / 6.0,        1.0 / 24.0,        1.0 / 120.0,     1.0 / 720.0,
        1.0 / 5040.0,    1.0 / 40320.0,    1.0 / 362880.0,    1.0 / 3628800.0, 1.0 / 39916800.0,
        1.0 / 479001600, 1.0 / 6227020800, 1.0 / 87178291200,
    };
    double p = kInverseFactorial[12];
    for (int32_t i = 11; i >= 0; i--) p = p * r + kInverseFactorial[i];
    const double value = 1.0 + (r + (r * r * p + r_low * (1.0 + r)));
    const int32_t exponent = static_cast<int32_t>(n);
    const int32_t half = exponent / 2;
    return value * power_of_two(half) * power_of_two(exponent - half);
}

// pi/2 in three parts of at most 22 bits, whose products with |n| < 2^31 are exact, and the rest.
constexpr double kHalfPi[4] = {0x1.921fbp0, 0x1.5110bp-22, 0x1.184698p-44, 0x1.3198a2e037073p-69};

// sin of hi + lo, |hi| <= pi/4 + a little: Taylor to r^17 leaves 8e-20.
double sin_small(double hi, double lo) {
    const double z = hi * hi;
    double p = 1.0 / 355687428096000.0;
    p = p * z - 1.0 / 1307674368000.0;
    p = p * z + 1.0 / 6227020800.0;
    p = p * z - 1.0 / 39916800.0;
    p = p * z + 1.0 / 362880.0;
    p = p * z - 1.0 / 5040.0;
    p = p * z + 1.0 / 120.0;
    p = p * z - 1.0 / 6.0;
    return hi + (hi * z * p + lo * (1.0 - 0.5 * z));
}

// cos of the same: Taylor to r^18.
double cos_small(double hi, double lo) {
    const double z = hi * hi;
    double p = -1.0 / 6402373705728000.0;
    p = p * z + 1.0 / 20922789888000.0;
    p = p * z - 1.0 / 87178291200.0;
    p = p * z + 1.0 / 479001600.0;
    p = p * z - 1.0 / 3628800.0;
    p = p * z + 1.0 / 40320.0;
    p = p * z - 1.0 / 720.0;
    p = p * z + 1.0 / 24.0;
    const double half = 0.5 * z, w = 1.0 - half;
    return w + (((1.0 - w) - half) + (z * z * p - hi * lo));
}

} // namespace

double log_f64(double x) {
    if (x != x || x < 0.0) return kNan;
    if (x == 0.0) return -kInfinity;
    if (x == kInfinity) return x;
    return log_pair(x).hi;
}

double exp_f64(double x) {
    return exp_pair(x, 0.0);
}

double pow_f64(double b, double y) {
    if (!(b > 0.0) || b == kInfinity || y != y) return kNan;
    if (y == 0.0 || b == 1.0) return 1.0;
    const Pair log_b = log_pair(b);
    const double rough = log_b.hi * y;
    if (rough > 710.0 || rough < -746.0) return exp_pair(rough, 0.0);
    const Pair p = two_product(log_b.hi, y);
    return exp_pair(p.hi, p.lo + log_b.lo * y);
}

float log_f32(float x) {
    return static_cast<float>(log_f64(static_cast<double>(x)));
}

SinCos sin_cos_f64(double x) {
    if (!(x >= -0x1p31 && x <= 0x1p31)) return {kNan, kNan};
    const double n = round_even(x * 0x1.45f306dc9c883p-1);
    const double a = (x - n * kHalfPi[0]) - n * kHalfPi[1]; // both exact
    const Pair b = two_sum(a, -(n * kHalfPi[2]));
    const Pair r = two_sum(b.hi, b.lo - n * kHalfPi[3]);
    const double s = sin_small(r.hi, r.lo), c = cos_small(r.hi, r.lo);
    switch (static_cast<int64_t>(n) & 3) {
    case 0:
        return {s, c};
    case 1:
        return {c, -s};
    case 2:
        return {-s, -c};
    default:
        return {-c, s};
    }
}

} // namespace ggufx
