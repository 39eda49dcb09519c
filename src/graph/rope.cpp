// YaRN: https://arxiv.org/abs/2309.00071, with the ramp over pairs, as in llama.cpp.
// SPDX-License-Identifier: MIT
#include "graph/rope.hpp"

#include "base/fpenv.hpp"
#include "base/math.hpp"

#include <algorithm>
#include <math.h>

namespace ggufx::model {

namespace {

constexpr double kPi = 0x1.921fb54442d18p+1;

// Returns the pair that makes `turns` full rotations over the original context.
double pair_of(const Rope &rope, double turns) {
    const double context = rope.original_context;
    return rope.dims * log_f64(context / (turns * 2 * kPi)) / (2 * log_f64(rope.base));
}

} // namespace

double Rope::mscale(double multiplier) const {
    const CanonicalFp canonical;
    return scale <= 1 ? 1.0 : 1.0 + 0.1 * multiplier * log_f64(scale);
}

double Rope::factor() const {
    if (!yarn) return attention;
    if (log_multiplier == 0) return attention * mscale(1);
    const double above = same_multiplier && log_multiplier != 1 ? log_multiplier : 1;
    return attention * (mscale(above) / mscale(log_multiplier));
}

void Rope::frequencies(double *out, const float *divisors) const {
    const CanonicalFp canonical;
    const double low = yarn ? std::max(0.0, floor(pair_of(*this, beta_fast))) : 0;
    const double high = yarn ? std::min(dims - 1.0, ceil(pair_of(*this, beta_slow))) : 0;
    for (uint32_t i = 0; i < dims / 2; i++) {
        const double exponent = -static_cast<double>(2 * i) / static_cast<double>(dims);
        const double plain = pow_f64(base, exponent);
        double frequency = plain / scale;
        if (yarn) {
            const double ramp = (i - low) / std::max(0.001, high - low);
            const double keep = 1 - std::clamp(ramp, 0.0, 1.0); // share of the unscaled frequency
            frequency = frequency * (1 - keep) + plain * keep;
        }
        out[i] = divisors ? frequency / static_cast<double>(divisors[i]) : frequency;
    }
}

Rope read_rope(const Keys &keys, uint32_t dims) {
    Rope rope;
    rope.dims = dims;
    rope.base = keys.number_or("rope.freq_base", 1e-3, 1e30, 10000);
    rope.attention = keys.number_or("rope.scaling.attn_factor", 1e-6, 1e6, 1);
    rope.original_context = keys.count_or("rope.scaling.original_context_length", {1, kMaxContext},
                                          keys.count("context_length", {1, kMaxContext}));
    const std::string_view kind = keys.text_or("rope.scaling.type", "linear");
    if (kind == "none") return rope;
    if (kind != "linear" && kind != "yarn" && kind != "longrope" && kind != "su")
        fail(Status::unsupported, {},
             "rope scaling %s is not supported; supported: none, linear, yarn, longrope",
             Quoted(kind).c_str());
    const double old = keys.number_or("rope.scale_linear", 0, 1e6, 0); // files before 2023-10
    const double factor = keys.number_or("rope.scaling.factor", 0, 1e6, old);
    if (factor > 0 && factor < 1e-6) // the angles would overflow
        keys.reject("rope.scaling.factor", "is neither 0 nor at least 1e-6");
    rope.scale = factor > 0 ? factor : 1;
    rope.yarn = kind == "yarn";
    rope.beta_fast = keys.number_or("rope.scaling.yarn_beta_fast", 1e-6, 1e6, 32);
    rope.beta_slow = keys.number_or("rope.scaling.yarn_beta_slow", 1e-6, 1e6, 1);
    rope.log_multiplier = keys.number_or("rope.scaling.yarn_log_multiplier", 0, 1e6, 0);
    return rope;
}

} // namespace ggufx::model
