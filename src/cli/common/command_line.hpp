// Commands and options as the command files declare them: names, targets, checks. CLI11's header
// takes many seconds to compile, so only command_line.cpp includes it.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/command_facts.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace ggufx::cli {

// A handle to an option or an argument of a command.
class Option {
public:
    explicit Option(CLI::Option *option) : option_(option) {}
    Option &required();
    Option &list();       // "a,b,c", may be repeated
    Option &repeatable(); // one value each time, may be repeated
    Option &between(uint64_t low, uint64_t high);
    Option &within(double low, double high);
    Option &one_of(const std::vector<std::string> &values);
    Option &excludes(const Option &other);
    // Sets the placeholder of the value in help and manual; the value must not be empty then. These
    // have completions: FILE, FOLDER, TYPE, TYPES (also "all"), KVTYPE, OUTTYPE, RECIPE, ISA.
    Option &value(const std::string &name);
    bool was_given() const; // on the command line or in the environment

private:
    CLI::Option *option_;
};

class Command {
public:
    explicit Command(CLI::App *app) : app_(app) {}
    Command add_command(const std::string &name, const std::string &help);
    void require_command(); // one of the added commands is required
    // `names`: "-f,--file", or the name of an argument without a dash. `value` must outlive
    // parsing. T: std::string, float, unsigned, uint64_t; vectors of all but float.
    template <class T> Option option(const std::string &names, T &value, const std::string &help);
    // A random seed: a whole number, or -1 (no value) to draw one.
    Option seed(const std::string &names, std::optional<uint64_t> &value, const std::string &help);
    Option flag(const std::string &names, bool &value, const std::string &help);
    // An option with a fixed set of values; `chosen` gets the index.
    Option choice(const std::string &names, const std::vector<std::string> &values,
                  std::function<void(size_t)> chosen, const std::string &help);
    void examples(const std::string &text);

    bool was_given() const;
    std::string path() const; // "bench matvec"

private:
    CLI::App *app_;
};

// check_seed() checks the text of a seed and returns an error message or an empty string; "0x1f"
// becomes decimal. parse_seed() reads a checked text and returns no seed for -1.
std::string check_seed(std::string &text);
std::optional<uint64_t> parse_seed(const std::string &text);

// A command of another program, with advice on what to use here.
struct OtherWord {
    const char *word, *advice;
};

class CommandLine {
public:
    CommandLine(const std::string &name, const std::string &help, const std::string &version);
    ~CommandLine();
    Command root();
    void notes(const std::string &text); // shown at the end of the tool's own help
    void other_words(std::vector<OtherWord> words) { other_words_ = std::move(words); }
    // Returns an exit code if nothing is left to run: help, version, or a usage error on stderr.
    std::optional<int> parse(int argc, char **argv);
    CommandFacts describe(); // everything that was declared

private:
    void finish(); // applies the settings that all commands and options share
    std::string unknown_word() const;
    std::string unknown_command(const std::string &word) const;

    bool is_finished_ = false;
    std::string notes_;
    std::vector<OtherWord> other_words_;
    std::unique_ptr<CLI::App> app_;
};

} // namespace ggufx::cli
