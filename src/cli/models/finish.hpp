// Finish reason of a generation: the OpenAI API's words for programs, a sentence for people.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

namespace ggufx::cli {

enum class Finish {
    none,    // it continues, or was interrupted
    stop,    // an end-of-generation token or a stop string
    length,  // the limit on tokens
    context, // the context is full
    tool_calls,
};

// "stop", "length" or "tool_calls". As in `serve`, a full context is "length".
const char *finish_reason(Finish finish);

// `option` raises the limit, such as "--ctx"; empty: there is none.
std::string context_full_text(size_t n_context, const std::string &option);

} // namespace ggufx::cli
