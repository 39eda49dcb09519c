// Conversations as Markdown: a heading for each turn, reasoning as a quotation, calls as blocks of
// JSON. Text lines that look like one of these get a leading backslash, so that a saved
// conversation is read back unchanged.
// SPDX-License-Identifier: MIT
#include "chat/conversation.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

constexpr std::string_view kTitle = "# Conversation\n", kHeading = "## ", kNext = "\n## ";
constexpr std::string_view kQuote = ">", kCallLine = "```json call";
constexpr std::string_view kCallBegin = "\n```json call\n", kCallEnd = "\n```\n";

bool is_role(std::string_view word) {
    return !word.empty() && word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == word.npos;
}

bool is_heading(std::string_view line) {
    return line.starts_with(kHeading) && is_role(line.substr(kHeading.size()));
}

// Returns true for lines that would be read as markup, also after leading backslashes.
bool is_special(std::string_view line, bool first) {
    line.remove_prefix(std::min(line.find_first_not_of('\\'), line.size()));
    return is_heading(line) || line == kCallLine || (first && line.starts_with(kQuote));
}

// Calls take(line, is_first) for each line of a text, without line ends.
template <class Take> void each_line(std::string_view text, Take &&take) {
    for (bool first = true;; first = false) {
        const size_t end = text.find('\n');
        take(text.substr(0, end), first);
        if (end == text.npos) return;
        text.remove_prefix(end + 1);
    }
}

std::string escaped(std::string_view text) {
    std::string out;
    each_line(text, [&](std::string_view line, bool first) {
        if (!first) out += "\n";
        if (is_special(line, first)) out += "\\";
        out += line;
    });
    return out;
}

std::string unescaped(std::string_view text) {
    std::string out;
    each_line(text, [&](std::string_view line, bool first) {
        if (!first) out += "\n";
        if (line.starts_with('\\') && is_special(line, first)) line.remove_prefix(1);
        out += line;
    });
    return out;
}

// Removes and returns the quotation at the start of a turn, and the empty line after it.
std::string take_reasoning(std::string_view &body) {
    std::string out;
    bool quoted = false;
    for (bool first = true; body.starts_with(kQuote); first = false) {
        const size_t end = std::min(body.find('\n'), body.size());
        std::string_view line = body.substr(1, end - 1);
        if (line.starts_with(' ')) line.remove_prefix(1);
        if (!first) out += "\n";
        out += line;
        body.remove_prefix(std::min(end + 1, body.size()));
        quoted = true;
    }
    if (quoted && body.starts_with('\n')) body.remove_prefix(1);
    return out;
}

// Removes and returns the blocks of calls at the end of a turn.
std::vector<std::string> take_calls(std::string_view &body) {
    std::vector<std::string> out;
    const size_t at = body.find(kCallBegin);
    std::string_view rest = at == body.npos ? std::string_view() : body.substr(at);
    if (at != body.npos) body = body.substr(0, at);
    while (rest.starts_with(kCallBegin)) {
        rest.remove_prefix(kCallBegin.size());
        const size_t end = std::min(rest.find(kCallEnd), rest.size());
        out.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + kCallEnd.size(), rest.size()));
    }
    return out;
}

} // namespace

std::string Conversation::to_markdown() const {
    std::string out(kTitle);
    const Json messages = to_json();
    for (size_t i = 0; i < turns.size(); i++) {
        const Turn &turn = turns[i];
        out += fmt::format("\n{}{}\n\n", kHeading, turn.role);
        if (!turn.reasoning.empty()) {
            each_line(turn.reasoning, [&](std::string_view line, bool) {
                out += fmt::format("{}{}\n", line.empty() ? ">" : "> ", line);
            });
            out += "\n";
        }
        if (!turn.content.empty()) out += escaped(turn.content) + "\n";
        const Json *const calls = messages.elements()[i].find("tool_calls");
        for (size_t k = 0; calls && k < calls->size(); k++)
            out += fmt::format("{}{}{}", kCallBegin, calls->elements()[k].dump(), kCallEnd);
    }
    return out;
}

Conversation Conversation::from_markdown(const std::string &text, const std::string &what) {
    std::string_view rest = text;
    if (!rest.starts_with(kTitle))
        throw Failure(kInvalidFile, what + ": the file does not begin with \"# Conversation\"");
    rest.remove_prefix(kTitle.size());
    Json messages = Json::array();
    while (!rest.empty()) {
        const std::string_view line = rest.substr(1, std::min(rest.find('\n', 1), rest.size()) - 1);
        if (rest[0] != '\n' || !is_heading(line))
            throw Failure(kInvalidFile, what + ": no turn begins with " + in_quotes(line));
        rest.remove_prefix(std::min(line.size() + 3, rest.size()));
        size_t end = 0; // end of the turn, before the next heading
        for (; (end = rest.find(kNext, end)) != rest.npos; end++)
            if (is_heading(rest.substr(end + 1,
                                       std::min(rest.find('\n', end + 1), rest.size()) - end - 1)))
                break;
        std::string_view body = rest.substr(0, end);
        rest.remove_prefix(std::min(end, rest.size()));
        Json message = Json::object();
        message["role"] = line.substr(kHeading.size());
        const std::string reasoning = take_reasoning(body);
        const std::vector<std::string> calls = take_calls(body);
        if (body.ends_with('\n')) body.remove_suffix(1);
        message["content"] = unescaped(body);
        if (!reasoning.empty()) message["reasoning_content"] = reasoning;
        Json list = Json::array();
        for (const std::string &call : calls) list.push_back(parse_json(call, what + ": a call"));
        if (!calls.empty()) message["tool_calls"] = list;
        messages.push_back(message);
    }
    return from_json(messages, what);
}

} // namespace ggufx::cli
