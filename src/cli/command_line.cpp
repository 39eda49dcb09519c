// Implementation of command_line.hpp on CLI11.
// SPDX-License-Identifier: MIT
#include "command_line.hpp"

#include "cli.hpp"
#include "number_check.hpp"
#include "text.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <type_traits>

namespace ggufx::cli {

static constexpr const char *kCommonHelp =
    "Options of every command: --json, -o/--output FILE, -t/--threads N, --isa NAME, --quiet, -v,\n"
    "--color MODE, --progress MODE, --force; see ggufx --help.";

Option &Option::required() {
    option_->required();
    return *this;
}

Option &Option::list() {
    option_->delimiter(',')->allow_extra_args(false);
    return *this;
}

Option &Option::repeatable() {
    option_->allow_extra_args(false);
    return *this;
}

Option &Option::between(uint64_t low, uint64_t high) {
    option_->check(CLI::Range(low, high));
    return *this;
}

Option &Option::within(double low, double high) {
    option_->check(CLI::Range(low, high));
    return *this;
}

Option &Option::one_of(const std::vector<std::string> &values) {
    option_->check(CLI::IsMember(values));
    return *this;
}

Option &Option::excludes(const Option &other) {
    option_->excludes(other.option_);
    return *this;
}

Option &Option::value(const std::string &name) {
    const auto check = [name](const std::string &text) {
        return text.empty() ? name + " is empty" : std::string();
    };
    option_->type_name(name)->check(CLI::Validator(check, ""));
    return *this;
}

Command Command::add_command(const std::string &name, const std::string &help) {
    return Command(app_->add_subcommand(name, help));
}

void Command::require_command() {
    app_->require_subcommand(1);
}

namespace {

template <class T> struct Element {
    using type = T;
};
template <class T> struct Element<std::vector<T>> {
    using type = T;
};

} // namespace

template <class T>
Option Command::option(const std::string &names, T &value, const std::string &help) {
    CLI::Option *option = app_->add_option(names, value, help);
    using Number = typename Element<T>::type;
    if constexpr (std::is_arithmetic_v<Number>) {
        option->transform(CLI::Validator(check_number<Number>, ""));
    }
    return Option(option);
}

template Option Command::option(const std::string &, std::string &, const std::string &);
template Option Command::option(const std::string &, float &, const std::string &);
template Option Command::option(const std::string &, unsigned &, const std::string &);
template Option Command::option(const std::string &, uint64_t &, const std::string &);
template Option Command::option(const std::string &, std::vector<std::string> &,
                                const std::string &);
template Option Command::option(const std::string &, std::vector<unsigned> &, const std::string &);
template Option Command::option(const std::string &, std::vector<uint64_t> &, const std::string &);

Option Command::flag(const std::string &names, bool &value, const std::string &help) {
    return Option(app_->add_flag(names, value, help));
}

Option Command::choice(const std::string &names, const std::vector<std::string> &values,
                       std::function<void(size_t)> chosen, const std::string &help) {
    const auto choose = [values, chosen = std::move(chosen)](const std::string &value) {
        const auto found = std::find(values.begin(), values.end(), value);
        chosen(static_cast<size_t>(found - values.begin()));
    };
    CLI::Option *option = app_->add_option_function<std::string>(names, choose, help);
    option->check(CLI::IsMember(values));
    return Option(option);
}

void Command::examples(const std::string &text) {
    app_->footer(text);
}

bool Command::was_given() const {
    return app_->parsed();
}

std::string Command::path() const {
    std::string path = app_->get_name();
    for (CLI::App *at = app_->get_parent(); at && at->get_parent(); at = at->get_parent()) {
        path = at->get_name() + " " + path;
    }
    return path;
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

CommandLine::CommandLine(const std::string &name, const std::string &help,
                         const std::string &version)
    : app_(std::make_unique<CLI::App>(help, name)) {
    app_->set_version_flag("--version", name + " " + version);
    app_->require_subcommand(1);
}

CommandLine::~CommandLine() = default;

Command CommandLine::root() {
    return Command(app_.get());
}

void CommandLine::notes(const std::string &text) {
    app_->footer(text);
}

void CommandLine::finish() {
    if (is_finished_) return;
    is_finished_ = true;
    mirror_environment(*app_);
    finish_commands(*app_);
}

// "TEXT:{a,b}" of the parser: the name of a value, and its only values.
static void describe_value(OptionFacts &out, const std::string &type) {
    out.value = type.substr(0, type.find(':'));
    if (out.value == "UINT") out.value = "N";
    if (out.value == "FLOAT") out.value = "X";
    const size_t open = type.find('{');
    if (open == std::string::npos) return;
    const std::string set = type.substr(open + 1, type.find('}') - open - 1);
    for (size_t at = 0; at <= set.size();) {
        const size_t comma = std::min(set.find(',', at), set.size());
        out.values.push_back(set.substr(at, comma - at));
        at = comma + 1;
    }
}

static OptionFacts describe_option(const CLI::Option &option) {
    OptionFacts out;
    out.is_argument = option.get_positional();
    if (out.is_argument) out.names.push_back(option.get_name(true));
    for (const std::string &name : option.get_lnames()) out.names.push_back("--" + name);
    for (const std::string &name : option.get_snames()) out.names.push_back("-" + name);
    out.help = option.get_description();
    if (option.get_items_expected_max() > 0) describe_value(out, option.get_type_name());
    out.is_required = option.get_required();
    out.is_list = option.get_delimiter() == ',';
    out.is_repeated = option.get_items_expected_max() > 1;
    return out;
}

static CommandFacts describe_command(const CLI::App &app) {
    CommandFacts out;
    out.name = app.get_name();
    out.help = app.get_description();
    const std::string footer = app.get_footer(), title = "Examples:\n";
    const size_t at = footer.find(title);
    if (at != std::string::npos) {
        const size_t start = at + title.size();
        out.examples = footer.substr(start, footer.find("\n\n", start) - start);
    }
    for (const CLI::Option *option : app.get_options()) {
        out.options.push_back(describe_option(*option));
    }
    for (const CLI::App *sub : app.get_subcommands([](const CLI::App *) { return true; })) {
        out.commands.push_back(describe_command(*sub));
    }
    return out;
}

CommandFacts CommandLine::describe() {
    finish();
    return describe_command(*app_);
}

// Help and version print to stdout and succeed; every other parse error is a usage error.
std::optional<int> CommandLine::parse(int argc, char **argv) {
    finish();
    try {
        app_->parse(argc, argv);
        return std::nullopt;
    } catch (const CLI::ParseError &error) {
        if (error.get_exit_code() == 0) {
            const int code = app_->exit(error);
            if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
            std::fprintf(stderr, "ggufx: cannot write to standard output: %s\n",
                         std::strerror(errno));
            return kRuntimeError;
        }
        std::string verb; // " bench matvec", as far as one was named
        for (const CLI::App *app = app_.get(); !app->get_subcommands().empty();) {
            app = app->get_subcommands().back();
            verb += " " + app->get_name();
        }
        std::fprintf(stderr, "ggufx: %s%s\nTry: ggufx%s --help\n", escape(error.what()).c_str(),
                     suggestion(*app_, argc, argv).c_str(), verb.c_str());
        return kUsage;
    }
}

} // namespace ggufx::cli
