// Candidates for the next word, and `ggufx completion`: the scripts that ask for them.
// SPDX-License-Identifier: MIT
#include "completion.hpp"

#include "common/aliases.hpp"
#include "common/api.hpp"
#include "common/output.hpp"
#include "common/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace ggufx::cli {

namespace {

// Position of the word to complete.
struct Place {
    CommandPath path;
    size_t n_arguments = 0;
    const OptionFacts *option = nullptr; // the option that needs a value
    bool only_arguments = false;         // after "--"
};

} // namespace

// Ignores case, as in names of types.
static bool starts_with(const std::string &word, const std::string &start) {
    const auto equal = [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) ==
               std::tolower(static_cast<unsigned char>(b));
    };
    return word.size() >= start.size() &&
           std::equal(start.begin(), start.end(), word.begin(), equal);
}

static const CommandFacts *find_command(const CommandFacts &in, const std::string &name) {
    for (const CommandFacts &command : in.commands) {
        if (command.name == name) return &command;
    }
    return nullptr;
}

static void pass(Place &place, const std::string &word) {
    if (place.option) {
        place.option = nullptr;
    } else if (!place.only_arguments && word == "--") {
        place.only_arguments = true;
    } else if (!place.only_arguments && word.size() > 1 && word[0] == '-') {
        const OptionFacts *option = find_option(place.path, word); // "--a=b" includes its value
        if (option && !option->value.empty()) place.option = option;
    } else if (const CommandFacts *command = find_command(*place.path.back(), word)) {
        if (command->name != "help") place.path.push_back(command); // a command's name follows help
    } else {
        place.n_arguments++;
    }
}

static void add_types(std::vector<Candidate> &out) {
    for (const ggufx_type_facts &type : all_types()) {
        if (type.flags & (GGUFX_TYPE_IS_ACTIVATION | GGUFX_TYPE_IS_INTEGER)) continue;
        out.push_back({type.name, fmt::format("{:.4g} bits per value",
                                              8.0 * type.block_bytes / type.block_values)});
    }
}

static void add_kv_types(std::vector<Candidate> &out) {
    for (const std::string &name : kv_type_names()) out.push_back({name, ""});
}

static void add_recipes(std::vector<Candidate> &out) {
    for (size_t i = 0; i < ggufx_file_type_count(); i++) {
        const auto recipe =
            facts<ggufx_file_type_facts>([&](ggufx_file_type_facts *to, ggufx_error *error) {
                return ggufx_file_type_at(to, i, error);
            });
        out.push_back({recipe.name, ""});
    }
}

// Returns the values of an option that have names.
static std::vector<Candidate> named_values(const OptionFacts &option, bool all_isas) {
    std::vector<Candidate> out;
    for (const std::string &value : option.values) out.push_back({value, ""});
    if (option.value == "TYPE" || option.value == "TYPES") add_types(out);
    if (option.value == "KVTYPE") add_kv_types(out);
    if (option.value == "RECIPE") add_recipes(out);
    if (option.value == "OUTTYPE") { // ggufx convert
        for (const char *type : {"auto", "f32", "f16", "bf16", "q8_0"}) out.push_back({type, ""});
    }
    if (option.value == "ISA") {
        for (const IsaName &isa : kIsaNames) out.push_back({isa.name, ""});
    }
    if (option.value == "TYPES" || (option.value == "ISA" && all_isas)) out.push_back({"all", ""});
    return out;
}

static bool is_file(const OptionFacts &option) {
    static const char *const kFiles[] = {"FILE",  "FOLDER", "IN", "OUT", "MODEL",
                                         "INPUT", "A",      "B",  "REF", "PREFIX"};
    const auto named = [&](const char *name) {
        return option.is_argument ? option.names[0] == name : option.value == name;
    };
    return std::any_of(std::begin(kFiles), std::end(kFiles), named);
}

// `before`: the part of the word before the value, "--type=".
static Completion complete_value(const OptionFacts &option, bool all_isas,
                                 const std::string &before, const std::string &start) {
    Completion out;
    out.files = is_file(option);
    const bool is_list = option.is_list || (option.value == "ISA" && all_isas);
    const size_t comma = is_list ? start.rfind(',') : std::string::npos;
    const size_t kept = comma == std::string::npos ? 0 : comma + 1;
    for (Candidate &value : named_values(option, all_isas)) {
        if (!starts_with(value.word, start.substr(kept))) continue;
        value.word = before + start.substr(0, kept) + value.word;
        out.words.push_back(std::move(value));
    }
    return out;
}

static Completion complete_option(const Place &place, const std::string &start) {
    Completion out;
    for (auto at = place.path.rbegin(); at != place.path.rend(); at++) {
        for (const OptionFacts &option : (*at)->options) {
            if (option.is_argument || !starts_with(option.names[0], start)) continue;
            const bool known = std::any_of(out.words.begin(), out.words.end(), [&](const auto &c) {
                return c.word == option.names[0]; // --help and -f exist at several levels
            });
            if (!known) out.words.push_back({option.names[0], option.help});
        }
    }
    return out;
}

static Completion complete_argument(const Place &place, const std::string &start) {
    Completion out;
    const CommandFacts &command = *place.path.back();
    for (const CommandFacts &sub : command.commands) {
        if (starts_with(sub.name, start)) out.words.push_back({sub.name, sub.help});
    }
    size_t index = 0;
    for (const OptionFacts &option : command.options) {
        if (!option.is_argument) continue;
        if (index == place.n_arguments || (index < place.n_arguments && option.is_repeated)) {
            return complete_value(option, false, "", start);
        }
        index++;
    }
    return out;
}

Completion complete(const CommandFacts &tool, const std::vector<std::string> &words) {
    if (words.empty()) return {};
    Place place;
    place.path.push_back(&tool);
    for (size_t i = 0; i + 1 < words.size(); i++) pass(place, words[i]);
    const std::string &last = words.back();
    const std::string verb = place.path.size() > 1 ? place.path[1]->name : "";
    const bool all_isas = verb == "bench" || verb == "selftest"; // take --isa all, and lists
    if (place.option) return complete_value(*place.option, all_isas, "", last);
    if (place.only_arguments || last.empty() || last[0] != '-') {
        return complete_argument(place, last);
    }
    const size_t equals = last.find('=');
    if (equals == std::string::npos) return complete_option(place, last);
    const OptionFacts *option = find_option(place.path, last.substr(0, equals));
    if (!option || option->value.empty()) return {};
    return complete_value(*option, all_isas, last.substr(0, equals + 1), last.substr(equals + 1));
}

int print_completion(const CommandFacts &tool, int argc, char **argv) {
    std::vector<std::string> words(argv + 2, argv + argc);
    const std::string last = words.back();
    words.pop_back();
    (void)replace_aliases(tool, words); // a wrong one is no reason to complete nothing
    words.push_back(last);
    const Completion out = complete(tool, words);
    std::puts(out.files ? "files" : "words");
    for (const Candidate &c : out.words)
        std::printf("%s\t%s\n", escape(c.word).c_str(), c.help.c_str());
    return std::fflush(stdout) == 0 ? kOk : kRuntimeError;
}

static int print_script(const Globals &globals, size_t shell) {
    Output out(globals);
    out.write(kCompletionScripts[shell]);
    out.finish();
    return kOk;
}

void add_completion(Tool &tool) {
    auto shell = std::make_shared<size_t>();
    Command sub = tool.app.add_command("completion", "print a shell's completion script");
    sub.choice(
           "SHELL", kShells, [shell](size_t chosen) { *shell = chosen; }, "shell")
        .required();
    sub.examples("  eval \"$(ggufx completion bash)\"\n"
                 "  ggufx completion zsh > ~/.zfunc/_ggufx\n"
                 "  ggufx completion fish > ~/.config/fish/completions/ggufx.fish");
    tool.verbs.emplace_back(sub, [&tool, shell] { return print_script(tool.globals, *shell); });
}

} // namespace ggufx::cli
