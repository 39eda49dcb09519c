// Renders and tokenizes the whole prompt of each turn. The prefix shared with the cache is reused,
// the rest is computed.
// SPDX-License-Identifier: MIT
#include "chat/engine.hpp"

#include "common/signals.hpp"
#include "models/demo_model.hpp"
#include "models/prefill.hpp"
#include "models/text_model.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <exception>
#include <fmt/format.h>
#include <sys/stat.h>

namespace ggufx::cli {

namespace {

using Parser = std::unique_ptr<ggufx_chat_parser, Destroyer<ggufx_chat_parser_destroy>>;
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

// Receiver of parser events: stores them in a turn and shows them.
struct Telling {
    Turn *turn;
    const Shown *show;
    size_t n_calls;            // calls in the conversation so far
    std::exception_ptr caught; // exceptions must not pass through the C library
    StrayMarkers strays = {};
};

int32_t on_event(void *user, uint32_t kind, uint64_t, const char *text, size_t length) {
    Telling &telling = *static_cast<Telling *>(user);
    Turn &turn = *telling.turn;
    if (kind >= GGUFX_CHAT_CALL_NAME) telling.strays.clear();
    const std::string_view all(text, length);
    const std::string piece =
        kind >= GGUFX_CHAT_CALL_NAME ? std::string(all) : telling.strays.without(all);
    if (piece.empty()) return 0;
    if (kind == GGUFX_CHAT_ANSWER) turn.content += piece;
    if (kind == GGUFX_CHAT_REASONING) turn.reasoning += piece;
    if (kind == GGUFX_CHAT_CALL_NAME) // nine letters and digits, as Mistral's templates require
        turn.calls.push_back({fmt::format("call{:05}", ++telling.n_calls), piece, ""});
    if (kind == GGUFX_CHAT_CALL_ID && !turn.calls.empty()) turn.calls.back().id = piece;
    if (kind == GGUFX_CHAT_CALL_ARGUMENTS && !turn.calls.empty())
        turn.calls.back().arguments += piece;
    try {
        (*telling.show)(kind, piece);
        return 0;
    } catch (...) {
        telling.caught = std::current_exception();
        return 1;
    }
}

Parser make_parser(const ggufx_runtime *rt, const ggufx_chat *chat, const std::string &prompt,
                   const std::string &tools, Telling &telling) {
    auto options = sized<ggufx_chat_parser_options>();
    options.chat = chat;
    options.prompt = prompt.data();
    options.prompt_length = prompt.size();
    if (!tools.empty()) {
        options.tools = tools.data();
        options.tools_length = tools.size();
    }
    options.user = &telling;
    options.event = on_event;
    ggufx_chat_parser *parser = nullptr;
    call(
        [&](ggufx_error *error) { return ggufx_chat_parser_create(&parser, rt, &options, error); });
    return Parser(parser);
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
    output_tokens_ = OutputTokens(rt_.get(), chat_.get(), tokenizer_.get());
    if (options.grammar.is_set()) set_grammar(options);
    model_ = make_model(rt_.get(), file_.get(), options.session.making);
    const ggufx_model_facts facts = model_facts(model_.get());
    SessionOptions session = options.session;
    if (options.drafter.any()) session.matmul_flags = GGUFX_MATMUL_BATCH_INVARIANT;
    session_ = make_session(rt_.get(), file_.get(), model_.get(), session);
    if (options.drafter.any())
        drafter_.emplace(rt_.get(), options.drafter, session_.get(),
                         end_ids(tokenizer_.get(), facts.n_vocab));
    logits_.resize(facts.n_vocab);
    use_model_sampling(globals, sampling_, model_sampling(file_.get()));
    choose_seed(globals, sampling_, GroupChoice());
    restart_sampler(); // before the first answer, so that sampler errors are reported early
    n_context_ = session_facts(session_.get()).n_context;
    n_predict_ = options.n_predict;
    const bool answers_at_once = options.no_think || grammar_;
    flags_ = GGUFX_CHAT_GENERATE | (answers_at_once ? GGUFX_CHAT_NO_THINK : 0);
    if (!options.tools.empty()) tools_ = Tools(options.tools);
    if (!options.tools.empty() && (facts_.flags & GGUFX_CHAT_CALLS) == 0)
        throw Failure(kUnsupported, "--tools: the chat template does not show how its tool calls "
                                    "are written; use --template NAME or FILE");
}

void Engine::set_seed(std::optional<uint64_t> seed) {
    sampling_.given_seed = seed;
    choose_seed(globals_, sampling_, GroupChoice());
    sampler_.reset();
}

// Resets the sampler. Its penalties see only the tokens of the cache, so that an answer after /seed
// equals that of a new chat with this seed.
void Engine::restart_sampler() {
    const auto n_vocab = static_cast<uint32_t>(logits_.size());
    sampler_ = make_sampler(rt_.get(), n_vocab, sampling_, tokenizer_.get());
    told_.reset();
    if (cached_.empty()) return;
    call([&](ggufx_error *error) {
        return ggufx_sampler_accept(sampler_.get(), cached_.data(), cached_.size(), error);
    });
}

void Engine::make_template(const ChatOptions &options) {
    auto of = sized<ggufx_chat_options>();
    const std::string &name = options.template_name;
    std::string text;
    if (is_chat_format(name)) {
        of.format = name.data();
        of.format_length = name.size();
    } else if (!name.empty()) {
        if (!is_file(name))
            throw Failure(kUsage, "--template: \"" + escape(name) +
                                      "\" is neither a file nor a format" +
                                      did_you_mean(name, chat_formats()));
        text = read_utf8(name);
        of.text = text.data();
        of.text_length = text.size();
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

// Fills a string or id vector whose size the library returns: fill(room, &needed, &error).
template <class Room, class Fill> static Room filled(const Fill &fill) {
    Room room(4096, typename Room::value_type());
    size_t needed = 0;
    ggufx_error error;
    if (fill(room, &needed, &error) == GGUFX_E_CAPACITY) room.resize(needed);
    call([&](ggufx_error *e) { return fill(room, &needed, e); });
    room.resize(needed);
    return room;
}

ggufx_chat_request Engine::request_of(const std::string &messages, bool continues) const {
    auto request = sized<ggufx_chat_request>();
    request.flags = flags_ | GGUFX_CHAT_CLOCK;
    if (continues) request.flags = (request.flags & ~GGUFX_CHAT_GENERATE) | GGUFX_CHAT_CONTINUE;
    const std::time_t now = std::time(nullptr);
    struct tm local = {};
    localtime_r(&now, &local);
    request.clock = static_cast<int64_t>(now) + local.tm_gmtoff;
    request.messages_json = messages.data();
    request.messages_json_length = messages.size();
    const std::string &tools = tools_.functions();
    if (!tools.empty()) {
        request.tools = tools.data();
        request.tools_length = tools.size();
    }
    return request;
}

std::string Engine::render(const ggufx_chat_request &request) const {
    return filled<std::string>([&](std::string &room, size_t *needed, ggufx_error *error) {
        return ggufx_chat_render(room.data(), room.size(), needed, nullptr, 0, nullptr, chat_.get(),
                                 &request, error);
    });
}

Engine::Prompt Engine::prompt_of(const Conversation &conversation) const {
    const bool continues = conversation.ends_with_answer();
    const std::string messages = conversation.to_prompt().dump();
    const ggufx_chat_request request = request_of(messages, continues);
    Prompt out;
    out.text = render(request);
    out.ids = filled<std::vector<int32_t>>([&](std::vector<int32_t> &room, size_t *needed,
                                               ggufx_error *error) {
        return ggufx_chat_tokenize(room.data(), room.size(), needed, chat_.get(), tokenizer_.get(),
                                   &request, GGUFX_TOKENIZE_ADD_SPECIAL, error);
    });
    if (continues) start_output(out, conversation);
    return out;
}

// Renders the answer a second time with empty content to find where its content begins.
void Engine::start_output(Prompt &prompt, const Conversation &conversation) const {
    Conversation empty = conversation;
    empty.turns.back() = {"assistant", "", {}, {}, {}, {}};
    const std::string messages = empty.to_prompt().dump();
    std::string begun;
    try {
        begun = render(request_of(messages, true));
    } catch (const Failure &) {} // the template requires content
    OutputStart start = output_start(rt_.get(), chat_.get(), begun, prompt.text);
    prompt.text = std::move(start.prompt);
    prompt.begun = std::move(start.begun);
}

Engine::Prompt Engine::fitting_prompt(Conversation &conversation, Answered &out) const {
    for (;;) {
        Prompt prompt = prompt_of(conversation);
        if (prompt.ids.empty()) throw Failure(kUsage, "the template gives no text to continue");
        if (prompt.ids.size() + reserve_of(n_context_) <= n_context_) return prompt;
        const size_t n_before = conversation.turns.size();
        if (conversation.drop_oldest()) {
            out.n_dropped += n_before - conversation.turns.size();
            continue;
        }
        if (prompt.ids.size() < n_context_) return prompt;
        throw Failure(kUsage, fmt::format("the message has {} tokens with its template, but "
                                          "the context holds {} (use --ctx)",
                                          prompt.ids.size(), n_context_));
    }
}

// Records tokens that the session has appended.
void Engine::taken(const int32_t *ids, size_t n) {
    cached_.insert(cached_.end(), ids, ids + n);
    const size_t n_told = told_ == ids[0] ? 1 : 0;
    told_.reset();
    call([&](ggufx_error *e) {
        return ggufx_sampler_accept(sampler_.get(), ids + n_told, n - n_told, e);
    });
}

bool Engine::decode(const int32_t *ids, size_t n) {
    if (drafter_ && n > 1) {
        if (!feed_tiles(session_.get(), {ids, n - 1})) return false;
        taken(ids, n - 1);
        ids += n - 1;
        n = 1;
    }
    const ggufx_progress cancel = cancel_hook();
    auto options = sized<ggufx_decode_options>();
    options.progress = &cancel;
    ggufx_error error;
    const ggufx_status status = ggufx_session_decode(session_.get(), ids, n, &options, &error);
    if (status == GGUFX_E_CANCELLED) return false;
    if (status != GGUFX_OK) throw Failure(exit_code(status), error);
    taken(ids, n);
    return true;
}

// Computes at least one token, since its logits are needed.
size_t Engine::feed(const std::vector<int32_t> &ids) {
    const size_t most = std::min(cached_.size(), ids.size() - 1);
    size_t same = 0;
    while (same < most && cached_[same] == ids[same]) same++;
    if (same < cached_.size()) {
        call([&](ggufx_error *error) {
            return ggufx_session_truncate(session_.get(), same, error);
        });
        cached_.resize(same);
    }
    if (!sampler_) restart_sampler();
    return same;
}

int32_t Engine::next(ggufx_matcher *matcher) {
    call([&](ggufx_error *error) {
        return ggufx_session_logits(logits_.data(), logits_.size(), session_.get(), error);
    });
    int32_t id = 0;
    call([&](ggufx_error *error) {
        if (matcher)
            return ggufx_sampler_sample_matching(&id, nullptr, sampler_.get(), matcher,
                                                 logits_.data(), logits_.size(), error);
        return ggufx_sampler_sample(&id, nullptr, sampler_.get(), logits_.data(), logits_.size(),
                                    error);
    });
    return id;
}

bool Engine::guess(ggufx_matcher *matcher, size_t n_tokens, int32_t *id) {
    const size_t left = n_predict_ ? n_predict_ - n_tokens : SIZE_MAX;
    if (!drafter_->ask(sampler_.get(), matcher, left)) return false;
    *id = drafter_->take().id;
    return true;
}

// Reads the session's tokens after an answer with draft tokens; it may hold more than was shown.
void Engine::take_stock() {
    cached_.resize(ggufx_session_length(session_.get()));
    call([&](ggufx_error *error) {
        return ggufx_session_sequence_tokens(cached_.data(), nullptr, session_.get(), 0, 0,
                                             cached_.size(), error);
    });
    told_ = drafter_->last();
    drafter_->forget();
}

bool Engine::is_full() const {
    if (drafter_) return drafter_->empty() && ggufx_session_length(session_.get()) >= n_context_;
    return cached_.size() >= n_context_;
}

std::string Engine::piece(int32_t id, ggufx_detokenize_state &state, bool last) const {
    const uint32_t flags = GGUFX_DETOKENIZE_KEEP_SPECIAL | GGUFX_DETOKENIZE_KEEP_SPACE |
                           (last ? GGUFX_DETOKENIZE_LAST : 0);
    std::string text(256, '\0');
    size_t needed = 0;
    const auto detokenize = [&](ggufx_error *error) {
        return ggufx_detokenize_part(text.data(), text.size(), &needed, &state, tokenizer_.get(),
                                     &id, last ? 0 : 1, flags, error);
    };
    ggufx_error error;
    ggufx_status status = detokenize(&error);
    if (status == GGUFX_E_CAPACITY) {
        text.resize(needed);
        status = detokenize(&error);
    }
    if (status != GGUFX_OK) throw Failure(exit_code(status), error);
    text.resize(needed);
    return text;
}

Answered Engine::answer(Conversation &conversation, const Shown &show) {
    Answered out;
    if (conversation.ends_with_answer()) out.turn = conversation.turns.back();
    out.turn.role = "assistant";
    const Prompt prompt = fitting_prompt(conversation, out);
    out.n_prompt = prompt.ids.size();
    Telling telling = {&out.turn, &show, 0, nullptr, {}};
    for (const Turn &turn : conversation.turns) telling.n_calls += turn.calls.size();
    const Parser parser =
        make_parser(rt_.get(), chat_.get(), prompt.text, tools_.functions(), telling);
    const auto told = [&](const auto &feed) {
        ggufx_error error;
        const ggufx_status status = feed(&error);
        if (telling.caught) std::rethrow_exception(telling.caught);
        if (status != GGUFX_OK) throw Failure(exit_code(status), error);
    };
    const auto say = [&](const std::string &text) {
        told([&](ggufx_error *error) {
            return ggufx_chat_parser_feed(parser.get(), text.data(), text.size(), error);
        });
    };
    say(prompt.begun);
    const Matcher matcher = grammar_ ? make_matcher(grammar_.get()) : nullptr;
    auto start = SteadyClock::now();
    out.n_reused = feed(prompt.ids);
    out.interrupted = !decode(prompt.ids.data() + out.n_reused, prompt.ids.size() - out.n_reused);
    out.prompt_seconds = since(start);
    start = SteadyClock::now();
    ggufx_detokenize_state state = {};
    while (!out.interrupted && (n_predict_ == 0 || out.n_tokens < n_predict_)) {
        int32_t id = 0;
        if (!drafter_) id = next(matcher.get());
        out.interrupted = drafter_ && !guess(matcher.get(), out.n_tokens, &id);
        if (out.interrupted) break;
        out.n_tokens++;
        const auto info = facts<ggufx_token_facts>([&](ggufx_token_facts *of, ggufx_error *error) {
            return ggufx_token_info(of, tokenizer_.get(), id, error);
        });
        const OutputTokens::Use use = output_tokens_.use(id, true);
        const bool is_end = (info.flags & GGUFX_TOKEN_END) != 0;
        const bool ends = is_end || use == OutputTokens::Use::end;
        // An end-of-generation token is not part of the answer. A channel token separates a call
        // from an answer.
        const bool is_read = !is_end || ((facts_.flags & GGUFX_CHAT_CHANNELS) != 0 &&
                                         output_tokens_.is_marker(id, true));
        if (use == OutputTokens::Use::text && is_read) {
            const std::string text = piece(id, state, false);
            if (output_tokens_.is_marker(id, true)) telling.strays.expect(text);
            say(text);
            telling.strays.settle();
        }
        const bool full = is_full();
        if (ends)
            out.finish = Finish::stop;
        else if (out.n_tokens == n_predict_)
            out.finish = Finish::length;
        else if (full)
            out.finish = Finish::context;
        if (ends || full) break;
        out.interrupted = pending_signal() != 0 || !(drafter_ || decode(&id, 1));
    }
    if (drafter_) {
        take_stock();
        out.drafter = drafter_->facts();
    }
    say(piece(0, state, true));
    told([&](ggufx_error *error) { return ggufx_chat_parser_finish(parser.get(), error); });
    if (out.interrupted) out.finish = Finish::none;
    if (out.finish == Finish::stop && !out.turn.calls.empty()) out.finish = Finish::tool_calls;
    out.seconds = since(start);
    return out;
}

} // namespace ggufx::cli
