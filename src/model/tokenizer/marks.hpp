// User-defined tokens that are marks of one template: they steer the model there as control tokens
// do, so no text of a user becomes one. Found by WholeTokens::find_marks.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <algorithm>
#include <stdint.h>

namespace ggufx::model {

struct Marks {
    explicit Marks(const Host *host)
        : ids(HostAllocator<int32_t>(host)), free(HostAllocator<uint32_t>(host)) {}
    bool hold(int32_t id) const { return std::binary_search(ids.begin(), ids.end(), id); }

    Vector<int32_t> ids; // in order
    // Of a token matched whole, by rank: itself where it may stand in any text, else the longest
    // one of those that it starts with.
    Vector<uint32_t> free;
};

} // namespace ggufx::model
