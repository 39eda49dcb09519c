// Functions that a model may call, as a file lists them, and the programs that some of them are.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/json.hpp"

namespace ggufx::cli {

// What runs for a call: a program and its arguments, no shell.
struct ToolProgram {
    std::vector<std::string> command;
    unsigned timeout_s = 30;
};

class Tools {
public:
    Tools() = default;
    // A JSON list of functions. "command" and "timeout" beside "function" are the program's and are
    // not shown to the model. Throws Failure.
    explicit Tools(const std::string &path);

    const std::string &functions() const { return functions_; } // for templates; empty: none
    const ToolProgram *find(const std::string &name) const;     // nothing: it has no program

private:
    std::string functions_;
    std::vector<std::string> names_;
    std::vector<ToolProgram> programs_;
};

// The command of a call: a word {name} becomes the argument of that name, text as it is, anything else
// as JSON, and goes where there is no such argument. Throws Failure where the arguments are no object
// or have a NUL.
std::vector<std::string> command_of(const ToolProgram &program, const std::string &arguments);
std::string command_text(const std::vector<std::string> &command); // as a shell would need it

} // namespace ggufx::cli
