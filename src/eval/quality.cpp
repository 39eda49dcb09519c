// SPDX-License-Identifier: MIT
#include "eval/quality.hpp"

#include "kv/cache.hpp"

namespace ggufx::model {

namespace {

// KL divergence over squared relative error: 0.34 to 0.41 from BF16 to Q3_K (tests/bench/fit.md).
constexpr double kWeightLoss = 0.37;

// KL divergence with only keys, or only values, of a type (tests/bench/fit.md). Their sum is within
// a tenth of the measured loss of both together, except for the smallest types (0.7 to 0.9 of it).
constexpr struct {
    uint32_t type;
    float k, v;
} kKvLosses[] = {
    {kv::id::F32, 0, 0},
    {kv::id::F16, 1.045e-08f, 1.8e-09f},
    {kv::id::BF16, 6.632e-07f, 1.108e-07f},
    {kv::id::Q8_0, 6.297e-06f, 9.292e-07f},
    {kv::id::Q5_1, 1.903e-04f, 4.452e-05f},
    {kv::id::Q5_0, 3.593e-04f, 5.540e-05f},
    {kv::id::Q4_1, 1.071e-03f, 1.922e-04f},
    {kv::id::Q4_0, 1.657e-03f, 2.258e-04f},
    {kv::id::IQ4_NL, 1.288e-03f, 1.801e-04f},
    {kv::id::ROT_Q5_0, 1.501e-04f, 5.272e-05f},
    {kv::id::ROT_Q4_0, 6.138e-04f, 2.124e-04f},
    {kv::id::ROT_IQ4_NL, 4.711e-04f, 1.705e-04f},
    {kv::id::TQ3_0, 5.581e-02f, 7.480e-03f},
    {kv::id::TQ3_0_RESIDUAL, 5.939e-03f, 1.930e-03f},
    {kv::id::GX2, 3.734e-02f, 4.748e-03f},
    {kv::id::GX3, 3.653e-03f, 9.467e-04f},
    {kv::id::GX4, 7.879e-04f, 2.043e-04f},
};

// Returns whether a type has an entry; without one it would count as lossless.
consteval bool has_loss(uint32_t type) {
    for (const auto &row : kKvLosses)
        if (row.type == type) return true;
    return false;
}
#define X(NAME, ID, ...) static_assert(has_loss(ID));
#include "kv/types.def"

// Pareto front of the pairs by bytes and loss. tq3_0_residual is for head sizes that the types
// after it do not support.
constexpr KvPair kLadder[] = {
    {kv::id::F16, kv::id::F16},
    {kv::id::Q8_0, kv::id::Q8_0},
    {kv::id::Q8_0, kv::id::ROT_Q5_0},
    {kv::id::ROT_Q5_0, kv::id::ROT_Q5_0},
    {kv::id::ROT_Q5_0, kv::id::GX4},
    {kv::id::ROT_IQ4_NL, kv::id::ROT_IQ4_NL},
    {kv::id::GX4, kv::id::GX4},
    {kv::id::GX4, kv::id::GX3},
    {kv::id::TQ3_0_RESIDUAL, kv::id::TQ3_0_RESIDUAL},
    {kv::id::GX3, kv::id::GX3},
    {kv::id::GX3, kv::id::GX2},
    {kv::id::GX2, kv::id::GX2},
};

} // namespace

double weight_loss(double error) {
    return kWeightLoss * error * error;
}

double kv_loss(uint32_t type_k, uint32_t type_v) {
    double loss = 0;
    for (const auto &row : kKvLosses) {
        if (row.type == type_k) loss += static_cast<double>(row.k);
        if (row.type == type_v) loss += static_cast<double>(row.v);
    }
    return loss;
}

std::span<const KvPair> kv_ladder() {
    return kLadder;
}

} // namespace ggufx::model
