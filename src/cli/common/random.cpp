// SPDX-License-Identifier: MIT
#include "common/random.hpp"

#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <unistd.h>

namespace ggufx::cli {

// Draws many numbers per call, because a call of the system takes a microsecond or more.
uint64_t random_number() {
    thread_local uint64_t drawn[32];
    thread_local size_t n_left = 0;
    if (n_left == 0) {
        // Every supported system has getentropy().
        if (getentropy(drawn, sizeof drawn) != 0) std::abort();
        n_left = std::size(drawn);
    }
    return drawn[--n_left];
}

uint64_t random_seed() {
    return random_number() >> 32;
}

} // namespace ggufx::cli
