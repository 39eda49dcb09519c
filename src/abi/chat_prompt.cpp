// Conversations made ready for generators: ggufx_chat_prompt of include/ggufx/generator.h.
// SPDX-License-Identifier: MIT
#include "abi/answer_format.hpp"
#include "abi/grammar_handles.hpp"
#include "abi/guard.hpp"
#include "abi/options.hpp"

#include <map>
#include <optional>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

constexpr uint32_t kChatPromptFlags = GGUFX_CHAT_PROMPT_KEEP_REASONING | GGUFX_CHAT_PROMPT_ONE_CALL;

std::optional<ggufx_grammar_source> import_source(const ggufx_grammar_source *given) {
    if (!given) return {};
    const auto out = import_options(given, 0, "ggufx_grammar_source");
    require(out.find, "ggufx_grammar_source.find must be set");
    return out;
}

// Grammars of the schemas of a conversation: those of the caller, or compiled once for each text.
class Grammars final : public generate::GrammarSource {
public:
    Grammars(const ggufx_chat_prompt_options &options, const Ref<Host> &host,
             const Ref<ggufx_tokenizer> &tokenizer)
        : options_(options), source_(import_source(options.grammars)), host_(host),
          tokenizer_(tokenizer), progress_(import_progress(options.request->progress)),
          known_(HostAllocator<char>(host.get())) {}

    Ref<generate::Grammar> of_schema(std::string_view schema, std::string_view function) override {
        if (source_) return import(given(schema, function));
        const Key key(schema.begin(), schema.end(), HostAllocator<char>(host_.get()));
        auto &known = known_[key];
        if (!known)
            known =
                make_schema_grammar(host_, *tokenizer_, schema, options_.grammar_flags, progress_);
        return import(known.get());
    }

private:
    using Key = Vector<char>;
    using Made = std::pair<const Key, Ref<ggufx_grammar>>;

    const ggufx_grammar *given(std::string_view schema, std::string_view function) const {
        const ggufx_grammar *out = nullptr;
        const ggufx_status status = source_->find(source_->user, &out, schema.data(), schema.size(),
                                                  function.data(), function.size());
        if (status != GGUFX_OK)
            fail(static_cast<Status>(status), {}, "the grammar source failed for a schema%s%s",
                 function.empty() ? "" : " of function ", Quoted(function).c_str());
        require(out, "the grammar source gave no grammar");
        return out;
    }
    Ref<generate::Grammar> import(const ggufx_grammar *grammar) const {
        return import_grammar(grammar, tokenizer_.get(), tokenizer_->tokenizer.vocab().size());
    }

    const ggufx_chat_prompt_options &options_;
    const std::optional<ggufx_grammar_source> source_;
    const Ref<Host> &host_;
    const Ref<ggufx_tokenizer> &tokenizer_;
    const Progress progress_;
    std::map<Key, Ref<ggufx_grammar>, std::less<Key>, HostAllocator<Made>> known_; // by text
};

generate::AnswerPlan::Request import_plan(const ggufx_chat_prompt_options &in) {
    generate::AnswerPlan::Request out;
    out.schema = import_text(in.schema, "ggufx_chat_prompt_options.schema");
    out.function = import_text(in.tool_name, "ggufx_chat_prompt_options.tool_name");
    out.call_id = import_text(in.call_id, "ggufx_chat_prompt_options.call_id");
    out.answers_at_once = (in.request->flags & GGUFX_CHAT_NO_THINK) != 0;
    const bool is_required = in.tool_choice == GGUFX_TOOL_CHOICE_REQUIRED;
    require(in.tool_choice <= GGUFX_TOOL_CHOICE_REQUIRED,
            "ggufx_chat_prompt_options.tool_choice must be a GGUFX_TOOL_CHOICE_* value");
    require(is_required || (out.function.empty() && !in.tools.data),
            "tool_name and tools need GGUFX_TOOL_CHOICE_REQUIRED");
    require(!is_required || out.schema.empty(),
            "schema and GGUFX_TOOL_CHOICE_REQUIRED exclude each other");
    if (!is_required) return out;
    out.functions = import_text(in.tools, "ggufx_chat_prompt_options.tools");
    if (!in.tools.data && in.request->tools.data)
        out.functions = import_text(in.request->tools, "tools");
    require(has_tools(out.functions), "GGUFX_TOOL_CHOICE_REQUIRED needs tools");
    return out;
}

ggufx_chat_prompt *create_prompt(const ggufx_chat_prompt_options &in) {
    const ggufx_chat_template &chat = *in.chat;
    const Ref<Host> &host = chat.program.host();
    auto tokenizer = Ref<ggufx_tokenizer>::share(const_cast<ggufx_tokenizer *>(in.tokenizer));
    const generate::AnswerPlan::Request request = import_plan(in);
    Grammars grammars(in, host, tokenizer);
    AnswerOptions options;
    options.keeps_reasoning = (in.flags & GGUFX_CHAT_PROMPT_KEEP_REASONING) != 0;
    options.has_one_call = (in.flags & GGUFX_CHAT_PROMPT_ONE_CALL) != 0;
    options.ignores_calls = in.tool_choice == GGUFX_TOOL_CHOICE_NONE;
    options.grammars = &grammars;
    if (!request.schema.empty() || !request.functions.empty()) options.request = &request;
    Vector<int32_t> ids{HostAllocator<int32_t>(host.get())};
    auto format = read_conversation(ids, chat, tokenizer, *in.request, options, true);
    auto *const out = make<ggufx_chat_prompt>(*host, host, std::move(tokenizer));
    out->ids = std::move(ids);
    out->format = std::move(format);
    return out;
}

} // namespace

extern "C" ggufx_status ggufx_chat_prompt_create(ggufx_chat_prompt **out,
                                                 const ggufx_chat_prompt_options *options,
                                                 ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && options, "out and options must be set");
        const auto in = import_options(options, kChatPromptFlags, "ggufx_chat_prompt_options");
        require(alive(in.chat, Tag::chat), "ggufx_chat_prompt_options.chat must be a template");
        require(alive(in.tokenizer, Tag::tokenizer),
                "ggufx_chat_prompt_options.tokenizer must be a tokenizer");
        require(in.request, "ggufx_chat_prompt_options.request must be set");
        check_request(*in.request);
        *out = create_prompt(in);
    });
}

extern "C" void ggufx_chat_prompt_destroy(ggufx_chat_prompt *prompt) {
    const NoCancel whole;
    if (!alive(prompt, Tag::chat_prompt)) return;
    destroy_object(prompt->host, prompt);
}

extern "C" ggufx_status ggufx_chat_prompt_tokens(int32_t *out_ids, size_t capacity,
                                                 size_t *out_needed,
                                                 const ggufx_chat_prompt *prompt,
                                                 ggufx_error *error) {
    return guard(error, [&] {
        require(alive(prompt, Tag::chat_prompt), "prompt must be set");
        require(out_needed && (out_ids || capacity == 0), "out_ids and out_needed must be set");
        const Vector<int32_t> &ids = prompt->ids;
        *out_needed = ids.size();
        check_capacity(ids.size(), capacity, "the prompt", "tokens");
        if (!ids.empty()) memcpy(out_ids, ids.data(), ids.size() * sizeof(int32_t));
    });
}

void ggufx::abi::import_chat_prompt(generate::Prompt &out, const ggufx_generator &generator,
                                    const ggufx_chat_prompt *prompt) {
    require(alive(prompt, Tag::chat_prompt), "ggufx_prompt.chat must be a chat prompt");
    require(!out.appends, "GGUFX_PROMPT_APPEND: a chat prompt has a whole conversation");
    require(!generator.keeps_reasoning,
            "GGUFX_GENERATOR_KEEP_REASONING: a chat prompt has a flag of its own");
    if (prompt->tokenizer.get() != generator.tokenizer.get())
        fail(Status::mismatch, {}, "the chat prompt was made with another tokenizer object");
    out.tokens.add(prompt->ids.data(), prompt->ids.size(), generator.generator.prompt_mode());
    out.format = prompt->format;
}
