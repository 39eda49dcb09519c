// ggufx: reads the command line, runs one verb, turns failures into messages and exit codes.
// SPDX-License-Identifier: MIT
#include "json.hpp"
#include "signals.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <new>

namespace ggufx::cli {

static constexpr const char *kCommonHelp =
    "Options of every command: --json, -o/--output FILE, -t/--threads N, --isa NAME, --quiet, -v,\n"
    "--color MODE, --progress MODE, --force; see ggufx --help.";

static void add_common_options(CLI::App &app, Globals &globals) {
    app.add_flag("--json", globals.json, "print JSON (\"schema\": 1)");
    app.add_option("-o,--output", globals.output, "write data to FILE instead of stdout (-)");
    app.add_option("-t,--threads", globals.thread_counts,
                   "threads; 0 = one per processor (bench: also a list)")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::Range(0u, 4096u));
    app.add_option("--isa", globals.isa,
                   "best, scalar, avx2, avxvnni, avx512, neon, neon_dot or neon_i8mm (bench: also "
                   "all, a list)");
    app.add_flag("--force", globals.force, "replace existing output files");
    app.add_flag("-q,--quiet", globals.quiet, "no progress, no remarks");
    app.add_flag("-v,--verbose", globals.verbose, "show the library's messages on stderr");
    app.add_option("--color", globals.color, "colours: auto, always, never")
        ->check(CLI::IsMember({"auto", "always", "never"}));
    app.add_option("--progress", globals.progress,
                   "progress on stderr: auto (on a terminal), always, never, json")
        ->check(CLI::IsMember({"auto", "always", "never", "json"}));
}

// Every option with a long name can be given as an environment variable: --top-k is GGUFX_TOP_K.
static void mirror_environment(CLI::App &app) {
    for (CLI::Option *option : app.get_options([](const CLI::Option *) { return true; })) {
        if (option->get_lnames().empty()) continue;
        if (option->get_lnames()[0] == "help" || option->get_lnames()[0] == "version") continue;
        std::string name = "GGUFX_" + option->get_lnames()[0];
        for (char &c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
        option->envname(name);
    }
    for (CLI::App *sub : app.get_subcommands([](CLI::App *) { return true; })) {
        mirror_environment(*sub);
    }
}

static void finish_commands(CLI::App &app) {
    for (CLI::App *sub : app.get_subcommands([](CLI::App *) { return true; })) {
        sub->fallthrough();
        const std::string examples = sub->get_footer();
        sub->footer(examples.empty() ? kCommonHelp
                                     : "Examples:\n" + examples + "\n\n" + kCommonHelp);
        finish_commands(*sub);
    }
}

static void add_verbs(Tool &tool) {
    add_demo(tool);
    add_info(tool);
    add_validate(tool);
    add_run(tool);
    add_perplexity(tool);
    add_dequant(tool);
    add_bench(tool);
    add_selftest(tool);
    add_types(tool);
    add_cpu(tool);
    add_version(tool);
}

static CLI::App &deepest(CLI::App &app) {
    CLI::App *at = &app;
    while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
    return *at;
}

// What stood where a command or option was expected, and the nearest real name.
static std::string suggestion(CLI::App &root, int argc, char **argv) {
    CLI::App &app = deepest(root);
    std::vector<std::string> commands;
    for (CLI::App *sub : app.get_subcommands([](CLI::App *) { return true; })) {
        commands.push_back(sub->get_name());
    }
    std::vector<std::string> options;
    for (CLI::App *at = &app; at; at = at->get_parent()) {
        for (CLI::Option *option : at->get_options([](const CLI::Option *) { return true; })) {
            for (const std::string &name : option->get_lnames()) options.push_back("--" + name);
        }
    }
    for (int i = 1; i < argc; ++i) {
        const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
        const bool dashed = word.rfind("--", 0) == 0;
        const auto &names = dashed ? options : commands;
        if (std::find(names.begin(), names.end(), word) != names.end()) continue;
        const std::string near = did_you_mean(word, names);
        if (!near.empty() && (dashed || &app == &root || word != app.get_name())) {
            return " (\"" + escape(word) + "\"" + near + ")";
        }
    }
    return "";
}

static void report(const Globals &globals, const Failure &failure) {
    if (!globals.json) {
        std::fprintf(stderr, "ggufx: %s\n", escape(failure.what()).c_str());
        return;
    }
    Json error = {{"exit", failure.exit_code}, {"message", failure.what()}};
    if (failure.detail) {
        error["status"] = ggufx_status_name(failure.detail->status);
        error["code"] = failure.detail->status;
        error["offset"] = json_place(failure.detail->offset);
        error["index"] = json_place(failure.detail->index);
    }
    Json line = json_object();
    line["error"] = error;
    std::fputs(json_text(line, -1).c_str(), stderr);
}

// One number of threads, but for the benchmarks of products.
static void use_thread_counts(Globals &globals, const CLI::App &verb) {
    const std::string &name = verb.get_name();
    const bool takes_list = name == "matvec" || name == "matmul" || name == "dequant";
    const bool in_bench = verb.get_parent() && verb.get_parent()->get_name() == "bench";
    globals.threads = globals.thread_counts[0];
    if (globals.thread_counts.size() > 1 && !(takes_list && in_bench)) {
        throw Failure(kUsage, "-t: only benchmarks of kernels take more than one number");
    }
}

static int run_verb(Tool &tool) {
    for (auto &[app, action] : tool.verbs) {
        if (!app->parsed()) continue;
        use_thread_counts(tool.globals, *app);
        const int code = action();
        if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
            throw Failure(kRuntimeError,
                          std::string("cannot write to standard output: ") + std::strerror(errno));
        }
        return code;
    }
    return kUsage; // the parser requires a verb
}

static int guarded(Tool &tool) {
    try {
        return run_verb(tool);
    } catch (const Failure &failure) {
        report(tool.globals, failure);
        return failure.exit_code;
    } catch (const std::bad_alloc &) {
        report(tool.globals, Failure(kNoMemory, "out of memory"));
        return kNoMemory;
    } catch (const std::exception &error) {
        report(tool.globals, Failure(kRuntimeError, error.what()));
        return kRuntimeError;
    }
}

// Help and version print to stdout and succeed; every other parse error is a usage error.
static int parse_failed(CLI::App &app, const CLI::ParseError &error, int argc, char **argv) {
    if (error.get_exit_code() == 0) {
        const int code = app.exit(error);
        return std::fflush(stdout) == 0 ? code : kRuntimeError;
    }
    std::fprintf(stderr, "ggufx: %s%s\nTry: ggufx --help\n", escape(error.what()).c_str(),
                 suggestion(app, argc, argv).c_str());
    return kUsage;
}

static int tool_main(int argc, char **argv) {
    prepare_process();
    Globals globals;
    CLI::App app("Open, check, run and measure GGUF models.", "ggufx");
    app.set_version_flag("--version", std::string("ggufx ") + ggufx_version());
    app.require_subcommand(1);
    app.footer("Exit codes: 0 ok, 1 error, 2 usage, 3 invalid file, 4 not supported, 5 no memory,\n"
               "6 check failed, 130 interrupted. Every option is also read from GGUFX_<OPTION>.\n"
               "Examples:\n  ggufx demo\n  ggufx info model.gguf\n"
               "  ggufx run model.gguf -p \"Once upon a time\" --temp 0");
    Tool tool = {app, globals, {}};
    add_common_options(app, globals);
    add_verbs(tool);
    mirror_environment(app);
    finish_commands(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) { return parse_failed(app, error, argc, argv); }
    return guarded(tool);
}

} // namespace ggufx::cli

int main(int argc, char **argv) {
    return ggufx::cli::tool_main(argc, argv);
}
