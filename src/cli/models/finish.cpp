// SPDX-License-Identifier: MIT
#include "models/finish.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

const char *finish_reason(Finish finish) {
    switch (finish) {
    case Finish::stop:
        return "stop";
    case Finish::tool_calls:
        return "tool_calls";
    default:
        return "length";
    }
}

std::string context_full_text(size_t n_context, const std::string &option) {
    return fmt::format("generation stopped: the context of {} tokens is full{}", n_context,
                       option.empty() ? "" : " (use " + option + " N)");
}

} // namespace ggufx::cli
