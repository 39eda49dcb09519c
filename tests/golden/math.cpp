// The library's exp, log, pow, sin and cos: error against the system's long double functions, and a
// hash of all bits over a fixed grid, which every processor and compiler must reproduce.
// SPDX-License-Identifier: MIT
#include "base/math.hpp"
#include "base/fpenv.hpp"

#include <float.h>
#include <initializer_list>
#include <math.h>
#include <stdio.h>

using namespace ggufx;

namespace {

int failures = 0;

void check(bool ok, const char *what, double figure, double limit) {
    if (ok) return;
    printf("FAIL %s: %.3g, limit %.3g\n", what, figure, limit);
    failures++;
}

// FNV-1a over the bits, low byte first.
struct Hash {
    uint64_t value = 0xcbf29ce484222325u;
    void add(uint64_t bits, int bytes) {
        for (int i = 0; i < bytes; i++) {
            value ^= (bits >> (8 * i)) & 0xffu;
            value *= 0x100000001b3u;
        }
    }
    void add(double x) { add(f64_bits(x), 8); }
    void add(float x) { add(f32_bits(x), 4); }
};

// Fixed points in [low, high): a Weyl sequence, so that no libm and no library generator is used.
struct Grid {
    double low, high;
    uint64_t state = 0;
    double next() {
        state += 0x9e3779b97f4a7c15u;
        return low + (high - low) * (static_cast<double>(state >> 11) * 0x1p-53);
    }
};

constexpr int kPoints = 40000;
Hash hash;

struct Worst {
    double figure = 0;
    void relative(double got, long double want) {
        const double e = static_cast<double>(fabsl((static_cast<long double>(got) - want) / want));
        if (!(e <= figure)) figure = e;
    }
    void absolute(double got, long double want) {
        const double e = static_cast<double>(fabsl(static_cast<long double>(got) - want));
        if (!(e <= figure)) figure = e;
    }
    void below(double limit, const char *what) const {
        printf("%-28s %.3g\n", what, figure);
        check(figure <= limit, what, figure, limit);
    }
};

void test_exp_f32() {
    const struct {
        double low, high;
        const char *name;
    } ranges[] = {{-87, 8, "exp_f32 [-87, 8]"},
                  {-1, 1, "exp_f32 [-1, 1]"},
                  {8, 88.7228, "exp_f32 [8, 88.72]"}};
    for (const auto &range : ranges) {
        Worst worst;
        Grid grid{range.low, range.high};
        for (int i = 0; i < kPoints; i++) {
            const float x = static_cast<float>(grid.next());
            const float y = exp_f32(x);
            worst.relative(static_cast<double>(y), expl(static_cast<long double>(x)));
            hash.add(y);
        }
        worst.below(1.2e-7, range.name);
    }
    check(f32_bits(exp_f32(0.0f)) == 0x3f800000u, "exp_f32(0) is 1", 0, 0);
    check(f32_bits(exp_f32(-87.00001f)) == 0, "exp_f32 below -87 is +0", 0, 0);
    check(f32_bits(exp_f32(-INFINITY)) == 0, "exp_f32(-Inf) is +0", 0, 0);
    check(exp_f32(INFINITY) == INFINITY, "exp_f32(Inf)", 0, 0);
    check(exp_f32(88.73f) == INFINITY, "exp_f32(88.73)", 0, 0);
    check(exp_f32(0x1.62e42ep6f) <= FLT_MAX, "exp_f32 just below overflow", 0, 0);
    check(isnan(exp_f32(NAN)), "exp_f32(NaN)", 0, 0);
}

void test_log() {
    Worst near_one, wide, single;
    Grid a{0.5, 2.0}, b{-1000, 1000};
    for (int i = 0; i < kPoints; i++) {
        const double x = a.next();
        near_one.relative(log_f64(x), logl(static_cast<long double>(x)));
        const double y = ldexp(1.0 + a.next(), static_cast<int>(b.next()));
        wide.relative(log_f64(y), logl(static_cast<long double>(y)));
        const float f = static_cast<float>(x * 100.0);
        single.relative(static_cast<double>(log_f32(f)), logl(static_cast<long double>(f)));
        hash.add(log_f64(x));
        hash.add(log_f64(y));
        hash.add(log_f32(f));
    }
    near_one.below(1.5e-16, "log_f64 [0.5, 2]");
    wide.below(1.5e-16, "log_f64 2^+-1000");
    single.below(6.0e-8, "log_f32 [50, 200]");
    check(log_f64(1.0) == 0.0, "log(1)", 0, 0);
    check(log_f64(0.0) == -HUGE_VAL, "log(0)", 0, 0);
    check(log_f64(HUGE_VAL) == HUGE_VAL, "log(Inf)", 0, 0);
    check(isnan(log_f64(-1.0)) && isnan(log_f64(NAN)), "log(-1), log(NaN)", 0, 0);
    Worst tiny;
    tiny.relative(log_f64(0x1p-1074), logl(0x1p-1074L));
    tiny.relative(log_f64(0x1.8p-1060), logl(0x1.8p-1060L));
    tiny.below(1.5e-16, "log_f64 subnormal");
}

void test_exp_and_pow() {
    Worst e, p, rope;
    Grid a{-700, 700}, base{0.001, 5e6}, power{-20, 20};
    for (int i = 0; i < kPoints; i++) {
        const double x = a.next();
        e.relative(exp_f64(x), expl(static_cast<long double>(x)));
        const double b = base.next(), y = power.next();
        p.relative(pow_f64(b, y), powl(static_cast<long double>(b), static_cast<long double>(y)));
        hash.add(exp_f64(x));
        hash.add(pow_f64(b, y));
    }
    for (const double b : {1e4, 1e5, 5e5, 1e6, 5e6})
        for (int d = 8; d <= 256; d += 8)
            for (int i = 0; i < d; i += 2) {
                const double y = -static_cast<double>(i) / d;
                rope.relative(pow_f64(b, y),
                              powl(static_cast<long double>(b), static_cast<long double>(y)));
                hash.add(pow_f64(b, y));
            }
    e.below(1.5e-16, "exp_f64 [-700, 700]");
    p.below(1.5e-16, "pow_f64");
    rope.below(1.5e-16, "pow_f64, rope frequencies");
    check(exp_f64(0.0) == 1.0 && pow_f64(10000.0, 0.0) == 1.0, "exp(0), pow(b, 0)", 0, 0);
    check(exp_f64(-1000.0) == 0.0 && exp_f64(1000.0) == HUGE_VAL, "exp limits", 0, 0);
    check(pow_f64(1e300, 10.0) == HUGE_VAL && pow_f64(1e300, -10.0) == 0.0, "pow limits", 0, 0);
    check(pow_f64(2.0, 10.0) == 1024.0 && pow_f64(100.0, 0.5) == 10.0, "exact powers", 0, 0);
    check(isnan(pow_f64(-1.0, 2.0)) && isnan(pow_f64(0.0, 2.0)), "pow of b <= 0", 0, 0);
    check(isnan(exp_f64(NAN)) && isnan(pow_f64(2.0, NAN)), "exp and pow of NaN", 0, 0);
}

void test_sin_cos() {
    for (const double limit : {0.8, 7.0, 1048576.0, 2147483648.0}) {
        Worst worst;
        Grid grid{-limit, limit};
        for (int i = 0; i < kPoints; i++) {
            const double x = grid.next();
            const SinCos sc = sin_cos_f64(x);
            worst.absolute(sc.sin, sinl(static_cast<long double>(x)));
            worst.absolute(sc.cos, cosl(static_cast<long double>(x)));
            hash.add(sc.sin);
            hash.add(sc.cos);
        }
        char name[40];
        snprintf(name, sizeof name, "sin, cos to %.0f", limit);
        worst.below(1e-16, name);
    }
    Worst near; // doubles close to multiples of pi/2, a hard case of range reduction
    for (int n = 1; n < 4000; n++) {
        const double x = n * 1.5707963267948966;
        near.absolute(sin_cos_f64(x).sin, sinl(static_cast<long double>(x)));
        near.absolute(sin_cos_f64(x).cos, cosl(static_cast<long double>(x)));
    }
    near.below(1e-16, "sin, cos at n pi/2");
    check(sin_cos_f64(0.0).sin == 0.0 && sin_cos_f64(0.0).cos == 1.0, "sin, cos of 0", 0, 0);
    check(isnan(sin_cos_f64(3e9).sin) && isnan(sin_cos_f64(NAN).cos), "sin beyond 2^31", 0, 0);
}

} // namespace

int main() {
    const CanonicalFp fp;
    test_exp_f32();
    test_log();
    test_exp_and_pow();
    test_sin_cos();
    const uint64_t want = 0xba236e355336ae19u;
    printf("hash 0x%08x%08x\n", static_cast<unsigned>(hash.value >> 32),
           static_cast<unsigned>(hash.value & 0xffffffffu));
    check(hash.value == want, "hash of all bits", 0, 0);
    printf("%s\n", failures ? "FAILED" : "ok");
    return failures != 0;
}
