// Commands and options on CLI11. Parse errors suggest the nearest name and say where to find help.
// SPDX-License-Identifier: MIT
#include "common/command_line.hpp"

#include "common/aliases.hpp"
#include "common/help.hpp"
#include "common/number_check.hpp"
#include "common/text.hpp"
#include "common/tool.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <type_traits>
#include <utility>

namespace ggufx::cli {

static constexpr const char *kCommonHelp =
    "Options of every command: --json, -o,--output FILE, -t,--threads N, --isa NAME,\n"
    "-q,--quiet, -v,--verbose, --color MODE, --progress MODE, --force; see\n"
    "ggufx --help.\n";

// Environment variables that set options. Only options of all commands that suit a machine or a
// terminal permanently: a variable that changed a command's input or output would break scripts.
static constexpr const char *kVariables[][2] = {{"GGUFX_THREADS", "--threads"},
                                                {"GGUFX_ISA", "--isa"},
                                                {"GGUFX_COLOR", "--color"},
                                                {"GGUFX_PROGRESS", "--progress"}};

bool Option::was_given() const {
    return option_->count() > 0;
}

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

namespace {

// Range check with a plain message. CLI11's own says "Value -1 not in range 0.000000 to
// 1000000.000000". check_number() has checked the number before.
template <class T> CLI::Validator range_check(T low, T high) {
    const auto check = [low, high](const std::string &text) {
        T number = 0;
        std::from_chars(text.data(), text.data() + text.size(), number);
        if (number >= low && number <= high) return std::string();
        return fmt::format("{} is not a {}number from {} to {}", in_quotes(text),
                           std::is_integral_v<T> ? "whole " : "", low, high);
    };
    return CLI::Validator(check, "");
}

// describe_value() reads the allowed values from the validator's description.
CLI::Validator member_check(const std::vector<std::string> &values) {
    const auto check = [values](const std::string &text) {
        if (std::find(values.begin(), values.end(), text) != values.end()) return std::string();
        return fmt::format("{} is not one of {}{}", in_quotes(text), fmt::join(values, ", "),
                           did_you_mean(text, values));
    };
    return CLI::Validator(check, fmt::format("{{{}}}", fmt::join(values, ",")));
}

} // namespace

Option &Option::between(uint64_t low, uint64_t high) {
    option_->check(range_check(low, high));
    return *this;
}

Option &Option::within(double low, double high) {
    option_->check(range_check(low, high));
    return *this;
}

Option &Option::one_of(const std::vector<std::string> &values) {
    option_->check(member_check(values));
    return *this;
}

Option &Option::excludes(const Option &other) {
    option_->excludes(other.option_);
    return *this;
}

Option &Option::value(const std::string &name) {
    const auto check = [name](const std::string &text) {
        return text.empty() ? name + " must not be empty" : std::string();
    };
    option_->type_name(name)->check(CLI::Validator(check, ""));
    return *this;
}

Command Command::add_command(const std::string &name, const std::string &help) {
    CLI::App *sub = app_->add_subcommand(name, help);
    sub->footer(""); // otherwise CLI11 inherits the parent's footer
    return Command(sub);
}

void Command::require_command() {
    app_->require_subcommand(1);
}

namespace {

template <class T> struct Element { using type = T; };
template <class T> struct Element<std::vector<T>> { using type = T; };

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

std::string check_seed(std::string &text) {
    return text == "-1" ? "" : check_number<uint64_t>(text);
}

std::optional<uint64_t> parse_seed(const std::string &text) {
    if (text == "-1") return std::nullopt;
    return std::stoull(text);
}

Option Command::seed(const std::string &names, std::optional<uint64_t> &value,
                     const std::string &help) {
    const auto take = [&value](const std::string &text) { value = parse_seed(text); };
    CLI::Option *option = app_->add_option_function<std::string>(names, take, help);
    option->transform(CLI::Validator(check_seed, ""))->type_name("N");
    return Option(option);
}

Option Command::flag(const std::string &names, bool &value, const std::string &help) {
    return Option(app_->add_flag(names, value, help)->disable_flag_override());
}

Option Command::choice(const std::string &names, const std::vector<std::string> &values,
                       std::function<void(size_t)> chosen, const std::string &help) {
    const auto choose = [values, chosen = std::move(chosen)](const std::string &value) {
        const auto found = std::find(values.begin(), values.end(), value);
        chosen(static_cast<size_t>(found - values.begin()));
    };
    CLI::Option *option = app_->add_option_function<std::string>(names, choose, help);
    option->check(member_check(values));
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
        path.insert(0, at->get_name() + " ");
    }
    return path;
}

static CLI::App &deepest(CLI::App &app) {
    CLI::App *at = &app;
    while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
    return *at;
}

static std::vector<std::string> command_names(const CLI::App &app) {
    std::vector<std::string> names;
    for (const CLI::App *sub : app.get_subcommands([](const CLI::App *) { return true; })) {
        names.push_back(sub->get_name());
    }
    return names;
}

static std::vector<std::string> option_names(const CLI::App &app) {
    std::vector<std::string> names;
    for (const CLI::App *at = &app; at; at = at->get_parent()) {
        for (const CLI::Option *option : at->get_options()) {
            for (const std::string &name : option->get_lnames()) names.push_back("--" + name);
        }
    }
    return names;
}

// Returns a message for the first word that is no command, option or argument of the last named
// command, with the nearest name. Empty when all words are known.
std::string CommandLine::unknown_word() const {
    const CLI::App &app = deepest(*app_);
    const std::vector<std::string> commands = command_names(app);
    for (const std::string &said : app_->remaining(true)) {
        if (said == "--") continue;
        if (said.starts_with("-")) {
            const std::string word = said.substr(0, said.find('=', 2));
            return "no option " + cli::in_quotes(word) + did_you_mean(word, option_names(app));
        }
        if (commands.empty()) return "unexpected argument " + cli::in_quotes(said);
        if (&app == app_.get()) return unknown_command(said);
        return "no command " + cli::in_quotes(said) + did_you_mean(said, commands);
    }
    return "";
}

// Normalizes the name of a program: "llama-quantize" and "Quantize" become "quantize",
// "convert_hf_to_gguf.py" becomes "convert-hf-to-gguf".
static std::string plain_word(std::string word) {
    for (char &c : word)
        c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (word.ends_with(".py")) word.resize(word.size() - 3);
    if (word.starts_with("llama-")) word.erase(0, 6);
    return word;
}

std::string CommandLine::unknown_command(const std::string &word) const {
    const std::vector<std::string> commands = command_names(*app_);
    const std::string plain = plain_word(word);
    const std::string begin = "no command " + cli::in_quotes(word);
    for (const OtherWord &other : other_words_)
        if (plain == other.word) return begin + ": " + other.advice;
    if (std::find(commands.begin(), commands.end(), plain) != commands.end())
        return begin + ", did you mean \"" + plain + "\"?";
    return begin + did_you_mean(word, commands);
}

CommandLine::CommandLine(const std::string &name, const std::string &help,
                         const std::string &version)
    : app_(std::make_unique<CLI::App>(help, name)) {
    app_->set_help_flag("-h,--help", "print this help"); // before commands, which inherit it
    app_->set_version_flag("--version", name + " " + version, "print the version");
    app_->require_subcommand(1);
}

CommandLine::~CommandLine() = default;

Command CommandLine::root() {
    return Command(app_.get());
}

void CommandLine::notes(const std::string &text) {
    notes_ = text;
}

// Parses CLI11's "TEXT:{a,b}": the placeholder of a value, and its allowed values.
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

// Rewrites an error of the parser in plain words. CLI11's messages begin with the option's name.
static std::string plain_error(const CLI::App &app, const CLI::ParseError &error) {
    const std::string text = error.what();
    const auto has = [&](const char *part) { return text.find(part) != std::string::npos; };
    std::string name = text.substr(0, text.find_first_of(": "));
    if (!app.get_option_no_throw(name)) name.insert(0, "--"); // CLI11 names flags without dashes
    if (error.get_name() == "ArgumentMismatch") {
        if (has("override")) return name + " takes no value";
        if (has("ost 1 required")) return name + " is given more than once: give it once";
        const CLI::Option *const option = app.get_option_no_throw(name);
        const std::string value = option ? describe_option(*option).value : "";
        if (has("missing") && !value.empty())
            return fmt::format("{} needs a value: {} {}", name, name, value);
        if (has("missing")) return name + " needs a value";
    }
    if (error.get_name() == "ExcludesError") {
        const std::string other = text.substr(text.rfind(' ') + 1);
        return fmt::format("{} and {} cannot be used together: give one of them", name, other);
    }
    if (error.get_name() == "ConversionError")
        return name.starts_with("-") ? name + ": the value cannot be read" : text;
    return text == "A subcommand is required" ? "a command is required" : text;
}

static CommandFacts describe_command(const CLI::App &app) {
    CommandFacts out;
    out.name = app.get_name();
    out.help = app.get_description();
    out.examples = app.get_footer();
    for (const CLI::Option *option : app.get_options()) {
        out.options.push_back(describe_option(*option));
    }
    out.aliases = aliases_of(out);
    for (const CLI::App *sub : app.get_subcommands([](const CLI::App *) { return true; })) {
        out.commands.push_back(describe_command(*sub));
    }
    return out;
}

static void finish_command(CLI::App &app, const std::string &notes) {
    const auto help = [notes](const CLI::App *at, const std::string &path, CLI::AppFormatMode) {
        return help_text(describe_command(*at), path, notes);
    };
    app.formatter_fn(help);
    for (CLI::App *sub : app.get_subcommands([](CLI::App *) { return true; })) {
        sub->fallthrough();
        finish_command(*sub, kCommonHelp);
    }
}

void CommandLine::finish() {
    if (std::exchange(is_finished_, true)) return;
    finish_command(*app_, notes_);
}

CommandFacts CommandLine::describe() {
    finish();
    return describe_command(*app_);
}

// Sets options that the command line does not give from the environment.
static void read_environment(CLI::App &app) {
    for (const auto &[variable, name] : kVariables) {
        const char *value = std::getenv(variable);
        CLI::Option *option = app.get_option(name);
        if (!value || !*value || option->count() > 0) continue;
        try {
            option->add_result(value);
            option->run_callback();
        } catch (const CLI::ParseError &error) {
            throw CLI::ValidationError(std::string("the variable ") + variable + ": " +
                                       error.what());
        }
    }
}

// Help and version print to stdout and succeed; every other parse error is a usage error.
std::optional<int> CommandLine::parse(int argc, char **argv) {
    finish();
    std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    const std::string wrong_alias = replace_aliases(describe_command(*app_), words);
    try {
        if (!wrong_alias.empty()) throw CLI::ValidationError(wrong_alias);
        std::reverse(words.begin(), words.end()); // the parser takes them from the end
        app_->parse(std::move(words));
        read_environment(*app_);
        return std::nullopt;
    } catch (const CLI::ParseError &error) {
        std::string said = unknown_word();
        const bool knows_command = !said.starts_with("no command");
        if (error.get_exit_code() == 0 && knows_command) { // an unknown command has no help
            const int code = app_->exit(error);
            if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
            std::fprintf(stderr, "ggufx: cannot write to standard output: %s\n",
                         std::strerror(errno));
            return kRuntimeError;
        }
        std::string verb; // " bench matvec", the commands named so far
        for (const CLI::App *app = app_.get(); !app->get_subcommands().empty();) {
            app = app->get_subcommands().back();
            verb += " " + app->get_name();
        }
        if (said.empty()) said = escape(plain_error(deepest(*app_), error));
        std::fprintf(stderr, "ggufx: %s\nTry: ggufx%s --help\n", said.c_str(), verb.c_str());
        return kUsage;
    }
}

} // namespace ggufx::cli
