// SPDX-License-Identifier: MIT
#include "common/aliases.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace ggufx::cli {

namespace {

// An alias exists where a command has the option and none of that name of its own.
struct Alias {
    const char *names;
    const char *option; // or an argument; "--option=value": a flag of llama.cpp
};

// Names of llama.cpp's programs (common/arg.cpp, llama-bench) whose meaning is the same here.
constexpr Alias kAliases[] = {
    {"-m,--model", "MODEL"},
    {"-c,--ctx-size", "--ctx"},
    {"--n-predict,--n-gen", "--predict"},
    {"-p,--n-prompt", "--prompt-tokens"}, // llama-bench
    {"--n-depth", "--depth"},
    {"--repetitions", "--rounds"},
    {"-ngl,--gpu-layers,--n-gpu-layers", "--device-layers"},
    {"-s", "--seed"},
    {"--temperature", "--temp"},
    {"--typical", "--typical-p"},
    {"--top-nsigma", "--top-n-sigma"},
    {"-l", "--logit-bias"},
    {"-ctk,--cache-type-k", "--ctk"},
    {"-ctv,--cache-type-v", "--ctv"},
    {"-ub,--ubatch-size", "--batch"},
    {"-np", "--parallel"},
    {"-md,--model-draft", "--draft"},
    {"-sys,--system-prompt", "--system"},
    {"--grammar-file", "--grammar"},
    {"-j,-jf,--json-schema-file", "--json-schema"},
    {"--lora-scaled", "--lora"},
    {"--control-vector-scaled", "--control-vector"},
    {"-a", "--alias"},
    {"--slot-save-path", "--slot-dir"},
    {"--no-mmap", "--weights=copy"},
};

// Attention is always fused: commands with types of a KV cache accept these names without effect,
// with a value of llama.cpp or without.
constexpr Alias kFlashAttention = {"-fa,--flash-attn", "--ctk"};
constexpr std::string_view kFlashValues[] = {"on", "off", "auto", "1", "0"};

std::vector<std::string> split_names(std::string_view names) {
    std::vector<std::string> out;
    while (!names.empty()) {
        const size_t end = std::min(names.find(','), names.size());
        out.emplace_back(names.substr(0, end));
        names.remove_prefix(std::min(end + 1, names.size()));
    }
    return out;
}

bool has_name(const std::vector<std::string> &names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

const AliasFacts *find_alias(const CommandPath &path, std::string_view name) {
    for (const AliasFacts &alias : path.back()->aliases)
        if (has_name(alias.names, name)) return &alias;
    return nullptr;
}

// Whether the word after `word` is the value of an option: "-o", "--output", "-vo".
bool takes_next(const CommandPath &path, const std::string &word) {
    if (const OptionFacts *option = find_option(path, word)) return !option->value.empty();
    if (word.starts_with("--")) return false;
    for (size_t i = 1; i < word.size(); i++) { // flags, until one takes the rest as its value
        const OptionFacts *option = find_option(path, std::string("-") + word[i]);
        if (!option) return false;
        if (!option->value.empty()) return i + 1 == word.size();
    }
    return false;
}

// Replaces aliases from the left to the right.
class Replacing {
public:
    Replacing(const CommandFacts &tool, std::vector<std::string> &words)
        : path_{&tool}, words_(words) {}

    std::string run() {
        while (at_ < words_.size() && words_[at_] != "--") {
            const std::string error = step();
            if (!error.empty()) return error;
        }
        return "";
    }

private:
    std::string step() {
        const std::string &word = words_[at_];
        if (word.size() < 2 || word[0] != '-') {
            enter_command(word);
            at_++;
            return "";
        }
        const size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
        const std::string name = word.substr(0, equals);
        const bool is_option = find_option(path_, name) != nullptr;
        const AliasFacts *alias = is_option ? nullptr : find_alias(path_, name);
        if (!alias) {
            at_ += equals == std::string::npos && takes_next(path_, word) ? 2u : 1u;
            return "";
        }
        if (alias->option.empty()) return drop();
        if (alias->option[0] != '-') return move_model(name, equals);
        words_[at_].replace(0, name.size(), alias->option);
        at_ += equals == std::string::npos && !alias->value.empty() ? 2u : 1u;
        return "";
    }

    void enter_command(const std::string &word) {
        for (const CommandFacts &command : path_.back()->commands) {
            if (command.name != word) continue;
            path_.push_back(&command);
            first_argument_ = at_ + 1;
            return;
        }
    }

    std::string drop() {
        const auto word = words_.begin() + static_cast<std::ptrdiff_t>(at_);
        const bool has_value = word + 1 != words_.end() && word->find('=') == std::string::npos &&
                               std::find(std::begin(kFlashValues), std::end(kFlashValues),
                                         word[1]) != std::end(kFlashValues);
        words_.erase(word, word + (has_value ? 2 : 1));
        return "";
    }

    // The model becomes the first argument.
    std::string move_model(const std::string &name, size_t equals) {
        if (has_model_) return name + " is given more than once: give it once";
        const auto word = words_.begin() + static_cast<std::ptrdiff_t>(at_);
        const bool has_value = equals != std::string::npos;
        if (!has_value && word + 1 == words_.end())
            return name + " needs a value: " + name + " MODEL";
        std::string model = has_value ? word->substr(equals + 1) : word[1];
        if (model.size() > 1 && model[0] == '-') model.insert(0, "./"); // no option
        words_.erase(word, word + (has_value ? 1 : 2));
        words_.insert(words_.begin() + static_cast<std::ptrdiff_t>(first_argument_), model);
        has_model_ = true;
        at_++;
        return "";
    }

    CommandPath path_;
    std::vector<std::string> &words_;
    size_t at_ = 0;
    size_t first_argument_ = 0; // after the name of the command
    bool has_model_ = false;
};

} // namespace

const OptionFacts *find_option(const CommandFacts &command, std::string_view name) {
    const auto found = std::find_if(command.options.begin(), command.options.end(),
                                    [&](const OptionFacts &o) { return has_name(o.names, name); });
    return found == command.options.end() ? nullptr : &*found;
}

const OptionFacts *find_option(const CommandPath &path, std::string_view name) {
    for (const CommandFacts *command : path)
        if (const OptionFacts *option = find_option(*command, name)) return option;
    return nullptr;
}

std::vector<AliasFacts> aliases_of(const CommandFacts &command) {
    std::vector<AliasFacts> out;
    if (!find_option(command, "MODEL")) return out;
    const auto add = [&](const Alias &alias, bool has_effect) {
        const std::string_view meaning = alias.option;
        const size_t name_end = std::min(meaning.find('='), meaning.size());
        const OptionFacts *option = find_option(command, meaning.substr(0, name_end));
        if (!option) return;
        AliasFacts facts;
        for (std::string &name : split_names(alias.names))
            if (!find_option(command, name)) facts.names.push_back(std::move(name));
        if (facts.names.empty()) return;
        if (has_effect) {
            facts.option = alias.option;
            if (name_end == meaning.size())
                facts.value = option->is_argument ? alias.option : option->value;
        }
        out.push_back(std::move(facts));
    };
    for (const Alias &alias : kAliases) add(alias, true);
    add(kFlashAttention, false);
    return out;
}

std::string replace_aliases(const CommandFacts &tool, std::vector<std::string> &words) {
    return Replacing(tool, words).run();
}

} // namespace ggufx::cli
