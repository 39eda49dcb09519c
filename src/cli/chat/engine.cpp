// The prompt of each answer is the whole conversation. Tokens that the session holds are reused.
// SPDX-License-Identifier: MIT
#include "chat/engine.hpp"

#include "common/timing.hpp"
#include "models/demo_model.hpp"
#include "models/sampling_defaults.hpp"

#include <algorithm>

namespace ggufx::cli {

// Returns the minimum room for an answer: a quarter of the context, at most 256 tokens.
static size_t reserve_of(size_t n_context) {
    return std::min<size_t>(n_context / 4, 256);
}

Engine::Engine(const Globals &globals, const ChatOptions &options)
    : globals_(globals), answers_at_once_(options.no_think || options.grammar.is_set()),
      rt_(make_runtime(globals)) {
    file_ = options.model.empty() ? open_demo_model(rt_.get())
                                  : open_model(rt_.get(), options.model, options.session.making);
    name_ = meta_text(file_.get(), "general.name").value_or(options.model);
    // Before the weights are bound, so that template errors are reported early.
    chat_ = require_chat_template(rt_.get(), file_.get(), options.template_name);
    const uint32_t flags = chat_facts(chat_.get()).flags;
    // A grammar constrains all generated tokens. It would refuse a channel marker.
    if (options.grammar.is_set() && (flags & GGUFX_CHAT_CHANNELS))
        throw Failure(
            kUnsupported,
            "the model writes answers after channel headers, which grammars do not support");
    GenerateOptions own = options;
    use_model_sampling(globals, own.sampling, model_sampling(file_.get()));
    choose_seed(globals, own.sampling, GroupChoice());
    generation_.emplace(rt_.get(), file_.get(), own, chat_.get());
    if (options.tools.empty()) return;
    tools_ = Tools(options.tools);
    if ((flags & GGUFX_CHAT_CALLS) == 0)
        throw Failure(kUnsupported, "--tools: the chat template does not show how its tool calls "
                                    "are written; use --template NAME or FILE");
}

void Engine::set_seed(std::optional<uint64_t> seed) {
    SamplingOptions sampling = generation().options().sampling;
    sampling.given_seed = seed;
    choose_seed(globals_, sampling, GroupChoice());
    generation_->set_seed(sampling.seed);
}

ggufx_status Engine::set_prompt(const Conversation &conversation, ggufx_error *error) const {
    const std::string messages = conversation.to_prompt().dump();
    const std::string &tools = tools_.functions();
    ggufx_chat_request request = chat_request();
    request.flags |= conversation.ends_with_answer() ? GGUFX_CHAT_CONTINUE : GGUFX_CHAT_GENERATE;
    if (answers_at_once_) request.flags |= GGUFX_CHAT_NO_THINK;
    request.messages_json = as_text(messages);
    request.tools = as_text(tools);
    auto prompt = sized<ggufx_prompt>();
    prompt.flags = GGUFX_PROMPT_REUSE_ANSWERS | GGUFX_PROMPT_KEEP_RANDOM;
    prompt.messages = &request;
    return ggufx_generator_set_prompt(generation().generator(), &prompt, error);
}

// Sets the prompt. Removes the oldest turns until there is room for an answer; returns their number.
size_t Engine::fit(Conversation &conversation) const {
    const size_t n_context = generation().n_context(), n_before = conversation.turns.size();
    for (;;) {
        ggufx_error error;
        const ggufx_status status = set_prompt(conversation, &error);
        if (status != GGUFX_OK && status != GGUFX_E_CAPACITY)
            throw Failure(exit_code(status), error);
        const bool fits = status == GGUFX_OK;
        const bool has_room =
            fits && generation().facts().n_prompt + reserve_of(n_context) <= n_context;
        if (has_room || !conversation.drop_oldest()) {
            if (fits) return n_before - conversation.turns.size();
            throw Failure(kUsage, std::string(error.message) + " (use --ctx)");
        }
    }
}

Answered Engine::answer(Conversation &conversation, const Shown &show) {
    Answered out;
    if (conversation.ends_with_answer()) out.turn = conversation.turns.back();
    out.turn.role = "assistant";
    out.n_dropped = fit(conversation);
    size_t n_calls = 0;
    for (const Turn &turn : conversation.turns) n_calls += turn.calls.size();
    double start = monotonic_seconds();
    generate(generation().generator(), [&](const ggufx_event &event) {
        if (out.prompt_seconds == 0) {
            out.prompt_seconds = monotonic_seconds() - start;
            start += out.prompt_seconds;
        }
        out.turn.add(event, n_calls);
        if (event.text.size > 0) show(event.kind, view(event.text));
    });
    out.seconds = monotonic_seconds() - start;
    out.facts = generation().facts();
    return out;
}

} // namespace ggufx::cli
