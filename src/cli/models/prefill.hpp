// State of the output parser for a model that continues an assistant message (prefill).
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"

#include <string>

namespace ggufx::cli {

struct OutputStart {
    std::string prompt; // for ggufx_chat_parser_options
    std::string begun;  // markers to feed before the output; they cause no events
};

// `continued`: a conversation rendered up to the text of its last message. `empty`: the same
// without text in that message; both end there.
OutputStart output_start(const ggufx_runtime *rt, const ggufx_chat *chat, const std::string &empty,
                         const std::string &continued);

} // namespace ggufx::cli
