// Time that a call may take, and the prompt chunk that fits into it.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/thread.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::model {

// Nanoseconds from any origin; tests count calls instead.
struct Clock {
    void *user = nullptr;
    uint64_t (*now_ns)(void *user) = nullptr; // null: the monotonic clock of the system
};

// Weights of a product that run without a look at the clock: about 0.1 ms at 4.5 bits and 20 GB/s.
constexpr uint64_t kBlockWeights = uint64_t{4} << 20;

// Duration of the slowest part of a batch that runs without a look at the clock.
struct SlowestGroup {
    uint64_t ns = 0, n_tokens = 0; // 0 tokens: not measured yet
};

// Finds that part in the fastest layer: other programs delay some layers, seldom all.
class LayerTimes {
public:
    void add(uint64_t ns, bool ends_layer) {
        layer_ns_ += ns;
        if (ns > slowest_) slowest_ = ns;
        if (!ends_layer) return;
        if (layer_ns_ < fastest_layer_ns_) {
            fastest_layer_ns_ = layer_ns_;
            slowest_ns_ = slowest_;
        }
        layer_ns_ = slowest_ = 0;
    }
    uint64_t slowest_ns() const { return slowest_ns_; } // 0: no layer has ended

private:
    uint64_t layer_ns_ = 0, slowest_ = 0; // the current layer
    uint64_t fastest_layer_ns_ = UINT64_MAX, slowest_ns_ = 0;
};

// Returns the number of tokens whose slowest group takes half of the budget, at least one. A group
// costs less per token in a larger batch, so that chunks approach that number from below.
inline size_t chunk_tokens(const SlowestGroup &slowest, uint64_t budget_ns) {
    if (slowest.n_tokens == 0) return 1;
    const uint64_t n = budget_ns / 2 / (slowest.ns / slowest.n_tokens + 1);
    return n == 0 ? 1 : n < SIZE_MAX ? static_cast<size_t>(n) : SIZE_MAX;
}

class Budget {
public:
    Budget(uint64_t us, const Clock &clock, uint64_t block_weights = kBlockWeights)
        : clock_(clock), block_weights_(block_weights),
          ns_(us < UINT64_MAX / 1000 ? us * 1000 : UINT64_MAX), start_(now()), last_(start_) {}

    uint64_t ns() const { return ns_; }
    uint64_t block_weights() const { return block_weights_; }
    // Returns the time since the previous lap, or since the start.
    uint64_t lap() {
        const uint64_t before = last_;
        last_ = now();
        return last_ - before;
    }
    bool is_used_up() const { return last_ - start_ >= ns_; } // at the latest lap
    // Returns what is left at the latest lap, at least a microsecond.
    uint64_t left_us() const { return is_used_up() ? 1 : (ns_ - (last_ - start_) + 999) / 1000; }

private:
    uint64_t now() const {
        return clock_.now_ns ? clock_.now_ns(clock_.user) : static_cast<uint64_t>(monotonic_ns());
    }

    const Clock clock_;
    const uint64_t block_weights_, ns_, start_;
    uint64_t last_;
};

} // namespace ggufx::model
