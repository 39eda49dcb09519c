// SPDX-License-Identifier: MIT
#include "device/self_test.hpp"

#include "base/half.hpp"

#include <math.h>

namespace ggufx::device {

namespace {

// splitmix64: the same cases on every host.
class Random {
public:
    uint32_t next() {
        state_ += 0x9e3779b97f4a7c15u;
        uint64_t v = state_;
        v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
        v = (v ^ v >> 27) * 0x94d049bb133111ebu;
        return static_cast<uint32_t>(v >> 32);
    }

private:
    uint64_t state_ = 7;
};

constexpr uint32_t kCorners[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff,
                                 0x00800000, 0x3f800000, 0xbf800000, 0x7f7fffff, 0x7f800000,
                                 0xff800000, 0x7fc00000, 0x33800000, 0x4b800001};

uint32_t operand(Random &random) {
    const uint32_t bits = random.next(), kind = random.next() % 8;
    const uint32_t sign_and_fraction = bits & 0x807fffffu;
    if (kind < 4) return sign_and_fraction | (117 + random.next() % 20) << 23; // range of models
    if (kind == 4) return sign_and_fraction | (60 + random.next() % 140) << 23;
    if (kind == 5) return sign_and_fraction | (random.next() % 40) << 23; // down to subnormals
    if (kind == 6) return bits;                                           // any bits
    return kCorners[random.next() % (sizeof kCorners / sizeof kCorners[0])];
}

// c close to -a * b: the result shows whether fma rounds once.
uint32_t cancelling(Random &random, uint32_t a, uint32_t b) {
    const float product = -(f32_from_bits(a) * f32_from_bits(b));
    return f32_bits(product) + random.next() % 5 - 2;
}

uint32_t bits_of(float v) {
    return f32_bits(v);
}

struct Operation {
    const char *name; // null: an fma variant
    uint32_t (*expected)(uint32_t a, uint32_t b, uint32_t c);
    bool is_float; // all NaNs count as equal
};

uint32_t fused(uint32_t a, uint32_t b, uint32_t c) {
    return bits_of(fmaf(f32_from_bits(a), f32_from_bits(b), f32_from_bits(c)));
}
uint32_t dot4(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t sum = c;
    for (unsigned i = 0; i < 32; i += 8) {
        const auto x = static_cast<int8_t>(a >> i & 255), y = static_cast<int8_t>(b >> i & 255);
        sum += static_cast<uint32_t>(x * y);
    }
    return sum;
}

// In the order of probe.inc.
constexpr Operation kOperations[kProbeResults] = {
    {nullptr, fused, true},
    {nullptr, fused, true},
    {nullptr, fused, true},
    {"a product",
     [](uint32_t a, uint32_t b, uint32_t) { return bits_of(f32_from_bits(a) * f32_from_bits(b)); },
     true},
    {"a sum",
     [](uint32_t a, uint32_t, uint32_t c) { return bits_of(f32_from_bits(a) + f32_from_bits(c)); },
     true},
    {"a quotient",
     [](uint32_t a, uint32_t b, uint32_t) { return bits_of(f32_from_bits(a) / f32_from_bits(b)); },
     true},
    {"a square root",
     [](uint32_t a, uint32_t, uint32_t) { return bits_of(sqrtf(f32_from_bits(a))); }, true},
    {"an integer as a float",
     [](uint32_t a, uint32_t, uint32_t) {
         return bits_of(static_cast<float>(static_cast<int32_t>(a)));
     },
     true},
    {"a comparison",
     [](uint32_t a, uint32_t b, uint32_t) { return uint32_t{f32_from_bits(a) < f32_from_bits(b)}; },
     false},
    {"a half as a float",
     [](uint32_t a, uint32_t, uint32_t) {
         return bits_of(f16_to_f32(static_cast<uint16_t>(a & 0xffffu)));
     },
     true},
    {"a dot product of four int8", dot4, false},
};

bool is_nan(uint32_t bits) {
    return (bits & 0x7fffffffu) > 0x7f800000u;
}

} // namespace

void make_probe(uint32_t *operands) {
    Random random;
    for (uint32_t i = 0; i < kProbeCases; i++) {
        const uint32_t a = operand(random), b = operand(random);
        operands[i] = a;
        operands[kProbeCases + i] = b;
        operands[2 * kProbeCases + i] = i % 2 ? operand(random) : cancelling(random, a, b);
    }
}

ProbeVerdict judge_probe(const uint32_t *operands, const uint32_t *results) {
    ProbeVerdict verdict = {};
    for (uint32_t op = 0; op < kProbeResults; op++) {
        const Operation &operation = kOperations[op];
        uint32_t n_different = 0;
        for (uint32_t i = 0; i < kProbeCases; i++) {
            const uint32_t a = operands[i], b = operands[kProbeCases + i],
                           c = operands[2 * kProbeCases + i];
            const uint32_t got = results[op * kProbeCases + i],
                           wanted = operation.expected(a, b, c);
            if (got == wanted || (operation.is_float && is_nan(got) && is_nan(wanted))) continue;
            if (n_different++ > 0 || !operation.name || verdict.fault) continue;
            verdict.operands[0] = a;
            verdict.operands[1] = b;
            verdict.operands[2] = c;
            verdict.got = got;
            verdict.wanted = wanted;
        }
        if (!operation.name) {
            verdict.fma[op] = n_different == 0;
        } else if (n_different > 0 && !verdict.fault) {
            verdict.fault = operation.name;
            verdict.n_different = n_different;
        }
    }
    return verdict;
}

} // namespace ggufx::device
