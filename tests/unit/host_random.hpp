// For tests through internals: a host with one thread, and pseudorandom numbers.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

namespace {

inline ggufx::Ref<ggufx::Host> make_host() {
    return ggufx::Host::create({nullptr, nullptr, nullptr, 1});
}

struct Random {
    uint64_t state;
    uint32_t below(uint32_t n) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<uint32_t>(state >> 33) % n;
    }
};

} // namespace
