// The prompt of each answer is the whole conversation. Tokens that the session holds are reused.
// SPDX-License-Identifier: MIT
#include "chat/engine.hpp"

#include "common/signals.hpp"
#include "models/demo_model.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fmt/format.h>
#include <sys/stat.h>

namespace ggufx::cli {

namespace {

using SteadyClock = std::chrono::steady_clock;

double since(SteadyClock::time_point start) {
    return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

// Returns the minimum room for an answer: a quarter of the context, at most 256 tokens.
size_t reserve_of(size_t n_context) {
    return std::min<size_t>(n_context / 4, 256);
}

bool is_file(const std::string &path) {
    struct stat info = {};
    return stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
}

// Adds an event to a turn. n_calls: tool calls of the conversation so far.
void add_event(Turn &turn, const ggufx_event &event, size_t &n_calls) {
    const std::string_view text = event_text(event);
    if (event.kind == GGUFX_EVENT_TEXT) turn.content += text;
    if (event.kind == GGUFX_EVENT_REASONING) turn.reasoning += text;
    if (event.kind ==
        GGUFX_EVENT_TOOL_CALL) // nine letters and digits, as Mistral's templates require
        turn.calls.push_back({fmt::format("call{:05}", ++n_calls), std::string(text), ""});
    if (turn.calls.empty()) return;
    if (event.kind == GGUFX_EVENT_TOOL_ID) turn.calls.back().id = text;
    if (event.kind == GGUFX_EVENT_TOOL_ARGUMENTS) turn.calls.back().arguments += text;
}

} // namespace

Engine::Engine(const Globals &globals, const ChatOptions &options)
    : globals_(globals), rt_(make_runtime(globals)), sampling_(options.sampling) {
    const ggufx_progress cancel = cancel_hook();
    file_ = options.model.empty() ? open_demo_model(rt_.get())
                                  : open_file(rt_.get(), options.model, 0, &cancel);
    name_ = meta_text(file_.get(), "general.name").value_or(options.model);
    // Before the weights are bound, so that template errors are reported early.
    make_template(options);
    ggufx_tokenizer *tokenizer = nullptr;
    call(
        [&](ggufx_error *error) { return ggufx_tokenizer_create(&tokenizer, file_.get(), error); });
    tokenizer_.reset(tokenizer);
    if (options.grammar.is_set()) set_grammar(options);
    model_ = make_model(rt_.get(), file_.get(), options.session.making);
    n_vocab_ = model_facts(model_.get()).n_vocab;
    session_ = make_session(rt_.get(), file_.get(), model_.get(), options.session);
    n_context_ = session_facts(session_.get()).n_context;
    drafts_ = Drafts(rt_.get(), options.drafter, session_.get());
    use_model_sampling(globals, sampling_, model_sampling(file_.get()));
    choose_seed(globals, sampling_, GroupChoice());
    n_predict_ = options.n_predict;
    const bool answers_at_once = options.no_think || grammar_;
    flags_ = GGUFX_CHAT_GENERATE | (answers_at_once ? GGUFX_CHAT_NO_THINK : 0);
    if (!options.tools.empty()) tools_ = Tools(options.tools);
    if (!options.tools.empty() && (facts_.flags & GGUFX_CHAT_CALLS) == 0)
        throw Failure(kUnsupported, "--tools: the chat template does not show how its tool calls "
                                    "are written; use --template NAME or FILE");
    make_generator();
}

void Engine::set_seed(std::optional<uint64_t> seed) {
    sampling_.given_seed = seed;
    choose_seed(globals_, sampling_, GroupChoice());
    make_generator();
}

void Engine::make_template(const ChatOptions &options) {
    auto of = sized<ggufx_chat_options>();
    const std::string &name = options.template_name;
    std::string text;
    if (is_chat_format(name)) {
        of.format = as_text(name);
    } else if (!name.empty()) {
        if (!is_file(name))
            throw Failure(kUsage, "--template: \"" + escape(name) +
                                      "\" is neither a file nor a format" +
                                      did_you_mean(name, chat_formats()));
        text = read_utf8(name);
        of.text = {text.data(), text.size()}; // also if it is empty
    }
    ggufx_chat *chat = nullptr;
    ggufx_error error;
    const ggufx_status status = ggufx_chat_create(&chat, rt_.get(), file_.get(), &of, &error);
    if (status == GGUFX_E_NOT_FOUND && name.empty())
        throw Failure(
            kUnsupported,
            "the model has no chat template; use --template NAME or FILE, such as chatml");
    if (status != GGUFX_OK) throw Failure(exit_code(status), error);
    chat_.reset(chat);
    facts_ = facts<ggufx_chat_facts>(
        [&](ggufx_chat_facts *out, ggufx_error *e) { return ggufx_chat_info(out, chat, e); });
}

// A grammar constrains all generated tokens; outputs with channels begin with a channel marker,
// which it would refuse.
void Engine::set_grammar(const ChatOptions &options) {
    if (facts_.flags & GGUFX_CHAT_CHANNELS)
        throw Failure(
            kUnsupported,
            "the model writes answers after channel headers, which grammars do not support");
    grammar_ =
        make_grammar(rt_.get(), tokenizer_.get(), options.grammar, grammar_text(options.grammar));
}

void Engine::make_generator() {
    const Sampler sampler = make_sampler(rt_.get(), n_vocab_, sampling_, tokenizer_.get());
    auto options = sized<ggufx_generator_options>();
    options.max_tokens = n_predict_;
    options.tokenizer = tokenizer_.get();
    options.sampler = sampler.get();
    options.grammar = grammar_.get();
    options.chat = chat_.get();
    options.draft = drafts_.get();
    generator_.reset(); // two cannot have one sequence
    generator_ = cli::make_generator(session_.get(), options);
}

ggufx_status Engine::set_prompt(const Conversation &conversation, ggufx_error *error) const {
    const std::string messages = conversation.to_prompt().dump();
    const std::string &tools = tools_.functions();
    auto request = sized<ggufx_chat_request>();
    request.flags = flags_ | GGUFX_CHAT_CLOCK;
    if (conversation.ends_with_answer())
        request.flags = (request.flags & ~GGUFX_CHAT_GENERATE) | GGUFX_CHAT_CONTINUE;
    const std::time_t now = std::time(nullptr);
    struct tm local = {};
    localtime_r(&now, &local);
    request.clock = static_cast<int64_t>(now) + local.tm_gmtoff;
    request.messages_json = as_text(messages);
    request.tools = as_text(tools);
    auto prompt = sized<ggufx_prompt>();
    prompt.flags = GGUFX_PROMPT_REUSE_ANSWERS | GGUFX_PROMPT_KEEP_RANDOM;
    prompt.messages = &request;
    return ggufx_generator_set_prompt(generator_.get(), &prompt, error);
}

// Sets the prompt. Removes the oldest turns until there is room for an answer.
void Engine::fit(Conversation &conversation, Answered &out) const {
    for (;;) {
        ggufx_error error;
        const ggufx_status status = set_prompt(conversation, &error);
        if (status != GGUFX_OK && status != GGUFX_E_CAPACITY)
            throw Failure(exit_code(status), error);
        if (status == GGUFX_OK) out.n_prompt = generator_facts(generator_.get()).n_prompt;
        if (status == GGUFX_OK && out.n_prompt + reserve_of(n_context_) <= n_context_) return;
        const size_t n_before = conversation.turns.size();
        if (!conversation.drop_oldest()) {
            if (status == GGUFX_OK) return;
            throw Failure(kUsage, std::string(error.message) + " (use --ctx)");
        }
        out.n_dropped += n_before - conversation.turns.size();
    }
}

Answered Engine::answer(Conversation &conversation, const Shown &show) {
    Answered out;
    if (conversation.ends_with_answer()) out.turn = conversation.turns.back();
    out.turn.role = "assistant";
    fit(conversation, out);
    auto start = SteadyClock::now();
    size_t n_calls = 0;
    for (const Turn &turn : conversation.turns) n_calls += turn.calls.size();
    while (out.end == GGUFX_END_NONE) {
        const ggufx_event event = next_event(generator_.get());
        if (out.prompt_seconds == 0) {
            out.prompt_seconds = since(start);
            start = SteadyClock::now();
        }
        add_event(out.turn, event, n_calls);
        if (event.text.size > 0) show(event.kind, event_text(event));
        out.end = event.end;
    }
    out.seconds = since(start);
    const ggufx_generator_facts facts = generator_facts(generator_.get());
    out.n_reused = facts.n_prompt_reused;
    out.n_tokens = facts.n_tokens;
    out.has_drafts = drafts_.get() != nullptr;
    out.n_drafted = facts.n_drafted;
    out.n_accepted = facts.n_accepted;
    return out;
}

} // namespace ggufx::cli
