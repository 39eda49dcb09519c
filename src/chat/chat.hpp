// A chat template and what it makes of a conversation.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/history.hpp"
#include "chat/machine.hpp"

namespace ggufx::chat {

struct Message {
    std::string_view role, content;
    bool has_content = false; // else null
    std::string_view parts;   // JSON; in place of the content
    std::string_view tool_calls;
    std::string_view more; // an object: members beside these
};

struct Request {
    const Message *messages = nullptr;
    size_t n_messages = 0;
    std::string_view messages_json;               // in their place
    std::string_view tools, documents, variables; // JSON; empty: none
    std::string_view reasoning_effort;
    bool add_generation_prompt = false;
    bool continues = false;   // the last message: the text ends with its text
    int enable_thinking = -1; // -1: not said
    bool has_clock = false;
    int64_t clock = 0;
    Limits limits; // 0: by the size of the input
};

class Template {
public:
    // Throws what compile() throws.
    Template(const Ref<Host> &host, std::string_view source, std::string_view bos,
             std::string_view eos);
    // Histories are put into the forms that the template takes (history.hpp). Throws what
    // Machine::run() and read_json() throw; offsets are those of the JSON or template.
    void render(Output &out, const Request &request) const;
    // Appends the texts that the template itself writes or compares with, and those of its special
    // tokens; they live as long as it. Throws std::bad_alloc.
    void literals(Vector<std::string_view> &out) const;
    bool reads(std::string_view variable) const; // whether the template has it
    const Ref<Host> &host() const { return program_.host; }
    std::string_view source() const { return program_.source; }

private:
    Forms forms() const;
    // False where another try than the first would change nothing, and then nothing is rendered.
    bool render_once(Output &out, const Request &request, Try attempt) const;

    Program program_;
    const Text *bos_ = nullptr, *eos_ = nullptr;
    mutable std::atomic<uint32_t> forms_{0}; // bits of Forms, 0: not found yet
};

} // namespace ggufx::chat
