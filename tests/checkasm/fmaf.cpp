// Tests that the libm's fmaf rounds once, also where the product alone would be rounded, overflow
// or underflow. The scalar reference calls fmaf; a libm whose fmaf rounds twice cannot be used.
// SPDX-License-Identifier: MIT
#include "fmaf.hpp"

#include "base/fpenv.hpp"
#include "data.hpp"

#include <math.h>
#include <stdio.h>

namespace testdata {

using namespace ggufx;

namespace {

struct Case {
    uint32_t a, b, c, want;
};
constexpr Case kCases[] = {
    {0x3f800001, 0x3f800001, 0xbf800002, 0x28800000}, // (1+e)^2 - (1+2e) = e^2 = 2^-46
    {0x3f7fffff, 0x3f7fffff, 0xbf7ffffe, 0x27800000}, // (1-e)^2 - (1-2e) = 2^-48
    {0x7f7fffff, 0x40000000, 0xff7fffff, 0x7f7fffff}, // max * 2 - max = max
    {0x3f800001, 0x3f7fffff, 0xbf800000, 0x337ffffe}, // 1 + 2^-24 - 2^-47 - 1
    {0x1a000001, 0x1a000001, 0x00000000, 0x00000001}, // a bit above 2^-150: up
    {0x1a000000, 0x1a000000, 0x00000000, 0x00000000}, // 2^-150: a tie, to even
    {0x00800000, 0x3f000000, 0x00000001, 0x00400001}, // subnormal result is kept
    {0x4b800000, 0x3f800000, 0x3f7fffff, 0x4b800000}, // 2^24 + (1 - e): down
    {0x4b800000, 0x3f800000, 0x3f800001, 0x4b800001}, // 2^24 + (1 + e): up, rounded once
    {0x4b800001, 0x3f800001, 0x3f800000, 0x4b800003},
    {0x3f800001, 0x3f7ffffe, 0x4b800001, 0x4b800001}, // 2^24 + 2 + (1 - 2^-46): below the tie
};

// a * b + c without fmaf: the product of two f32 is exact in f64. An inexact sum is rounded to odd,
// so that only the rounding to f32 has an effect.
float fma_by_round_to_odd(float a, float b, float c) {
    const double p = static_cast<double>(a) * static_cast<double>(b), d = static_cast<double>(c);
    const volatile double sum = p + d;
    const volatile double of_d = sum - p, of_p = sum - of_d;
    const double error = (p - of_p) + (d - of_d);
    uint64_t bits = f64_bits(sum);
    if (error != 0.0 && (bits & 1u) == 0) {
        const bool away = (error > 0.0) == (sum > 0.0); // the exact sum is larger in magnitude
        bits = away ? bits + 1 : bits - 1;
    }
    return static_cast<float>(f64_from_bits(bits));
}

// Products close to half a unit of c, closer to the tie than f64 can represent: an fmaf in f64
// arithmetic rounds twice.
Case near_tie(Random &r) {
    const uint32_t a = (1u << 23) | r.below(1u << 23);
    const uint64_t quotient = (uint64_t{1} << 47) / a + r.below(2); // a * b is about 2^47
    const uint32_t b = quotient < (1u << 24) ? static_cast<uint32_t>(quotient) : (1u << 24) - 1;
    const uint32_t ea = 110 + r.below(30), eb = 110 + r.below(30), signs = r.below(4);
    const uint32_t ec = ea + eb - 102; // unit of c: about twice the product
    Case c = {};
    c.a = (signs & 1u) << 31 | ea << 23 | (a & 0x7fffffu);
    c.b = eb << 23 | (b & 0x7fffffu);
    c.c = (signs & 2u) << 30 | ec << 23 | r.below(1u << 23);
    return c;
}

// Near cancellation, ties and results down to the subnormals.
Case random_case(Random &r) {
    const auto number = [&](uint32_t exponent) {
        const uint32_t mantissa = r.below(3) ? r.below(1u << 23) : (r.below(2) ? 0x7fffff : 1);
        const uint32_t sign = r.below(2);
        return sign << 31 | exponent << 23 | mantissa;
    };
    const uint32_t ea = 40 + r.below(130), eb = 40 + r.below(130);
    const uint32_t product = ea + eb > 127 ? ea + eb - 127 : 0;
    const uint32_t spread = r.below(60);
    uint32_t ec = product + 30 > spread ? product + 30 - spread : 0;
    if (ec > 253) ec = 253;
    Case c = {};
    c.a = number(ea);
    c.b = number(eb);
    c.c = number(ec);
    return c;
}

bool check(const Case &c, uint32_t want) {
    const volatile float a = f32_from_bits(c.a), b = f32_from_bits(c.b), d = f32_from_bits(c.c);
    const uint32_t got = f32_bits(fmaf(a, b, d));
    if (got == want) return true;
    printf("FAILED fmaf(%08x, %08x, %08x): %08x, expected %08x: this libm cannot be used\n",
           static_cast<unsigned>(c.a), static_cast<unsigned>(c.b), static_cast<unsigned>(c.c),
           static_cast<unsigned>(got), static_cast<unsigned>(want));
    return false;
}

} // namespace

long count_wrong_fmaf(long *n_checked) {
    const CanonicalFp canonical;
    long n_wrong = 0;
    for (const Case &c : kCases) {
        n_wrong += !check(c, c.want);
        ++*n_checked;
    }
    Random random(3);
    for (int i = 0; i < 200000 && n_wrong < 10; i++) {
        const Case c = i % 2 ? near_tie(random) : random_case(random);
        const float want =
            fma_by_round_to_odd(f32_from_bits(c.a), f32_from_bits(c.b), f32_from_bits(c.c));
        n_wrong += !check(c, f32_bits(want));
        ++*n_checked;
    }
    return n_wrong;
}

} // namespace testdata
