// The turns of a conversation, and the files they are kept in: JSON, and Markdown for people. Both are
// read back.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/json.hpp"

namespace ggufx::cli {

struct ToolCall {
    std::string id, name, arguments; // JSON
};

struct Turn {
    std::string role; // "system", "user", "assistant", "tool"
    std::string content;
    std::string reasoning;
    std::vector<ToolCall> calls;
    std::string call_id, name; // of "tool": the call whose result it is
};

class Conversation {
public:
    std::vector<Turn> turns;

    void set_system(const std::string &text); // empty: none
    // Takes the oldest user's turn and what came of it away, never the system's; false when there
    // is only one.
    bool drop_oldest();
    // Takes turns away down to the last user's, and gives its text; false when there is none.
    bool undo(std::string &text);
    // The first call of the last answer that has no result yet, nothing where all have.
    const ToolCall *waiting_call() const;
    void add_result(const std::string &text); // of that call
    bool ends_with_answer() const;            // without calls: it can go on

    Json to_json() const;   // an array of messages
    Json to_prompt() const; // the same for a template: the content of calls alone is null
    std::string to_markdown() const;
    static Conversation from_json(const Json &file, const std::string &what);
    static Conversation from_markdown(const std::string &text, const std::string &what);

private:
    void name_results(); // by their ids, else by their order
};

// ".md" is Markdown, anything else JSON. Throws Failure.
void save_conversation(const Conversation &conversation, const std::string &path, bool force);
Conversation load_conversation(const std::string &path);

} // namespace ggufx::cli
