// Turns of a conversation and their file formats: JSON, and Markdown for reading. Both can be
// loaded again.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/json.hpp"

#include <ggufx/generator.h>

namespace ggufx::cli {

struct ToolCall {
    std::string id, name, arguments; // arguments are JSON
};

struct Turn {
    std::string role; // "system", "user", "assistant" or "tool"
    std::string content;
    std::string reasoning;
    std::vector<ToolCall> calls;
    std::string call_id, name; // role "tool": the call that this turn answers

    // Adds an event of a generator. n_calls: tool calls of the conversation so far.
    void add(const ggufx_event &event, size_t &n_calls);
};

class Conversation {
public:
    std::vector<Turn> turns;

    void set_system(const std::string &text); // empty: no system prompt
    // Removes the oldest user turn and its answers, never the system prompt. Returns false if there
    // is only one user turn.
    bool drop_oldest();
    // Removes turns down to the last user turn and returns its text; false if there is none.
    bool undo(std::string &text);
    // Returns the first call of the last answer without a result; NULL if all have results.
    const ToolCall *waiting_call() const;
    void add_result(const std::string &text); // adds the result of waiting_call()
    bool ends_with_answer() const; // ends with an answer without calls, which can be continued

    Json to_json() const; // array of messages
    // To_json() for templates: the content of a message with calls only is null.
    Json to_prompt() const;
    std::string to_markdown() const;
    static Conversation from_json(const Json &file, const std::string &what);
    static Conversation from_markdown(const std::string &text, const std::string &what);

private:
    void name_results(); // assigns results to calls by id, else by order
};

// ".md" is Markdown, any other extension JSON. Throws Failure.
void save_conversation(const Conversation &conversation, const std::string &path, bool force);
Conversation load_conversation(const std::string &path);

} // namespace ggufx::cli
