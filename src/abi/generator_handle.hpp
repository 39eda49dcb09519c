// Handle of include/ggufx/generator.h, and the parts that depend on chat templates and grammars.
// SPDX-License-Identifier: MIT
#pragma once

#include "abi/model_handles.hpp"
#include "generate/generator.hpp"

#include <ggufx/generator.h>

namespace ggufx::abi {
struct ReleaseChat {
    void operator()(const ggufx_chat_template *chat) const {
        release_chat(const_cast<ggufx_chat_template *>(chat));
    }
};
using ChatRef = std::unique_ptr<const ggufx_chat_template, ReleaseChat>;
} // namespace ggufx::abi

struct ggufx_generator {
    ggufx::abi::Tag tag = ggufx::abi::Tag::generator;
    ggufx::Ref<ggufx_session> session;     // these are declared before the generator, which
    ggufx::Ref<ggufx_tokenizer> tokenizer; // uses them
    ggufx::abi::RuntimeRef sampler_runtime;
    ggufx::Ref<ggufx_session> drafts; // session of the draft model; null: none
    ggufx::abi::ChatRef chat;         // for messages; null: that of the model
    bool keeps_reasoning = false;     // GGUFX_GENERATOR_KEEP_REASONING
    ggufx::generate::Generator generator;

    // The rest creates the generator.
    template <class... A>
    ggufx_generator(const ggufx::Ref<ggufx_session> &s, ggufx::Ref<ggufx_tokenizer> t,
                    ggufx::abi::RuntimeRef rt, ggufx::Ref<ggufx_session> d, ggufx::abi::ChatRef c,
                    A &&...more)
        : session(s), tokenizer(std::move(t)), sampler_runtime(std::move(rt)), drafts(std::move(d)),
          chat(std::move(c)), generator(std::forward<A>(more)...) {}
};

namespace ggufx::abi {

// Writes an event to the struct of a caller. Throws. (generator.cpp)
void put_event(ggufx_event *out, const generate::Event &event);

// These throw. (generator_chat.cpp, without_chat.cpp)
Ref<generate::Grammar> import_grammar(const ggufx_grammar *grammar,
                                      const ggufx_tokenizer *tokenizer, uint64_t n_vocab);
ChatRef import_chat(const ggufx_chat_template *chat);
Ref<generate::Format> restore_format(const ggufx_generator &generator,
                                     const generate::FormatTexts &of); // from a snapshot
void import_messages(generate::Prompt &out, const ggufx_generator &generator,
                     const ggufx_chat_request &request);
void import_chat_prompt(generate::Prompt &out, const ggufx_generator &generator,
                        const ggufx_chat_prompt *prompt); // (chat_prompt.cpp)

} // namespace ggufx::abi
