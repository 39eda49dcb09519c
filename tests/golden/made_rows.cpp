// SPDX-License-Identifier: MIT
#include "made_rows.hpp"

#include "../checkasm/data.hpp"

#include <math.h>

namespace golden {

namespace {

constexpr size_t kColumns = 768, kRows = 6;

// Returns the sum of twelve uniform numbers; multiples of 2^-20, so every sum is exact.
float bell(testdata::Random &random) {
    float sum = 0;
    for (int i = 0; i < 12; i++) sum += random.unit();
    return sum * 0.01f;
}

float heavy(testdata::Random &random) {
    const float u = random.unit(), v = 1.0f / 64 + fabsf(random.unit());
    return u / v * 0.01f;
}

// Returns multiples of half a code step: many are halfway between two codes.
float tie(testdata::Random &random, size_t i) {
    static constexpr float kLargest[] = {127, 15, 7, 31, 63, 8};
    if (i % 32 == 0) return kLargest[i / kColumns % 6];
    return 0.5f * static_cast<float>(random.below(17)) - 4.0f;
}

float edge(testdata::Random &random, size_t row, size_t column) {
    const float u = random.unit();
    switch (row) {
    case 0:
        return column < kColumns / 2 ? 0.0f : -0.0f;
    case 1:
        return column % 256 == 77 ? 1000.0f : 1e-3f * u;
    case 2:
        return u * 1e-30f;
    case 3:
        return column % 64 < 32 ? 0.25f : -0.25f;
    case 4:
        return column % 32 == 31 ? -30000.0f : 100.0f * u;
    default:
        return static_cast<float>(column % 64) * 0.125f;
    }
}

} // namespace

std::vector<Rows> made_rows() {
    std::vector<Rows> out;
    testdata::Random random(20);
    for (const char *name : {"bell", "heavy", "ties", "edge"}) {
        Rows rows = {name, kColumns, {}, {}};
        for (size_t i = 0; i < kRows * kColumns; i++) {
            const float value = name[0] == 'b'   ? bell(random)
                                : name[0] == 'h' ? heavy(random)
                                : name[0] == 't' ? tie(random, i)
                                                 : edge(random, i / kColumns, i % kColumns);
            rows.x.push_back(value);
        }
        for (size_t i = 0; i < kColumns; i++) {
            const float u = random.unit();
            rows.imatrix.push_back(name[0] == 'e' && i % 7 == 0 ? 0.0f : u * u + 0.001f);
        }
        out.push_back(rows);
    }
    return out;
}

} // namespace golden
