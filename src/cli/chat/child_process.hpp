// Another program that runs for a while: its input is given, its output kept, within bounds.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace ggufx::cli {

constexpr size_t kMostProgramOutput = 64 << 10; // bytes that are kept

struct Ran {
    std::string output;  // of standard output and error, as they came; UTF-8
    std::string problem; // empty where it ended with 0: "exit code 3", "no end within 30 s", ...
};

// Runs command[0] (found by PATH where it has no slash) in a group of its own, without a terminal;
// `input` is its standard input. It is killed, with what it started, when the time is over, and at a
// Ctrl-C, which is left to be taken. What goes wrong is the problem.
Ran run_program(const std::vector<std::string> &command, const std::string &input,
                unsigned timeout_s);

} // namespace ggufx::cli
