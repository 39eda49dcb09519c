// SPDX-License-Identifier: MIT
#include "bench/random_values.hpp"

#include <cmath>

namespace ggufx::cli {

namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15; // increment of splitmix64

uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

uint64_t hash(std::string_view text, uint64_t seed) {
    uint64_t h = mix(seed + kGolden);
    for (const char c : text) h = mix((h ^ static_cast<uint8_t>(c)) + kGolden);
    return h;
}

struct ValueSpread {
    double mean, deviation;
};

ValueSpread value_spread(const ShapeTensor &t) {
    switch (t.fill) {
    case Fill::matrix:
    case Fill::weight:
        return {0, 1 / std::sqrt(static_cast<double>(t.ne[0]))};
    case Fill::norm:
        return {1, 0.05};
    case Fill::bias:
        return {0, 0.02};
    case Fill::ones:
        return {1, 0};
    case Fill::decay:
        return {-0.5, 0.1}; // the whole range of the sum is below 0
    case Fill::step:
        return {-2, 0.5};
    }
    return {0, 0};
}

} // namespace

RandomValues::RandomValues(const ShapeTensor &tensor, uint64_t seed)
    : state_(hash(tensor.name, seed)) {
    const ValueSpread spread = value_spread(tensor);
    // Sum of four uniform integers below 2^16: mean 2 (2^16 - 1), variance 4 (2^32 - 1) / 12.
    scale_ = static_cast<float>(spread.deviation / std::sqrt(4 * 4294967295.0 / 12));
    mean_ = spread.mean;
}

void RandomValues::fill(float *out, uint64_t first, size_t n) const {
    for (size_t i = 0; i < n; i++) {
        const uint64_t x = mix(state_ + (first + i) * kGolden);
        const auto sum = static_cast<int32_t>((x & 0xffff) + (x >> 16 & 0xffff) +
                                              (x >> 32 & 0xffff) + (x >> 48));
        const float bell = static_cast<float>(sum - 2 * 65535) * scale_;
        out[i] = static_cast<float>(mean_ + static_cast<double>(bell)); // cannot become an FMA
    }
}

} // namespace ggufx::cli
