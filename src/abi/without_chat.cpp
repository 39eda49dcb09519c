// Stubs of the chat and grammar functions in builds with -Dchat=false: hosts link and load as usual,
// but cannot create objects.
// SPDX-License-Identifier: MIT
#include "abi/generator_handle.hpp"
#include "abi/guard.hpp"
#include "abi/options.hpp"

#include <ggufx/chat.h>
#include <ggufx/grammar.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

[[noreturn]] void refuse_chats() {
    fail(Status::unsupported, At(), "this library was built without chat templates");
}

[[noreturn]] void refuse_grammars() {
    fail(Status::unsupported, At(), "this library was built without grammars");
}

} // namespace

extern "C" ggufx_status ggufx_chat_template_create(ggufx_chat_template **out, const ggufx_runtime *,
                                                   const ggufx_file *,
                                                   const ggufx_chat_template_options *,
                                                   ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, refuse_chats);
}

extern "C" void ggufx_chat_template_destroy(ggufx_chat_template *) {
    // no objects exist
}

extern "C" const char *ggufx_chat_template_builtin_name(size_t) {
    return nullptr;
}

extern "C" ggufx_status ggufx_chat_template_render(char *, size_t, size_t *,
                                                   const ggufx_chat_template *,
                                                   const ggufx_chat_request *, ggufx_error *error) {
    return guard(error, refuse_chats);
}

extern "C" ggufx_status ggufx_chat_template_spans(ggufx_chat_span *, size_t, size_t *,
                                                  const ggufx_chat_template *,
                                                  const ggufx_chat_request *, ggufx_error *error) {
    return guard(error, refuse_chats);
}

extern "C" ggufx_status ggufx_chat_template_tokenize(int32_t *, size_t, size_t *,
                                                     const ggufx_chat_template *,
                                                     const ggufx_tokenizer *,
                                                     const ggufx_chat_request *, uint32_t,
                                                     ggufx_error *error) {
    return guard(error, refuse_chats);
}

extern "C" ggufx_status ggufx_chat_template_info(ggufx_chat_template_facts *,
                                                 const ggufx_chat_template *, ggufx_error *error) {
    return guard(error, refuse_chats);
}

extern "C" ggufx_status ggufx_chat_parser_info(ggufx_chat_parser_facts *, const ggufx_chat_parser *,
                                               ggufx_error *error) {
    return guard(error, refuse_chats);
}

extern "C" ggufx_status ggufx_chat_parser_create(ggufx_chat_parser **out, const ggufx_runtime *,
                                                 const ggufx_chat_parser_options *,
                                                 ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, refuse_chats);
}

extern "C" void ggufx_chat_parser_destroy(ggufx_chat_parser *) {
    // no objects exist
}

extern "C" ggufx_status ggufx_chat_parser_feed(ggufx_chat_parser *, const char *, size_t,
                                               ggufx_error *error) {
    return guard(error, refuse_chats);
}

extern "C" ggufx_status ggufx_chat_parser_finish(ggufx_chat_parser *, ggufx_error *error) {
    return guard(error, refuse_chats);
}

extern "C" ggufx_status ggufx_chat_parser_poll(ggufx_event *, ggufx_chat_parser *,
                                               ggufx_error *error) {
    return guard(error, refuse_chats);
}

void ggufx::abi::release_chat(ggufx_chat_template *) {
    // no objects exist
}

ChatRef ggufx::abi::import_chat(const ggufx_chat_template *chat) {
    if (chat) refuse_chats();
    return nullptr;
}

void ggufx::abi::import_messages(generate::Prompt &, const ggufx_generator &,
                                 const ggufx_chat_request &) {
    refuse_chats();
}

Ref<generate::Format> ggufx::abi::restore_format(const ggufx_generator &,
                                                 const generate::FormatTexts &) {
    refuse_chats();
}

extern "C" ggufx_status ggufx_chat_prompt_create(ggufx_chat_prompt **out,
                                                 const ggufx_chat_prompt_options *,
                                                 ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, refuse_chats);
}

extern "C" void ggufx_chat_prompt_destroy(ggufx_chat_prompt *) {
    // no objects exist
}

extern "C" ggufx_status ggufx_chat_prompt_tokens(int32_t *, size_t, size_t *,
                                                 const ggufx_chat_prompt *, ggufx_error *error) {
    return guard(error, refuse_chats);
}

void ggufx::abi::import_chat_prompt(generate::Prompt &, const ggufx_generator &,
                                    const ggufx_chat_prompt *) {
    refuse_chats();
}

extern "C" ggufx_status ggufx_grammar_create(ggufx_grammar **out, const ggufx_runtime *,
                                             const ggufx_tokenizer *, const ggufx_grammar_options *,
                                             ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, refuse_grammars);
}

extern "C" void ggufx_grammar_destroy(ggufx_grammar *) {
    // no objects exist
}

extern "C" ggufx_status ggufx_matcher_create(ggufx_matcher **out, const ggufx_grammar *,
                                             ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, refuse_grammars);
}

extern "C" ggufx_status ggufx_matcher_clone(ggufx_matcher **out, const ggufx_matcher *,
                                            ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, refuse_grammars);
}

extern "C" void ggufx_matcher_destroy(ggufx_matcher *) {
    // no objects exist
}

extern "C" ggufx_status ggufx_matcher_accept(ggufx_matcher *, const int32_t *, size_t,
                                             ggufx_error *error) {
    return guard(error, refuse_grammars);
}

extern "C" ggufx_status ggufx_matcher_rollback(ggufx_matcher *, uint64_t, ggufx_error *error) {
    return guard(error, refuse_grammars);
}

extern "C" ggufx_status ggufx_matcher_mask(uint32_t *, size_t, ggufx_matcher *,
                                           ggufx_error *error) {
    return guard(error, refuse_grammars);
}

extern "C" ggufx_status ggufx_matcher_info(ggufx_matcher_facts *, const ggufx_matcher *,
                                           ggufx_error *error) {
    return guard(error, refuse_grammars);
}

Status ggufx::abi::sample_matching(int32_t *, float *, sampling::Chain &, ggufx_matcher *,
                                   const float *, size_t, Failure *) {
    refuse_grammars();
}

Ref<generate::Grammar> ggufx::abi::import_grammar(const ggufx_grammar *grammar,
                                                  const ggufx_tokenizer *, uint64_t) {
    if (grammar) refuse_grammars();
    return {};
}
