// What every verb of the tool shares: common options, exit codes, the failure that carries one.
// The tool uses the public headers only; conventions are in docs/cli.md.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/command_line.hpp"

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

// Ends a verb with a message on stderr and an exit code.
struct Failure : std::runtime_error {
    Failure(int code, const std::string &message) : std::runtime_error(message), exit_code(code) {}
    Failure(int code, const ggufx_error &error)
        : std::runtime_error(error.message), exit_code(code), detail(error) {}
    // The library names a path only where it could not be opened or read: put it before faults
    // inside, once.
    Failure(const Failure &failure, const std::string &path)
        : std::runtime_error(with_path(failure.what(), path)), exit_code(failure.exit_code),
          detail(failure.detail) {}
    int exit_code;
    std::optional<ggufx_error> detail; // what the library said

private:
    static std::string with_path(const std::string &message, const std::string &path) {
        const bool is_named = message.starts_with(path) || message.starts_with('"' + path + '"');
        return is_named ? message : path + ": " + message;
    }
};

// Options every verb takes.
struct Globals {
    bool json = false;
    bool quiet = false;
    bool verbose = false;
    bool force = false;
    std::string color = "auto";
    std::string progress = "auto";
    std::string isa = "best";
    std::string output;                        // -o: "-" is stdout, as is "" where none is given
    unsigned threads = 0;                      // 0 = all
    std::vector<unsigned> thread_counts = {0}; // all that -t named; more than one: bench only

    bool to_stdout() const { return output.empty() || output == "-"; }
};

// The parser and, per verb (a leaf of its tree), what to run.
struct Tool {
    Command app;
    Globals &globals;
    std::vector<std::pair<Command, std::function<int()>>> verbs;
    CommandLine &line;
};

// A failure's message on stderr, with --json as an object; `file` is named in it unless empty.
void tell(const Globals &globals, const Failure &failure, const std::string &file = "");

} // namespace ggufx::cli
