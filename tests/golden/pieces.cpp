// Building blocks of kernels. Integer codes, scales and minimums reach exactly the bounds of the
// scalar reference; combined in double they give the dequantized value.
// SPDX-License-Identifier: MIT
#include "formats/all.hpp"
#include "golden.hpp"

#include <algorithm>
#include <math.h>
#include <stdlib.h>
#include <string.h>

namespace golden {

using namespace ggufx;

namespace {

struct Extremes {
    int code = 0, scale = 0, min = 0; // largest magnitudes seen
    int code_low = 0;
};

// Returns a value before its only rounding; products and sums of these sizes are exact in double.
template <class F> double exact_value(const typename F::Block &b, unsigned i) {
    const unsigned g = i / F::kGroup;
    double y = static_cast<double>(F::d(b, g)) * F::scale(b, g) * F::code(b, i);
    if constexpr (F::kMins == fmt::Mins::kFloat) y += static_cast<double>(F::m(b));
    if constexpr (F::kMins == fmt::Mins::kInteger)
        y -= static_cast<double>(F::dmin(b)) * F::min(b, g);
    return y;
}

template <class F> void see_block(Report &r, const char *name, const uint8_t *bytes, Extremes *e) {
    const auto &b = *reinterpret_cast<const typename F::Block *>(bytes);
    float decoded[F::kValues];
    fmt::decode_row(decoded, *fmt::type_by_name(name, strlen(name)), bytes, F::kValues);
    for (unsigned i = 0; i < F::kValues; i++) {
        e->code = std::max(e->code, abs(F::code(b, i)));
        e->code_low = std::min(e->code_low, F::code(b, i));
        e->scale = std::max(e->scale, abs(F::scale(b, i / F::kGroup)));
        if constexpr (F::kMins == fmt::Mins::kInteger)
            e->min = std::max(e->min, F::min(b, i / F::kGroup));
        const float y = static_cast<float>(exact_value<F>(b, i));
        r.check(decoded[i] == y || (y != y && decoded[i] != decoded[i]), "%s value %u: %a, not %a",
                name, i, static_cast<double>(decoded[i]), static_cast<double>(y));
    }
}

// Checks random blocks, and blocks of one repeated byte, which reach the extremes.
template <class F>
void check_bounds(Report &r, const char *name, int values, long max_t, int code_low, int max_min) {
    Extremes e;
    uint8_t bytes[sizeof(typename F::Block)];
    uint32_t state = 1;
    for (unsigned k = 0; k < 256 + 2000; k++) {
        for (uint8_t &byte : bytes) {
            state = state * 1664525u + 1013904223u;
            byte = static_cast<uint8_t>(k < 256 ? k : state >> 24);
        }
        see_block<F>(r, name, bytes, &e);
    }
    const long t = static_cast<long>(e.code) * e.scale * 127 * values;
    r.check(t == max_t, "%s: |T| reaches %ld, the canonical text says %ld", name, t, max_t);
    r.check(e.code_low == code_low, "%s: lowest code is %d", name, e.code_low);
    r.check(e.min == max_min, "%s: largest minimum is %d", name, e.min);
}

} // namespace

int test_pieces_reach_canonical_bounds(Report &r, const std::string &) {
    // type, values per T, largest |T| of the reference's C2, lowest code, largest integer minimum
    check_bounds<fmt::Q4_0>(r, "q4_0", 32, 32512, -8, 0);
    check_bounds<fmt::Q5_0>(r, "q5_0", 32, 65024, -16, 0);
    check_bounds<fmt::Q4_1>(r, "q4_1", 32, 60960, 0, 0);
    check_bounds<fmt::Q5_1>(r, "q5_1", 32, 125984, 0, 0);
    check_bounds<fmt::Q8_0>(r, "q8_0", 32, 520192, -128, 0);
    check_bounds<fmt::Q2_K>(r, "q2_K", 32, 182880, 0, 15);
    check_bounds<fmt::Q3_K>(r, "q3_K", 32, 520192, -4, 0);
    check_bounds<fmt::Q4_K>(r, "q4_K", 32, 3840480, 0, 63);
    check_bounds<fmt::Q5_K>(r, "q5_K", 32, 7936992, 0, 63);
    check_bounds<fmt::Q6_K>(r, "q6_K", 32, 16646144, -32, 0);
    check_bounds<fmt::IQ2_XXS>(r, "iq2_xxs", 32, 5417312, -43, 0);
    check_bounds<fmt::IQ2_XS>(r, "iq2_xs", 32, 5417312, -43, 0);
    check_bounds<fmt::IQ2_S>(r, "iq2_s", 32, 5417312, -43, 0);
    check_bounds<fmt::IQ3_XXS>(r, "iq3_xxs", 32, 7811008, -62, 0);
    check_bounds<fmt::IQ3_S>(r, "iq3_s", 32, 1889760, -15, 0);
    check_bounds<fmt::IQ1_S>(r, "iq1_s", 32, 548640, -9, 0);
    check_bounds<fmt::IQ1_M>(r, "iq1_m", 32, 548640, -9, 0);
    check_bounds<fmt::IQ4_NL>(r, "iq4_nl", 32, 516128, -127, 0);
    check_bounds<fmt::IQ4_XS>(r, "iq4_xs", 32, 16516096, -127, 0);
    check_bounds<fmt::MXFP4>(r, "mxfp4", 32, 48768, -12, 0);
    check_bounds<fmt::NVFP4>(r, "nvfp4", 16, 24384, -12, 0);
    check_bounds<fmt::TQ1_0>(r, "tq1_0", 32, 4064, -1, 0);
    check_bounds<fmt::TQ2_0>(r, "tq2_0", 32, 8128, -1, 0);
    check_bounds<fmt::Q1_0>(r, "q1_0", 32, 4064, -1, 0);
    check_bounds<fmt::Q2_0>(r, "q2_0", 32, 8128, -1, 0);
    return r.exit_code();
}

} // namespace golden
