// The help text of a command, 80 columns wide, from its declarations.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/command_facts.hpp"

#include <string>

namespace ggufx::cli {

constexpr size_t kHelpWidth = 80; // columns of help texts, and of tables if the width is unknown

// `path`: the command as typed, "ggufx bench kv". `notes`: whole lines below the options.
std::string help_text(const CommandFacts &command, const std::string &path,
                      const std::string &notes);

} // namespace ggufx::cli
