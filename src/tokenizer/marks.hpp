// Marker tokens of a chat template: user-defined tokens that control the model there, so text of a
// user must not become one. Found by WholeTokens::find_marks.
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

    Vector<int32_t> ids; // ascending
    // For each whole-matched token, by rank: the token itself if it may appear in any text, else
    // its longest prefix token that may.
    Vector<uint32_t> free;
};

} // namespace ggufx::model
