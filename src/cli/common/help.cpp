// Paragraphs and columns of help texts; CLI11's own help has no line width.
// SPDX-License-Identifier: MIT
#include "common/help.hpp"

#include <algorithm>

namespace ggufx::cli {

static constexpr size_t kTextColumn = 26; // column at which descriptions of options begin

// Wraps words at `column`; the first line already has `at` columns.
static std::string wrapped(const std::string &text, size_t at, size_t column) {
    std::string out;
    for (size_t i = 0; i < text.size();) {
        size_t end = std::min(text.find(' ', i), text.size());
        const size_t word = i + (text[i] == '(' ? 1 : 0);
        if (text.compare(word, end - word, "default") ==
            0) { // keep "default" and its value on one line
            end = std::min(text.find(' ', end + 1), text.size());
        }
        const size_t gap = at > column ? 1 : 0;
        if (gap && at + gap + (end - i) > kHelpWidth) {
            out += '\n';
            out.append(column, ' ');
            at = column;
        } else if (gap) {
            out += ' ';
            at++;
        }
        out.append(text, i, end - i);
        at += end - i;
        i = end + 1;
    }
    return out + "\n";
}

static std::string entry(const std::string &left, const std::string &text) {
    std::string line = "  " + left;
    const bool has_room = line.size() + 2 <= kTextColumn;
    if (!has_room) line += '\n';
    line.append(has_room ? kTextColumn - line.size() : kTextColumn, ' ');
    return line + wrapped(text, kTextColumn, kTextColumn);
}

static std::string value_of(const OptionFacts &option) {
    if (!option.values.empty()) {
        std::string out = " ";
        for (const std::string &value : option.values) out += (out.size() > 1 ? "|" : "") + value;
        return out;
    }
    if (option.value.empty()) return "";
    return " " + option.value + (option.is_list ? ",..." : "");
}

static std::string option_entry(const OptionFacts &option) {
    std::string left;
    for (auto name = option.names.rbegin(); name != option.names.rend(); name++) {
        left += (left.empty() ? "" : ",") + *name; // the short name first
    }
    std::string text = option.help;
    if (option.is_argument) return entry(left, text);
    if (option.is_required) text += " (required)";
    if (option.is_repeated && !option.is_list) text += "; may be given again";
    return entry(left + value_of(option), text);
}

static std::string usage(const CommandFacts &command, const std::string &path) {
    std::string out = "Usage: " + path + " [OPTIONS]";
    for (const OptionFacts &option : command.options) {
        if (!option.is_argument) continue;
        const std::string name = option.names[0] + (option.is_repeated ? "..." : "");
        out += option.is_required ? " " + name : " [" + name + "]";
    }
    return out + (command.commands.empty() ? "\n" : " COMMAND\n");
}

std::string help_text(const CommandFacts &command, const std::string &path,
                      const std::string &notes) {
    std::string arguments, options, commands;
    for (const OptionFacts &option : command.options) {
        (option.is_argument ? arguments : options) += option_entry(option);
    }
    for (const CommandFacts &sub : command.commands) commands += entry(sub.name, sub.help);
    std::string out = wrapped(path + ": " + command.help, 0, 0) + usage(command, path);
    if (!arguments.empty()) out += "\nArguments:\n" + arguments;
    out += "\nOptions:\n" + options;
    if (!commands.empty()) out += "\nCommands:\n" + commands;
    if (!command.examples.empty()) out += "\nExamples:\n" + command.examples + "\n";
    return out + "\n" + notes;
}

} // namespace ggufx::cli
