// Hook for library calls that cancels when a function says so.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"

#include <functional>

namespace ggufx::cli {

// The function must outlive the hook.
inline ggufx_progress cancel_if(const std::function<bool()> &is_cancelled) {
    ggufx_progress progress = {};
    progress.user = const_cast<std::function<bool()> *>(&is_cancelled);
    progress.report = [](void *user, uint64_t, uint64_t) -> int32_t {
        return (*static_cast<const std::function<bool()> *>(user))();
    };
    return progress;
}

} // namespace ggufx::cli
