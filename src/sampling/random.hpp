// splitmix64 random generator: a counter with a mixing function. All samplers draw from it.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace ggufx::sampling {

class Random {
public:
    explicit Random(uint64_t state) : state_(state) {}
    uint64_t state() const { return state_; }

    // Returns the upper 53 bits as a number in [0, 1).
    double uniform() {
        state_ += 0x9e3779b97f4a7c15u;
        uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        return static_cast<double>(z >> 11) * 0x1p-53;
    }

private:
    uint64_t state_;
};

} // namespace ggufx::sampling
