// Options of llama.cpp that commands with a model accept under llama.cpp's names.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/command_facts.hpp"

#include <string>
#include <vector>

namespace ggufx::cli {

// Aliases of a command; none unless it has the argument MODEL.
std::vector<AliasFacts> aliases_of(const CommandFacts &command);

// Replaces the aliases in `words`, the command line without the program's name. Values of options
// and words after "--" stay. Returns an error message, or nothing.
std::string replace_aliases(const CommandFacts &tool, std::vector<std::string> &words);

} // namespace ggufx::cli
