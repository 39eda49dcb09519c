// What the command line declares, as data: its manual and its completion are made from it.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace ggufx::cli {

struct OptionFacts {
    std::vector<std::string> names; // "--output", "-o"; of an argument its name, "FILE"
    std::string value;              // what its value is called, "FILE", "N"; empty for a flag
    std::string help;
    std::vector<std::string> values; // the only ones it takes; empty = any
    bool is_argument = false;        // stands without a dash
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
