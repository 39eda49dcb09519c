// Handles of include/ggufx/chat.h.
// SPDX-License-Identifier: MIT
#pragma once

#include "abi/model_handles.hpp"
#include "chat/chat.hpp"
#include "chat/output.hpp"
#include "generate/chat/output_tokens.hpp"
#include "generate/events.hpp"
#include "tokenizer/tokenizer.hpp"

namespace ggufx::abi {
// Special tokens of a tokenizer in the output of a template's models.
struct ChatTokens {
    RefCount refs;
    Ref<Host> host;
    Ref<ggufx_tokenizer> tokenizer;
    generate::OutputTokens tokens;
    ChatTokens(const Ref<Host> &h, Ref<ggufx_tokenizer> t, const chat::Template &program,
               const Ref<chat::OutputFormat> &format)
        : host(h), tokenizer(std::move(t)), tokens(h, program, format, tokenizer->tokenizer) {}
    void retain() { refs.retain(); }
    void release() {
        if (!refs.release()) return;
        const Ref<Host> keep = host;
        unmake(*keep, this);
    }
};
} // namespace ggufx::abi

struct ggufx_chat_template {
    ggufx::abi::Tag tag = ggufx::abi::Tag::chat;
    ggufx::RefCount refs;
    ggufx::chat::Template program;
    ggufx::Ref<ggufx::chat::OutputFormat> format; // output format of the template's models
    // Special tokens of the first tokenizer that a generator uses with the template.
    ggufx::Atomic<ggufx::abi::ChatTokens *> tokens{nullptr};
    ggufx_chat_template(const ggufx::Ref<ggufx::Host> &host, std::string_view source,
                        std::string_view bos, std::string_view eos)
        : program(host, source, bos, eos), format(ggufx::chat::find_output_format(program)) {}

    ~ggufx_chat_template() {
        if (ggufx::abi::ChatTokens *const made = tokens.load(ggufx::Order::acquire))
            made->release();
    }

    void retain() { refs.retain(); }
    void release(); // frees itself
};

struct ggufx_chat_request;

namespace ggufx::abi {

// An empty JSON array means no tools. (chat_parser.cpp)
bool has_tools(std::string_view json);
// Compiles the template of a file. Throws the errors of ggufx_chat_template_create. (chat.cpp)
ggufx_chat_template *make_file_chat(const Ref<Host> &host, const gguf::File &file);
// Checks the structs of a request, and of its progress. Throws. (chat.cpp)
void check_request(const ggufx_chat_request &request);
// Renders a request into `output`: the text, and the origin of its bytes (template or messages).
// Returns the progress hook of the request. empties: the message to be continued has no text.
// Throws. (chat.cpp)
Progress render_request(chat::Output &output, const ggufx_chat_template &chat,
                        const ggufx_chat_request *request, bool empties = false);

// Tokenizes a rendered request; the prompt begins at the index that it returns. Throws. (chat.cpp)
size_t tokenize_rendered(model::Ids &ids, const chat::Output &output, const Progress &progress,
                         const ggufx_chat_template &chat, const model::Tokenizer &tokenizer,
                         bool adds_special);

} // namespace ggufx::abi

struct ggufx_chat_parser {
    ggufx::abi::Tag tag = ggufx::abi::Tag::chat_parser;
    ggufx::generate::EventQueue queue;
    ggufx::chat::OutputParser parser; // its events go to the queue
    ggufx_chat_parser(const ggufx::Ref<ggufx::Host> &host,
                      ggufx::Ref<ggufx::chat::OutputFormat> format,
                      const ggufx::chat::ParserOptions &options)
        : queue(host.get()), parser(host, std::move(format), options, {&queue, add_event}) {}

private:
    static void add_event(void *queue, uint32_t kind, uint64_t call, std::string_view text);
};
