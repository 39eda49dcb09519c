// Packed activations at the limits of their definition, for every kernel set: rounding ties, the
// smallest nonzero block, the largest float, infinities and NaN.
// SPDX-License-Identifier: MIT
#include "golden.hpp"

#include "../checkasm/product.hpp"
#include "base/cpu.hpp"
#include "base/fpenv.hpp"
#include "kernels/dispatch.hpp"

#include <string.h>

namespace golden {

using namespace ggufx;
using namespace ggufx::kernels;

namespace {

// One block: x[0] = amax determines the scale. x[16] = value is the only nonzero of the second
// group of 16, so its code is that group's sum for any order of codes.
struct Limit {
    uint32_t amax, value, d;
    int code_of_amax, code;
};

constexpr uint32_t kNan = 0x7fc00000u;
constexpr Limit kLimits[] = {
    {0x42fe0000, 0x3f000000, 0x3f800000, 127, 0},    // 127, 0.5: to even
    {0x42fe0000, 0x3fc00000, 0x3f800000, 127, 2},    // 1.5
    {0x42fe0000, 0xc0200000, 0x3f800000, 127, -2},   // -2.5
    {0x42fe0000, 0x3f000001, 0x3f800000, 127, 1},    // just over 0.5
    {0xc2fe0000, 0x42fd0000, 0x3f800000, -127, 126}, // -127; 126.5: to even
    {0x0d800000, 0x8d800000, 0x0a010204, 127, -127}, // 2^-100: the smallest nonzero scale
    {0x0d7fffff, 0x0d7fffff, 0x00000000, 0, 0},      // just below
    {0x00000001, 0x80000000, 0x00000000, 0, 0},      // subnormal
    {0x7f7fffff, 0xff7fffff, 0x7c010204, 127, -127}, // the largest float
    {0x7f800000, 0x3f800000, kNan, 0, 0},            // infinities and NaN
    {0x3f800000, 0xff800000, kNan, 0, 0},
    {0xffc12345, 0x3f800000, kNan, 0, 0},
    {0x3f800000, 0x7f812345, kNan, 0, 0},
};

void check_limit(Report &r, const Kernels &kernels, uint32_t type, const Limit &limit,
                 const testdata::PackedOrder &order) {
    alignas(64) uint8_t memory[act_bytes(32)];
    memset(memory, 0x5a, sizeof memory);
    const Act act = act_at(memory, 32);
    float x[32] = {};
    x[0] = f32_from_bits(limit.amax);
    x[16] = f32_from_bits(limit.value);
    {
        const CanonicalFp canonical;
        find(kernels, &Layer::matvec, type)->pack(act, x);
    }
    const float d = order.d(act, 0);
    const int32_t sums[2] = {order.sum(act, 0), order.sum(act, 1)}, factor = order.factor();
    r.check(f32_bits(d) == limit.d && sums[0] == factor * limit.code_of_amax &&
                sums[1] == factor * limit.code,
            "%s %s amax %08x value %08x: scale %08x, codes %d times %d %d", kernels.name,
            fmt::type_info(type)->name, static_cast<unsigned>(limit.amax),
            static_cast<unsigned>(limit.value), static_cast<unsigned>(f32_bits(d)), factor, sums[0],
            sums[1]);
    if (!order.has_s()) return;
    const float s = order.s(act, 0), want = d * static_cast<float>(limit.code_of_amax + limit.code);
    r.check(s == want || (s != s && want != want), "%s: scaled sum", kernels.name);
}

} // namespace

int test_activations_at_their_limits(Report &r, const std::string &) {
    const Kernels *list[8];
    const size_t n = kernels::list(list, 8, cpu::features());
    for (size_t i = 0; i < n; i++) {
        for (uint32_t type = 0; type < fmt::kTypeIds; type++) {
            const Matvec *kernel = find(*list[i], &Layer::matvec, type);
            if (!kernel) continue;
            const testdata::PackedOrder order(*kernel);
            for (const Limit &limit : kLimits) check_limit(r, *list[i], type, limit, order);
        }
    }
    return r.exit_code();
}

} // namespace golden
