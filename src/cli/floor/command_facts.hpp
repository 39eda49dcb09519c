// The declared commands and options as data, for help, manual pages and shell completion.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace ggufx::cli {

struct OptionFacts {
    std::vector<std::string> names; // "--output", "-o"; an argument has one, "FILE"
    std::string value;              // placeholder in the help, "FILE", "N"; empty for a flag
    std::string help;
    std::vector<std::string> values; // allowed values; empty = any
    bool is_argument = false;        // positional, without a dash
    bool is_required = false;
    bool is_list = false; // "a,b,c"
    bool is_repeated = false;
};

struct CommandFacts {
    std::string name;
    std::string help;
    std::string examples; // whole lines, indented
    std::vector<OptionFacts> options;
    std::vector<CommandFacts> commands;
};

} // namespace ggufx::cli
