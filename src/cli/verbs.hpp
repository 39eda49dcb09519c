// The commands of verbs.def; each folder defines its own.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/tool.hpp"

#include <string_view>

namespace ggufx::cli {

// Declares the common options and the command that the first word names. Declares all commands if
// it names none, and for the manual.
void add_verbs(Tool &tool, std::string_view first);
// Names of commands in llama.cpp and ollama, with the command to use here.
std::vector<OtherWord> other_words();

#define GGUFX_VERB(name, declare) void declare(Tool &tool);
#include "verbs.def"
#undef GGUFX_VERB

} // namespace ggufx::cli
