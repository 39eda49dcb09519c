// Functions that a model may call, read from a file, and the programs that implement them.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/json.hpp"

namespace ggufx::cli {

// Program and arguments of a call, run without a shell.
struct ToolProgram {
    std::vector<std::string> command;
    unsigned timeout_s = 30;
};

class Tools {
public:
    Tools() = default;
    // Reads a JSON list of functions. "command" and "timeout" beside "function" describe the
    // program and are not shown to the model. Throws Failure.
    explicit Tools(const std::string &path);

    const std::string &functions() const { return functions_; } // JSON for templates; empty: none
    const ToolProgram *find(const std::string &name) const;     // NULL: the function has no program

private:
    std::string functions_;
    std::vector<std::string> names_;
    std::vector<ToolProgram> programs_;
};

// Returns the command of a call. A word {name} becomes the argument of that name: strings raw,
// anything else as JSON. The word is dropped if there is no such argument. Throws Failure unless
// the arguments are an object without NUL.
std::vector<std::string> command_of(const ToolProgram &program, const std::string &arguments);
std::string command_text(const std::vector<std::string> &command); // quoted for a shell

} // namespace ggufx::cli
