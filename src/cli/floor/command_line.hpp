// The command line as the verbs declare it: names, targets, checks. The parser behind it is a
// header of many seconds per file, which command_line.cpp alone includes.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/command_facts.hpp"

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

// An option or an argument of a command; a handle, as Command is.
class Option {
public:
    explicit Option(CLI::Option *option) : option_(option) {}
    Option &required();
    Option &list();       // "a,b,c", and may be given again
    Option &repeatable(); // one value at a time, may be given again
    Option &between(uint64_t low, uint64_t high);
    Option &within(double low, double high);
    Option &one_of(const std::vector<std::string> &values);
    Option &excludes(const Option &other);
    // What the value, which then cannot be empty, is called in help and manual. These have
    // completions: FILE, FOLDER, TYPE, TYPES (also "all"), KVTYPE, OUTTYPE, RECIPE, ISA.
    Option &value(const std::string &name);
    bool was_given() const; // on the command line or in the environment

private:
    CLI::Option *option_;
};

class Command {
public:
    explicit Command(CLI::App *app) : app_(app) {}
    Command add_command(const std::string &name, const std::string &help);
    void require_command(); // one of those added is needed
    // `names` are "-f,--file" or, without a dash, an argument's. The values must outlive parsing.
    // T: std::string, float, unsigned, uint64_t; vectors of all but float.
    template <class T> Option option(const std::string &names, T &value, const std::string &help);
    // A random seed: a whole number, or -1, which is no value: one is to be drawn.
    Option seed(const std::string &names, std::optional<uint64_t> &value, const std::string &help);
    Option flag(const std::string &names, bool &value, const std::string &help);
    // One of some names; `chosen` gets its index.
    Option choice(const std::string &names, const std::vector<std::string> &values,
                  std::function<void(size_t)> chosen, const std::string &help);
    void examples(const std::string &text);

    bool was_given() const;
    std::string path() const; // "bench matvec"

private:
    CLI::App *app_;
};

// Checks the text of a seed: an error message, or empty; "0x1f" becomes decimal. parse_seed() reads a
// checked text: no seed for -1.
std::string check_seed(std::string &text);
std::optional<uint64_t> parse_seed(const std::string &text);

// A word that users of other programs type for a command, and what to do here.
struct OtherWord {
    const char *word, *advice;
};

class CommandLine {
public:
    CommandLine(const std::string &name, const std::string &help, const std::string &version);
    ~CommandLine();
    Command root();
    void notes(const std::string &text); // at the end of the tool's own help
    void other_words(std::vector<OtherWord> words) { other_words_ = std::move(words); }
    // The exit code when that is all there is to do: help, version, or a mistake told on stderr.
    std::optional<int> parse(int argc, char **argv);
    CommandFacts describe(); // all that was declared

private:
    void finish(); // what every command and option gets
    std::string unknown_word() const;
    std::string unknown_command(const std::string &word) const;

    bool is_finished_ = false;
    std::string notes_;
    std::vector<OtherWord> other_words_;
    std::unique_ptr<CLI::App> app_;
};

} // namespace ggufx::cli
