// The help of a command, within 80 columns, from what it declares.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/command_facts.hpp"

#include <string>

namespace ggufx::cli {

constexpr size_t kHelpWidth = 80; // columns of help, and of tables where nobody tells another width

// `path` is what is typed, "ggufx bench kv"; `notes` stand below the options, whole lines.
std::string help_text(const CommandFacts &command, const std::string &path,
                      const std::string &notes);

} // namespace ggufx::cli
