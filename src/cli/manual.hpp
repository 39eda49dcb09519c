// The manual pages of the tool, and descriptions of its exit codes.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/command_facts.hpp"
#include "common/tool.hpp"

namespace ggufx::cli {

struct ExitText {
    int code;
    const char *text;
};
extern const ExitText kExitTexts[8];

std::string manual(const CommandFacts &tool, const std::string &version); // ggufx(1)
std::string manual(const CommandFacts &tool, const CommandFacts &command,
                   const std::string &version); // ggufx-COMMAND(1)

} // namespace ggufx::cli
