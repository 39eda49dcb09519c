// Formats of the answers to conversations: free, or as a plan constrains them.
// SPDX-License-Identifier: MIT
#pragma once

#include "abi/chat_handles.hpp"
#include "abi/generator_handle.hpp"
#include "generate/chat/answer_plan.hpp"

struct ggufx_chat_prompt {
    ggufx::abi::Tag tag = ggufx::abi::Tag::chat_prompt;
    ggufx::Ref<ggufx::Host> host;
    ggufx::Ref<ggufx_tokenizer> tokenizer;
    ggufx::Vector<int32_t> ids;
    ggufx::Ref<ggufx::generate::Format> format;
    ggufx_chat_prompt(const ggufx::Ref<ggufx::Host> &h, ggufx::Ref<ggufx_tokenizer> t)
        : host(h), tokenizer(std::move(t)), ids(ggufx::HostAllocator<int32_t>(h.get())) {}
};

namespace ggufx::abi {

// Texts of the conversation that decide the form of its output.
struct AnswerTexts {
    std::string_view prompt; // its end
    std::string_view begun;  // markers that were written before the output
    std::string_view tools;
};

struct AnswerOptions {
    AnswerTexts of;
    bool keeps_reasoning = false; // as text of the answer
    bool has_one_call = false;    // the output ends after one tool call
    bool ignores_calls = false;   // tool calls are text
    // A constrained answer, with its grammars; null: a free one.
    const generate::AnswerPlan::Request *request = nullptr;
    generate::GrammarSource *grammars = nullptr;
};

// Renders and tokenizes a conversation; returns the form of its output. Throws. (generator_chat.cpp)
Ref<generate::Format> read_conversation(Vector<int32_t> &ids, const ggufx_chat_template &chat,
                                        const Ref<ggufx_tokenizer> &tokenizer,
                                        const ggufx_chat_request &request, AnswerOptions options,
                                        bool adds_special);

} // namespace ggufx::abi
