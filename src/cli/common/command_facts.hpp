// The declared commands and options as data, for help, manual pages and shell completion.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
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

// An option of llama.cpp that the command accepts; no line of its help.
struct AliasFacts {
    std::vector<std::string> names; // "-c", "--ctx-size"
    std::string option; // "--ctx", "--weights=copy", or an argument, "MODEL"; empty: no effect
    std::string value;  // the name of the value, "N"; empty for a flag
};

struct CommandFacts {
    std::string name;
    std::string help;
    std::string examples; // whole lines, indented
    std::vector<OptionFacts> options;
    std::vector<AliasFacts> aliases;
    std::vector<CommandFacts> commands;
};

// The tool, and the commands that are named after it.
using CommandPath = std::vector<const CommandFacts *>;

// Returns the option or argument of that name, or null. A path also has the options of the
// commands around the last one.
const OptionFacts *find_option(const CommandFacts &command, std::string_view name);
const OptionFacts *find_option(const CommandPath &path, std::string_view name);

} // namespace ggufx::cli
