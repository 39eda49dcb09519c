// Generation of run and demo.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/generating_model.hpp"

#include <functional>

namespace ggufx::cli {

// Sets the prompt, after the tokens of a snapshot if there are any. Throws Failure if it does not
// fit.
void set_prompt(const GeneratingModel &generation, std::span<const int32_t> ids);
// Generates up to n_predict tokens, and gives each event to `show`. A signal throws Failure after
// the end.
using ShowEvent = std::function<void(const ggufx_event &event)>;
ggufx_end generate(const GeneratingModel &generation, const ShowEvent &show);

// Writes a note to standard error; `option` is the one that raises the limit.
void say_context_full(const Globals &globals, size_t n_context, const std::string &option);

} // namespace ggufx::cli
