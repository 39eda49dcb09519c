// How much candidates of an estimate lose, in nats per token: figures measured on one small model
// (tests/bench/fit.md), good for an order of candidates.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <stdint.h>

namespace ggufx::model {

// `error`: root mean square of the relative errors of all weights.
double weight_loss(double error);

// Types of keys and values (ids of kv/types.cpp); their losses add up.
double kv_loss(uint32_t type_k, uint32_t type_v);

struct KvPair {
    uint32_t k, v;
};

// From the least loss down, each step smaller than the one before.
std::span<const KvPair> kv_ladder();

} // namespace ggufx::model
