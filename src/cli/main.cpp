// ggufx: parses the command line, runs one command, turns failures into messages and exit codes.
// SPDX-License-Identifier: MIT
#include "common/signals.hpp"
#include "completion.hpp"
#include "manual.hpp"
#include "verbs.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <string_view>

namespace ggufx::cli {

// Replaces the message of a call that noticed a signal by "interrupted", the reason that matters.
static Failure told(const Failure &failure) {
    const bool interrupted = pending_signal() != 0 && failure.exit_code == 128 + pending_signal();
    if (!interrupted || std::string_view(failure.what()).starts_with("interrupted")) return failure;
    Failure said(failure.exit_code, "interrupted");
    said.detail = failure.detail;
    return said;
}

// Accepts one thread count; only the benchmarks below accept a list.
static void use_thread_counts(Globals &globals, const std::string &verb) {
    const bool takes_list = verb == "bench matvec" || verb == "bench matmul" ||
                            verb == "bench dequant" || verb == "bench quantize" ||
                            verb == "bench model";
    globals.threads = globals.thread_counts[0];
    if (globals.thread_counts.size() > 1 && !takes_list) {
        throw Failure(kUsage,
                      "--threads: only benchmarks of kernels and models take more than one number");
    }
}

static int run_verb(Tool &tool) {
    for (const auto &[verb, action] : tool.verbs) {
        if (!verb.was_given()) continue;
        use_thread_counts(tool.globals, verb.path());
        const int code = action();
        if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
            throw Failure(kRuntimeError,
                          std::string("cannot write to standard output: ") + std::strerror(errno));
        }
        return code;
    }
    return kUsage; // the parser requires a command
}

static int guarded(Tool &tool) {
    try {
        return run_verb(tool);
    } catch (const Failure &failure) {
        tell(tool.globals, told(failure));
        return failure.exit_code;
    } catch (const std::bad_alloc &) {
        tell(tool.globals, Failure(kNoMemory, "out of memory"));
        return kNoMemory;
    } catch (const std::exception &error) {
        tell(tool.globals, Failure(kRuntimeError, error.what()));
        return kRuntimeError;
    }
}

static std::string exit_codes() {
    std::string out = "Exit codes: ";
    for (const ExitText &exit : kExitTexts) {
        out += std::to_string(exit.code) + " " + exit.text;
        out += exit.code == kInterrupted ? ".\n" : exit.code == kUnsupported ? ",\n" : ", ";
    }
    return out;
}

static int tool_main(int argc, char **argv) {
    prepare_process();
    Globals globals;
    CommandLine line("ggufx", "Open, check, run and measure GGUF models.", ggufx_version());
    line.notes(exit_codes() +
               "Environment: GGUFX_THREADS, GGUFX_ISA, GGUFX_COLOR and GGUFX_PROGRESS set the\n"
               "defaults of the options of these names; NO_COLOR disables colors.\n");
    Tool tool = {line.root(), globals, {}, line};
    add_verbs(tool, argc > 1 ? argv[1] : "");
    line.other_words(other_words());
    if (argc > 2 && std::strcmp(argv[1], "--complete") == 0) { // called by a shell for completion
        return print_completion(line.describe(), argc, argv);
    }
    if (const std::optional<int> code = line.parse(argc, argv)) return *code;
    return guarded(tool);
}

} // namespace ggufx::cli

int main(int argc, char **argv) {
    return ggufx::cli::tool_main(argc, argv);
}
