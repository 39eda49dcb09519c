// The attention kernels of every instruction set against scalar: equal bits (any NaN equals any
// NaN: a score that is not finite is found by its magnitude), nothing read outside.
// SPDX-License-Identifier: MIT
#include "base/cpu.hpp"
#include "base/fpenv.hpp"
#include "data.hpp"
#include "kernels/dispatch.hpp"

#include <stdio.h>
#include <string.h>

namespace {

using namespace ggufx;
using namespace ggufx::kernels;
using namespace testdata;

long n_checked, n_failed;

bool same(const float *a, const float *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const uint32_t x = f32_bits(a[i]), y = f32_bits(b[i]);
        const bool nan = (x & 0x7fffffffu) > 0x7f800000u && (y & 0x7fffffffu) > 0x7f800000u;
        if (x != y && !nan) return false;
    }
    return true;
}

void report(const Kernels &kernels, const char *what, size_t n, bool ok) {
    n_checked++;
    if (!ok && n_failed++ < 20) printf("FAILED %s %s, %zu values\n", kernels.name, what, n);
}

void check_score(const Kernels &kernels, const Kernels &scalar, size_t width, Values values,
                 Random &random) {
    const Guarded q(width * sizeof(float)), row(width * kKvKeys * sizeof(float));
    fill_values(q.floats(), width, values, random);
    fill_values(row.floats(), width * kKvKeys, values, random);
    const float *keys[kKvKeys];
    for (size_t t = 0; t < kKvKeys; t++) keys[t] = row.floats() + (kKvKeys - 1 - t) * width;
    float got[2 * kKvKeys], want[2 * kKvKeys];
    fill_values(got, 2 * kKvKeys, Values::plain, random);
    memcpy(want, got, sizeof got);
    const CanonicalFp canonical;
    kv_of(kernels)->score(got, got + kKvKeys, q.floats(), keys, width);
    kv_of(scalar)->score(want, want + kKvKeys, q.floats(), keys, width);
    report(kernels, "score", width, same(got, want, 2 * kKvKeys));
}

void check_accumulate(const Kernels &kernels, const Kernels &scalar, size_t n, Values values,
                      Random &random) {
    const Guarded value(n * sizeof(float)), got(n * sizeof(float)), want(n * sizeof(float));
    fill_values(value.floats(), n, values, random);
    fill_values(got.floats(), n, values, random);
    memcpy(want.floats(), got.floats(), n * sizeof(float));
    const float p = random.unit();
    const CanonicalFp canonical;
    kv_of(kernels)->accumulate(got.floats(), p, value.floats(), n);
    kv_of(scalar)->accumulate(want.floats(), p, value.floats(), n);
    report(kernels, "accumulate", n, same(got.floats(), want.floats(), n));
}

} // namespace

int main() {
    const Kernels *all[16];
    const size_t n = list(all, 16, cpu::features());
    Random random(1);
    for (size_t i = 0; i < n; i++) {
        for (const Values values : kAllValues) {
            for (size_t width = 1; width <= 130; width++) {
                check_score(*all[i], *all[0], width, values, random);
                check_accumulate(*all[i], *all[0], width, values, random);
            }
        }
    }
    printf("%ld checks over %zu instruction sets, %ld failed\n", n_checked, n, n_failed);
    return n_failed != 0;
}
