// Shared by all commands of the tool: common options, exit codes, the exception that carries one.
// The tool uses the public headers only; conventions are in docs/cli.md.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/command_line.hpp"

#include <ggufx/ggufx.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ggufx::cli {

enum Exit : int {
    kOk = 0,
    kRuntimeError = 1, // also: a write failed, no such file
    kUsage = 2,
    kInvalidFile = 3,
    kUnsupported = 4,
    kNoMemory = 5,
    kCheckFailed = 6,
    kInterrupted = 130,
};

// Ends a command with a message on stderr and an exit code.
struct Failure : std::runtime_error {
    Failure(int code, const std::string &message) : std::runtime_error(message), exit_code(code) {}
    Failure(int code, const ggufx_error &error)
        : std::runtime_error(error.message), exit_code(code), detail(error) {}
    // The library names a path only if it could not be opened or read. This constructor adds the
    // path to messages about the contents, once.
    Failure(const Failure &failure, const std::string &path)
        : std::runtime_error(with_path(failure.what(), path)), exit_code(failure.exit_code),
          detail(failure.detail) {}
    int exit_code;
    std::optional<ggufx_error> detail; // the error of the library

private:
    static std::string with_path(const std::string &message, const std::string &path) {
        const bool is_named = message.starts_with(path) || message.starts_with('"' + path + '"');
        return is_named ? message : path + ": " + message;
    }
};

// Options of all commands.
struct Globals {
    bool json = false;
    bool quiet = false;
    bool verbose = false;
    bool force = false;
    std::string color = "auto";
    std::string progress = "auto";
    std::string isa = "best";
    std::string output;                        // -o: "-" is stdout, as is "" if none is given
    unsigned threads = 0;                      // 0 = all
    std::vector<unsigned> thread_counts = {0}; // all counts of -t; more than one: bench only

    bool to_stdout() const { return output.empty() || output == "-"; }
};

// The parser, and the function of each command (a leaf of its tree).
struct Tool {
    Command app;
    Globals &globals;
    std::vector<std::pair<Command, std::function<int()>>> verbs;
    CommandLine &line;
};

// Prints a failure's message on stderr, as an object with --json. Names `file` unless it is empty.
void tell(const Globals &globals, const Failure &failure, const std::string &file = "");

} // namespace ggufx::cli
