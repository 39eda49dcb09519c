// SPDX-License-Identifier: MIT
#include "serve/completion_writer.hpp"

#include "common/timing.hpp"
#include "serve/samplers.hpp"

#include <algorithm>

namespace ggufx::cli {

CompletionWriter::CompletionWriter(const ModelHost &host, Metrics &metrics,
                                   std::shared_ptr<const TextRequest> request, uint32_t index,
                                   uint32_t max_tokens, std::shared_ptr<void> ticket)
    : host_(host), metrics_(metrics), request_(std::move(request)), reply_(*request_->reply),
      index_(index), number_(index % request_->wanted.best_of), max_tokens_(max_tokens),
      ticket_(std::move(ticket)), offsets_(host) {}

bool CompletionWriter::is_late() noexcept {
    return request_->deadline > 0 && monotonic_seconds() >= request_->deadline;
}

// ---- the generator

// The sampler is large: a generator is made when the request gets a sequence.
void CompletionWriter::create(uint32_t sequence, std::span<const int32_t> prompt) {
    const Wanted &wanted = request_->wanted;
    SamplingOptions sampling = *request_->sampling;
    sampling.seed = reply_.seed() + number_;
    const Sampler sampler = make_request_sampler(host_, sampling);
    auto options = sized<ggufx_generator_options>();
    options.flags = GGUFX_GENERATOR_SAMPLE_OUTPUT;
    const auto flag = [&](bool is_set, uint32_t value) { options.flags |= is_set ? value : 0; };
    flag(host_.answers() == Path::tiles, GGUFX_GENERATOR_TILED_DECODE);
    flag(wanted.return_special, GGUFX_GENERATOR_SPECIAL_TOKENS);
    flag(request_->scores, GGUFX_GENERATOR_SCORE_PROMPT);
    flag(wanted.logprobs || wanted.best_of > wanted.n, GGUFX_GENERATOR_LOGPROBS);
    flag(wanted.thinking_budget.has_value(), GGUFX_GENERATOR_HAS_MAX_REASONING);
    options.max_reasoning = wanted.thinking_budget.value_or(0);
    options.sequence = sequence;
    options.max_tokens = std::max(max_tokens_, 1u);
    options.tokenizer = host_.tokenizer();
    options.sampler = sampler.get();
    options.n_logprobs = wanted.n_top;
    auto given = sized<ggufx_prompt>();
    given.chat = request_->chat.get();
    if (!given.chat) given.tokens = prompt.data();
    if (!given.chat) given.n_tokens = prompt.size();
    generator_ = make_generator(host_.session(), options, wanted.stop);
    set_prompt(generator(), given);
}

void CompletionWriter::start(uint32_t sequence, std::span<const int32_t> prompt) {
    try {
        if (!generator_) return create(sequence, prompt);
        call([&](ggufx_error *error) {
            return ggufx_generator_resume(nullptr, generator(), sequence, error);
        });
    } catch (const Failure &failure) {
        if (failure.exit_code != kNoMemory) throw;
        throw std::bad_alloc();
    }
}

void CompletionWriter::suspend() {
    call([&](ggufx_error *error) { return ggufx_generator_suspend(generator(), error); });
}

void CompletionWriter::begin(size_t n_cached) {
    begun_ = last_ = monotonic_seconds();
    metrics_.waited(begun_ - request_->taken);
    if (number_ > 0) return; // the first sequence of a prompt has added it
    reply_.usage.n_prompt += generator_facts(generator()).n_prompt;
    reply_.usage.n_cached += n_cached;
}

void CompletionWriter::pass() noexcept {
    try {
        reply_.exchange().keep_alive(monotonic_seconds());
    } catch (const std::exception &) {} // without memory there is no comment
}

// ---- events

bool CompletionWriter::advance() {
    const uint64_t n_before = n_tokens_;
    n_tokens_ = generator_facts(generator()).n_tokens;
    const bool is_new = n_tokens_ > n_before;
    if (is_new && max_tokens_ > 0) note_time(n_before == 0);
    auto event = sized<ggufx_event>();
    for (;;) {
        call([&](ggufx_error *error) { return ggufx_generator_poll(&event, generator(), error); });
        if (event.kind == GGUFX_EVENT_NONE) break;
        if (event.kind == GGUFX_EVENT_END) {
            take_end(event);
            return false;
        }
        take_event(event);
    }
    if (is_new) send();
    if (is_new) reply_.exchange().keep_alive(last_);
    return true;
}

void CompletionWriter::note_time(bool is_first) {
    const double now = monotonic_seconds();
    if (is_first) {
        metrics_.first_token(now - request_->taken);
        reply_.usage.prompt_seconds = std::max(reply_.usage.prompt_seconds, now - begun_);
        begun_ = now;
    } else {
        metrics_.between_tokens(now - last_);
    }
    last_ = now;
}

void CompletionWriter::take_event(const ggufx_event &event) {
    const bool is_prompt = event.kind == GGUFX_EVENT_PROMPT;
    if (max_tokens_ == 0 && !is_prompt) return;
    const std::string text(view(event.text));
    std::vector<CallPart> &calls = delta_.calls;
    if (event.kind == GGUFX_EVENT_TEXT) {
        delta_.content += text;
    } else if (event.kind == GGUFX_EVENT_REASONING) {
        delta_.reasoning += text;
    } else if (event.kind == GGUFX_EVENT_TOOL_CALL) {
        has_calls_ = true;
        calls.push_back({event.index, random_name(9), text, ""});
    } else if (event.kind == GGUFX_EVENT_TOOL_ID && !calls.empty()) {
        calls.back().id = text;
    } else if (event.kind == GGUFX_EVENT_TOOL_ARGUMENTS) {
        if (calls.empty() || calls.back().index != event.index)
            calls.push_back({event.index, "", "", ""});
        calls.back().arguments += text;
    }
    if (is_prompt || request_->wanted.logprobs) take_tokens(event);
    if (!is_prompt) return;
    offsets_.end_part();
    send();
}

// Adds the log-probability entries of tokens. The first token of a prompt has no log-probability,
// and the echoed text does not spell BOS.
void CompletionWriter::take_tokens(const ggufx_event &event) {
    const bool is_prompt = event.kind == GGUFX_EVENT_PROMPT;
    for (size_t i = 0; i < event.n_tokens; i++) {
        const ggufx_event_token &token = event.tokens[i];
        TokenLogprob out = {host_.piece(token.id), {}, {}};
        if (!is_prompt || i > 0) out.logprob = token.logprob;
        uint32_t flags = is_prompt ? 0 : GGUFX_DETOKENIZE_KEEP_SPACE;
        if (request_->wanted.return_special || (is_prompt && request_->echoes_special && i > 0))
            flags |= GGUFX_DETOKENIZE_KEEP_SPECIAL;
        out.offset = offsets_.add(token.id, out.piece, flags);
        for (size_t j = 0; j < token.n_top; j++)
            out.top.push_back({host_.piece(token.top[j].id), token.top[j].logprob});
        delta_.logprobs.push_back(std::move(out));
    }
}

void CompletionWriter::send() {
    reply_.put(index_, std::exchange(delta_, {}));
}

// ---- ends

// An end-of-generation token is no part of the output.
void CompletionWriter::take_end(const ggufx_event &event) {
    if (event.end == GGUFX_END_ERROR || event.end == GGUFX_END_GRAMMAR) {
        const std::string why(view(event.text));
        return fail(why.empty() ? "no token fits the grammar" : why.c_str(),
                    fault_of(event.status));
    }
    take_event(event);
    if (event.end == GGUFX_END_EOG && !delta_.logprobs.empty()) delta_.logprobs.pop_back();
    end(finish_reason(event.end));
}

void CompletionWriter::end(const std::string &reason, const std::string &note) {
    if (host_.is_changed()) throw ModelChanged(ModelFiles::kChanged);
    const ggufx_generator_facts facts = generator_facts(generator());
    const uint64_t n = max_tokens_ > 0 ? facts.n_tokens : 0;
    reply_.usage.n_answer += n;
    reply_.usage.n_reasoning += n > 0 ? facts.n_reasoning : 0;
    reply_.usage.answer_seconds =
        std::max(reply_.usage.answer_seconds, monotonic_seconds() - begun_);
    send();
    const double mean = n > 0 ? facts.sum_logprobs / static_cast<double>(n) : 0;
    reply_.finish(index_, {has_calls_ && reason == "stop" ? "tool_calls" : reason, note, mean});
}

void CompletionWriter::fail(const char *why, Fault fault) noexcept {
    try {
        const int status = fault == Fault::internal ? 500 : fault == Fault::limit ? 400 : 503;
        const char *const code = fault == Fault::model_changed ? "model_changed"
                                 : fault == Fault::limit       ? "too_much_work"
                                                               : "";
        reply_.fail(ApiError(status, why, "", code));
    } catch (const std::exception &) { reply_.exchange().respond_out_of_memory(); }
}

void CompletionWriter::stop(const char *why) noexcept {
    try {
        if (n_tokens_ == 0) // no output yet: the client can retry on another server
            return reply_.fail(ApiError(503, why));
        ggufx_generator_cancel(generator());
        generate(generator(), [&](const ggufx_event &event) { take_event(event); });
        end("length", why);
    } catch (const ModelChanged &changed) {
        fail(changed.what(), Fault::model_changed);
    } catch (const std::bad_alloc &) {
        fail("out of memory", Fault::memory);
    } catch (const std::exception &error) { fail(error.what(), Fault::internal); }
}

} // namespace ggufx::cli
