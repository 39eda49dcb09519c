// Implementation of tools.hpp.
// SPDX-License-Identifier: MIT
#include "chat/tools.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

constexpr unsigned kMostSeconds = 3600;

std::string name_of(const Json &tool) {
    const Json *const function = tool.find("function");
    const Json *const name = (function ? *function : tool).find("name");
    return name && name->text() ? *name->text() : std::string();
}

ToolProgram program_of(const Json &tool, const std::string &what) {
    ToolProgram out;
    const Json &command = *tool.find("command");
    const bool is_list = command.is_array() && command.size() > 0;
    for (size_t i = 0; is_list && i < command.size(); i++) {
        const std::string *const word = command.elements()[i].text();
        if (!word || word->find('\0') != std::string::npos || (i == 0 && word->empty()))
            throw Failure(kInvalidFile, what + ": \"command\" has an entry that is not a string");
        out.command.push_back(*word);
    }
    if (!is_list)
        throw Failure(kInvalidFile,
                      what + ": \"command\" is not a list of a program and its arguments");
    if (const Json *const timeout = tool.find("timeout")) {
        const auto seconds = timeout->whole();
        if (!seconds || *seconds == 0 || *seconds > kMostSeconds)
            throw Failure(kInvalidFile,
                          what + ": \"timeout\" is not a number of seconds from 1 to 3600");
        out.timeout_s = static_cast<unsigned>(*seconds);
    }
    return out;
}

} // namespace

Tools::Tools(const std::string &path) {
    const Json list = parse_json(read_utf8(path), "--tools");
    if (!list.is_array()) throw Failure(kUsage, "--tools: the file is not a list of functions");
    Json shown = Json::array();
    for (const Json &tool : list.elements()) {
        const std::string name = tool.is_object() ? name_of(tool) : std::string();
        if (name.empty()) throw Failure(kInvalidFile, "--tools: a function without a name");
        if (!tool.find("command")) {
            shown.push_back(tool);
            continue;
        }
        programs_.push_back(program_of(tool, "--tools: " + in_quotes(name)));
        names_.push_back(name);
        Json rest = Json::object();
        for (size_t i = 0; i < tool.size(); i++)
            if (tool.keys()[i] != "command" && tool.keys()[i] != "timeout")
                rest[tool.keys()[i]] = tool.elements()[i];
        shown.push_back(rest);
    }
    functions_ = shown.dump();
}

const ToolProgram *Tools::find(const std::string &name) const {
    const auto at = std::find(names_.begin(), names_.end(), name);
    return at == names_.end() ? nullptr : &programs_[static_cast<size_t>(at - names_.begin())];
}

std::vector<std::string> command_of(const ToolProgram &program, const std::string &arguments) {
    Json given;
    try {
        given = parse_json(arguments, "the arguments of the call");
    } catch (const Failure &) {}
    if (!given.is_object())
        throw Failure(kInvalidFile, "the arguments of the call are not a JSON object");
    std::vector<std::string> out;
    for (const std::string &word : program.command) {
        const bool named = word.size() > 2 && word.front() == '{' && word.back() == '}';
        if (!named) {
            out.push_back(word);
            continue;
        }
        const Json *const value = given.find(word.substr(1, word.size() - 2));
        if (value) out.push_back(value->text() ? *value->text() : value->dump());
        if (value && out.back().find('\0') != std::string::npos)
            throw Failure(kInvalidFile, "an argument of the call has a NUL character");
    }
    return out;
}

std::string command_text(const std::vector<std::string> &command) {
    std::string out;
    for (const std::string &word : command) {
        const bool plain =
            !word.empty() &&
            word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "%+,-./:=@_") == std::string::npos;
        std::string shown = word;
        for (size_t at = 0; !plain && (at = shown.find('\'', at)) != std::string::npos; at += 4)
            shown.replace(at, 1, "'\\''");
        if (!out.empty()) out += ' ';
        out += fmt::format("{1}{0}{1}", shown, plain ? "" : "'");
    }
    return escape(out);
}

} // namespace ggufx::cli
