// Compares every row function of every instruction set with the scalar reference: bit-identical
// results for any length, alignment and value. No access outside the operands, and inputs stay
// unchanged.
//
//     checkasm_rows            the check
//     checkasm_rows --bench    times instead, a table for tests/bench
//     checkasm_rows --bits     rows_bits.hpp instead
// SPDX-License-Identifier: MIT
#include "base/cpu.hpp"
#include "base/fpenv.hpp"
#include "kernels/dispatch.hpp"
#include "rows_bits.hpp"
#include "rows_cases.hpp"
#include "rows_text.hpp"

#include <chrono>
#include <stdio.h>
#include <string.h>

namespace {

using namespace ggufx;
using namespace ggufx::kernels;
using namespace rowsteps;
using testdata::Random;

long n_checked, n_failed;

enum class Fill {
    plain,
    bounds,
    special,  // as in data.hpp
    steep,    // -100 .. 100, where activations saturate, overflow and underflow
    below,    // -100 .. 0 with a 0: subtracting the maximum in a softmax changes nothing
    one_sign, // sums that do not cancel; small values underflow but keep the sign
    bits,     // any float
};
constexpr Fill kFills[] = {Fill::plain, Fill::bounds,   Fill::special, Fill::steep,
                           Fill::below, Fill::one_sign, Fill::bits};

// Thresholds of the row functions, and neighbouring values.
float edge(Random &random) {
    constexpr uint32_t kEdges[] = {0x42b17217, 0x42ae0000, 0x40e00000, 0x7f800000,
                                   0x7fc00000, 0x7f7fffff, 0x00000000, 0x00000001};
    const uint32_t at = random.below(sizeof kEdges / sizeof kEdges[0]);
    return f32_from_bits((kEdges[at] + (at < 3 ? random.below(3) - 1 : 0)) | random.below(2) << 31);
}

void fill_below(float *to, size_t n, Random &random) {
    for (size_t i = 0; i < n; i++)
        to[i] = -__builtin_fabsf(random.below(16) ? random.unit() * 100.0f : edge(random));
    if (n) to[random.below(static_cast<uint32_t>(n))] = 0.0f;
}

void fill_one_sign(float *to, size_t n, Random &random) {
    const float size = (random.below(2) ? 0x1p-80f : 1.0f) * (random.below(2) ? -1.0f : 1.0f);
    for (size_t i = 0; i < n; i++) to[i] = size * (__builtin_fabsf(random.unit()) + 0.5f);
}

void fill(float *to, size_t n, Fill kind, Random &random) {
    if (kind <= Fill::special)
        return testdata::fill_values(to, n, testdata::kAllValues[int(kind)], random);
    if (kind == Fill::below) return fill_below(to, n, random);
    if (kind == Fill::one_sign) return fill_one_sign(to, n, random);
    const bool edges = random.below(2) != 0; // one value of 16, or none
    for (size_t i = 0; i < n; i++) {
        to[i] = kind == Fill::bits ? f32_from_bits(static_cast<uint32_t>(random.next()))
                                   : random.unit() * 100.0f;
        if (edges && random.below(16) == 0) to[i] = edge(random);
    }
}

Numbers numbers(Random &random) {
    constexpr float kEps[] = {1e-5f, 1e-6f, 1e-12f, 0.0f, 1.0f};
    const auto factor = [&random] { return random.below(8) ? random.unit() * 4.0f : edge(random); };
    Numbers c;
    c.s = factor();
    c.eps = kEps[random.below(5)];
    c.delta.decay = factor();
    c.delta.beta = factor();
    c.delta.scale = factor();
    c.n_taps = random.below(kConvTaps + 1);
    return c;
}

void report(bool ok, const Kernels &isa, const Case &c, Shape shape, int kind, const char *what) {
    n_checked++;
    if (!ok && n_failed++ < 20)
        printf("FAILED %s %s, %zu values, %zu rows, fill %d: %s\n", isa.name, c.name, shape.n,
               shape.rows, kind, what);
}

// Memory of one length: inputs, expected and computed results.
class Checker {
public:
    explicit Checker(Shape shape) : given_(shape), want_(shape), got_(shape) {}

    void check(const Kernels *const *sets, size_t n_sets, Fill kind, Random &random) {
        for (unsigned i = 0; i < kVectors; i++)
            fill(given_.at(i), given_.shape().count(i), kind, random);
        const Numbers c = numbers(random);
        for (size_t i = 0; i < kCaseCount; i++) {
            want_.copy(given_);
            run(*sets[0], kCases[i], c, want_);
            report(kept(kCases[i]), *sets[0], kCases[i], given_.shape(), int(kind), "inputs");
            for (size_t s = 1; s < n_sets; s++) {
                got_.copy(given_);
                run(*sets[s], kCases[i], c, got_);
                report(same(), *sets[s], kCases[i], given_.shape(), int(kind), "bits");
            }
        }
    }

private:
    static void run(const Kernels &isa, const Case &c, const Numbers &numbers, const Memory &m) {
        const CanonicalFp canonical;
        c.run(*rows_of(isa), m, numbers);
    }
    bool kept(const Case &c) const {
        for (unsigned i = 0; i < kVectors; i++)
            if (!(c.writes >> i & 1) && !want_.equal(given_, i)) return false;
        return true;
    }
    bool same() const {
        for (unsigned i = 0; i < kVectors; i++)
            if (!got_.equal(want_, i)) return false;
        return true;
    }

    Memory given_, want_, got_;
};

void check_all(const Kernels *const *sets, size_t n_sets) {
    Random random(29);
    for (size_t n = 0; n <= 200; n++) {
        Checker checker({n, n % 10});
        for (const Fill kind : kFills)
            for (int i = 0; i < 3; i++) checker.check(sets, n_sets, kind, random);
    }
    for (size_t rows = 0; rows < 8; rows++) { // heads that stay in registers
        Checker checker({128, rows});
        for (const Fill kind : kFills) checker.check(sets, n_sets, kind, random);
    }
    for (const size_t n : {256u, 511u, 1000u, 1025u, 2048u, 4099u}) {
        Checker checker({n, 5});
        for (const Fill kind : kFills) checker.check(sets, n_sets, kind, random);
    }
}

// ---- bits -------------------------------------------------------------------------------------

// Returns FNV-1a over the output bits of a case, for lengths with and without partial registers.
uint64_t hash_of(const RowKernels &scalar, const Case &c) {
    uint64_t h = 0xcbf29ce484222325u;
    Random random(41);
    for (const size_t n : {7u, 64u, 150u}) {
        const Memory m({n, 6});
        for (const Fill kind : kFills) {
            for (unsigned v = 0; v < kVectors; v++) fill(m.at(v), m.shape().count(v), kind, random);
            const Numbers all = numbers(random);
            const CanonicalFp canonical;
            c.run(scalar, m, all);
            for (unsigned v = 0; v < kVectors; v++)
                for (size_t i = 0; c.writes >> v & 1 && i < m.shape().count(v); i++)
                    h = (h ^ f32_bits(m.at(v)[i])) * 0x100000001b3u;
        }
    }
    return h;
}

void check_bits(const Kernels &scalar) {
    static_assert(sizeof kBits / sizeof kBits[0] == kCaseCount);
    for (size_t i = 0; i < kCaseCount; i++)
        report(hash_of(*rows_of(scalar), kCases[i]) == kBits[i], scalar, kCases[i], {0, 0}, 0,
               "not the bits of rows_bits.hpp");
}

void print_bits(const Kernels &scalar) {
    printf("// Hashes of what the scalar text gives for each case, on every host (rows.cpp). They\n"
           "// change only together with a CHANGELOG line `bits:`.\n"
           "// SPDX-License-Identifier: MIT\n#pragma once\n\n#include <stdint.h>\n\n"
           "namespace rowsteps {\n\nconstexpr uint64_t kBits[] = {\n");
    for (size_t i = 0; i < kCaseCount; i++)
        printf("    0x%016llx, // %s\n",
               static_cast<unsigned long long>(hash_of(*rows_of(scalar), kCases[i])),
               kCases[i].name);
    printf("};\n\n} // namespace rowsteps\n");
}

// ---- times ------------------------------------------------------------------------------------

template <class F> double best_ns(const F &f) {
    using Clock = std::chrono::steady_clock;
    double best = 1e9;
    for (int round = 0; round < 200; round++) {
        const auto begin = Clock::now();
        for (int i = 0; i < 8; i++) f();
        const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
        best = took.count() / 8 < best ? took.count() / 8 : best;
    }
    return best;
}

// Returns ns per 4,096 values. In-place operands are restored before each run; that time is
// subtracted.
double time_of(const Kernels &isa, const Case &c, const Memory &given, Memory &m) {
    const bool in_place = c.writes >> kY & 1;
    const Numbers numbers = {0.5f, 1e-6f, {0.5f, 0.5f, 0.5f}, 4};
    m.copy(given);
    const CanonicalFp canonical;
    const double whole = best_ns([&] {
        if (in_place) m.copy(given, kY);
        c.run(*rows_of(isa), m, numbers);
    });
    const double copy = in_place ? best_ns([&] { m.copy(given, kY); }) : 0.0;
    const Shape shape = given.shape();
    return (whole - copy) * 4096 / static_cast<double>(in_place ? shape.n : shape.n * shape.rows);
}

void print_times(const Kernels *const *sets, size_t n_sets) {
    printf("| ns per 4,096 values |");
    for (size_t s = 0; s < n_sets; s++) printf(" %s |", sets[s]->name);
    printf("\n|---|");
    for (size_t s = 0; s < n_sets; s++) printf("---:|");
    for (size_t i = 0; i < kCaseCount; i++) {
        if (!kCases[i].timed) continue;
        const bool of_state = kCases[i].writes >> kState & 1;
        const Shape shape = of_state ? Shape{128, 128} : Shape{4096, 1};
        Memory given(shape), m(shape);
        Random random(31);
        for (unsigned v = 0; v < kVectors; v++) {
            float *const to = given.at(v);
            for (size_t j = 0; j < shape.count(v); j++) to[j] = random.unit();
        }
        printf("\n| %s |", kCases[i].name);
        for (size_t s = 0; s < n_sets; s++)
            printf(" %.0f |", time_of(*sets[s], kCases[i], given, m));
    }
    printf("\n");
}

} // namespace

int main(int argc, char **argv) {
    const char *const what = argc == 2 ? argv[1] : "";
    const bool bench = strcmp(what, "--bench") == 0, bits = strcmp(what, "--bits") == 0;
    if (argc > 1 && !bench && !bits) {
        fprintf(stderr, "usage: checkasm_rows [--bench | --bits]\n");
        return 2;
    }
    const Kernels *sets[16];
    const size_t n = list(sets, 16, cpu::features());
    if (bench) print_times(sets, n);
    if (bits) print_bits(*sets[0]);
    if (bench || bits) return 0;
    check_all(sets, n);
    check_bits(*sets[0]);
    n_failed += check_text(*rows_of(*sets[0]), &n_checked);
    printf("%ld checks over %zu instruction sets, %ld failed\n", n_checked, n, n_failed);
    return n_failed != 0;
}
