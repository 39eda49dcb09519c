// Estimated loss of candidates, in nats per token: measured on one small model
// (tests/bench/fit.md), suited for ranking candidates.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <stdint.h>

namespace ggufx::model {

// Returns the loss of weights. `error`: root mean square of the relative errors of all weights.
double weight_loss(double error);

// Returns the loss of types of keys and values (ids of kv/types.cpp); their losses add up.
double kv_loss(uint32_t type_k, uint32_t type_v);

struct KvPair {
    uint32_t k, v;
};

// Returns the pairs from the least loss on, each step with fewer bytes than the previous one.
std::span<const KvPair> kv_ladder();

} // namespace ggufx::model
