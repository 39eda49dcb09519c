// Chat template: renders the messages of a request as a prompt.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/history.hpp"
#include "chat/machine.hpp"

namespace ggufx::chat {

struct Message {
    std::string_view role, content;
    bool has_content = false; // otherwise null
    std::string_view parts;   // JSON; replaces the content
    std::string_view tool_calls;
    std::string_view more; // a JSON object with further members
};

struct Request {
    const Message *messages = nullptr;
    size_t n_messages = 0;
    std::string_view messages_json;               // replaces `messages`
    std::string_view tools, documents, variables; // JSON; empty: none
    std::string_view reasoning_effort;
    bool add_generation_prompt = false;
    bool continues = false;   // the prompt ends with the text of the last message
    bool empties = false;     // `continues` an empty message of the assistant in its place
    int enable_thinking = -1; // -1: not set
    bool has_clock = false;
    int64_t clock = 0;
    const CallFormat *calls = nullptr; // form of calls that the template leaves out
    Limits limits;                     // 0: depends on the size of the input
    Progress progress;                 // polled with the steps done so far
};

class Template {
public:
    // Throws the errors of compile().
    Template(const Ref<Host> &host, std::string_view source, std::string_view bos,
             std::string_view eos);
    // Renders a request. Messages are converted to the forms that the template supports
    // (history.hpp). Throws the errors of TemplateMachine::run() and read_json(); their offsets
    // refer to the JSON or the template.
    void render(Output &out, const Request &request) const;
    // Appends the template's own text literals and the texts of its special tokens. They live as
    // long as the template. Throws std::bad_alloc.
    void literals(Vector<std::string_view> &out) const;
    bool reads(std::string_view variable) const; // the template uses the variable
    const Ref<Host> &host() const { return program_.host; }
    std::string_view source() const { return program_.source; }

private:
    Forms forms(const Progress &progress) const;
    // Returns false, without rendering, if this attempt would have the same input as the first.
    bool render_once(Output &out, const Request &request, Attempt attempt) const;

    TemplateProgram program_;
    const Text *bos_ = nullptr, *eos_ = nullptr;
    mutable std::atomic<uint32_t> forms_{0}; // bits of Forms, 0: not probed yet
};

} // namespace ggufx::chat
