// Child process with given input, captured output and limits on time and size.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace ggufx::cli {

constexpr size_t kMostProgramOutput = 64 << 10; // maximum captured bytes

struct Ran {
    std::string output;  // standard output and error, interleaved as they came; UTF-8
    std::string problem; // empty after exit code 0: "exit code 3", "no end within 30 s", ...
};

// Runs command[0] (found by PATH unless it contains a slash) in its own process group, without a
// terminal. `input` is its standard input. At the timeout and at a Ctrl-C the whole group is
// killed; the interrupt stays pending for the caller. Errors are returned in `problem`.
Ran run_program(const std::vector<std::string> &command, const std::string &input,
                unsigned timeout_s);

} // namespace ggufx::cli
