// SPDX-License-Identifier: MIT
#include "serve/completion_writer.hpp"

#include "common/text.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

// Bit set of the samplers whose parameters in the request or on the server differ from the model's
// defaults.
uint32_t samplers_asked(const ModelSampling &model, const Wanted &wanted) {
    uint32_t out = 0;
    const SamplingDefaults &s = wanted.sampling;
    const ggufx_sampling_facts &f = model.facts;
#define SERVED(KEY, field, type, off, least, most, long_name, help)                                \
    if (s.field != (model.has(GGUFX_SAMPLING_##KEY) ? f.field : off))                              \
        out |= 1u << GGUFX_SAMPLER_##KEY;
#include "model/sampling/samplers.def"
    if (wanted.frequency_penalty != 0 || wanted.presence_penalty != 0)
        out |= 1u << GGUFX_SAMPLER_PENALTIES;
    return out;
}

SamplingOptions sampling_options(const ModelHost &host, const Wanted &wanted) {
    SamplingOptions options = host.sampling();
#define SERVED(KEY, field, type, off, least, most, long_name, help)                                \
    options.field = wanted.sampling.field;
#include "model/sampling/samplers.def"
    if (!host.model_sampling().orders(samplers_asked(host.model_sampling(), wanted)))
        options.samplers.clear();
    options.frequency_penalty = wanted.frequency_penalty;
    options.presence_penalty = wanted.presence_penalty;
    const bool has_last = host.model_sampling().has(GGUFX_SAMPLING_LAST_N);
    options.repeat_last_n = std::min({has_last ? options.repeat_last_n : host.n_context(),
                                      host.n_context(), GGUFX_SAMPLER_MAX_LAST_N});
    for (const ggufx_logit_bias &bias : wanted.biases)
        options.biases.push_back(fmt::format("{}={}", bias.id, bias.bias));
    return options;
}

Sampler make_text_sampler(const ModelHost &host, const SamplingOptions &options) {
    try {
        return make_sampler(host.rt(), host.facts().n_vocab, options, host.tokenizer());
    } catch (const Failure &failure) {
        throw ApiError(failure.exit_code == kUsage ? 400 : 503, failure.what(), "logit_bias",
                       "invalid_value");
    }
}

} // namespace

std::shared_ptr<const SamplingOptions> checked_sampling(const ModelHost &host,
                                                        const Wanted &wanted) {
    auto options = std::make_shared<const SamplingOptions>(sampling_options(host, wanted));
    make_text_sampler(host, *options);
    return options;
}

CompletionWriter::CompletionWriter(const ModelHost &host, std::shared_ptr<Reply> reply,
                                   Metrics &metrics, Clock clock, const CompletionPlan &plan,
                                   uint64_t seed)
    : GeneratorWriter(plan.scores), host_(host), reply_(std::move(reply)), metrics_(metrics),
      clock_(clock), plan_(plan), seed_(seed) {}

// ---- the generator

// The sampler is large: a generator is made when the request gets a sequence.
void CompletionWriter::create(uint32_t sequence, std::span<const int32_t> prompt) {
    SamplingOptions sampling = *plan_.sampling;
    sampling.seed = seed_;
    const Sampler sampler = make_text_sampler(host_, sampling);
    const Wanted &wanted = *plan_.wanted;
    auto options = sized<ggufx_generator_options>();
    options.flags = GGUFX_GENERATOR_SAMPLE_OUTPUT;
    if (host_.answers() == Path::tiles) options.flags |= GGUFX_GENERATOR_TILED_DECODE;
    if (wanted.return_special) options.flags |= GGUFX_GENERATOR_SPECIAL_TOKENS;
    if (scores_prompt()) options.flags |= GGUFX_GENERATOR_SCORE_PROMPT;
    if (plan_.logprobs || plan_.rates) options.flags |= GGUFX_GENERATOR_LOGPROBS;
    if (wanted.thinking_budget) options.flags |= GGUFX_GENERATOR_HAS_MAX_REASONING;
    options.max_reasoning = wanted.thinking_budget.value_or(0);
    options.sequence = sequence;
    options.max_tokens = std::max(plan_.max_tokens, 1u); // 0: only the prompt counts
    options.tokenizer = host_.tokenizer();
    options.sampler = sampler.get();
    options.n_logprobs = plan_.n_top;
    auto given = sized<ggufx_prompt>();
    given.chat = plan_.chat.get();
    if (!given.chat) given.tokens = prompt.data();
    if (!given.chat) given.n_tokens = prompt.size();
    generator_ = make_generator(host_.session(), options, wanted.stop);
    call(
        [&](ggufx_error *error) { return ggufx_generator_set_prompt(generator(), &given, error); });
    plan_.chat.reset();
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
    begun_ = last_ = clock_();
    metrics_.waited(begun_ - plan_.taken);
    if (!plan_.counts_prompt) return;
    reply_->usage.n_prompt += plan_.n_prompt;
    reply_->usage.n_cached += n_cached;
}

void CompletionWriter::pass() noexcept {
    try {
        reply_->exchange().keep_alive(clock_());
    } catch (const std::exception &) {} // without memory there is no comment
}

// ---- events

template <class Work> void CompletionWriter::attempt(const Work &work) noexcept {
    try {
        work();
    } catch (const ApiError &error) {
        fail(error.what(), error.code == "model_changed" ? Fault::model_changed : Fault::internal);
    } catch (const Failure &failure) {
        const bool is_limit = failure.detail && failure.detail->status == GGUFX_E_LIMIT;
        fail(failure.what(), failure.exit_code == kNoMemory ? Fault::memory
                             : is_limit                     ? Fault::limit
                                                            : Fault::internal);
    } catch (const std::bad_alloc &) {
        fail("out of memory", Fault::memory);
    } catch (const std::exception &error) { fail(error.what(), Fault::internal); }
}

// Returns false after the end.
bool CompletionWriter::take_events() {
    const uint64_t n_before = n_tokens_;
    n_tokens_ = facts().n_tokens;
    if (n_tokens_ > n_before && plan_.max_tokens > 0) note_time(n_before);
    auto event = sized<ggufx_event>();
    for (;;) {
        call([&](ggufx_error *error) { return ggufx_generator_poll(&event, generator(), error); });
        if (event.kind == GGUFX_EVENT_NONE) break;
        if (event.kind == GGUFX_EVENT_END) {
            finish_event(event);
            return false;
        }
        take_event(event);
    }
    if (n_tokens_ == n_before) return true;
    reply_->put(plan_.index, std::move(delta_));
    delta_ = {};
    reply_->exchange().keep_alive(last_);
    return true;
}

bool CompletionWriter::advance() {
    bool goes_on = false;
    attempt([&] { goes_on = take_events(); });
    return goes_on;
}

void CompletionWriter::take_event(const ggufx_event &event) {
    if (event.kind == GGUFX_EVENT_PROMPT) return take_prompt(event);
    if (plan_.max_tokens == 0) return;
    const std::string text(event.text.data, event.text.size);
    switch (event.kind) {
    case GGUFX_EVENT_TEXT:
        delta_.content += text;
        break;
    case GGUFX_EVENT_REASONING:
        delta_.reasoning += text;
        break;
    case GGUFX_EVENT_TOOL_CALL:
        has_calls_ = true;
        delta_.calls.push_back({event.index, random_name(9), text, ""});
        break;
    case GGUFX_EVENT_TOOL_ID:
        if (!delta_.calls.empty()) delta_.calls.back().id = text;
        break;
    case GGUFX_EVENT_TOOL_ARGUMENTS:
        if (delta_.calls.empty() || delta_.calls.back().index != event.index)
            delta_.calls.push_back({event.index, "", "", ""});
        delta_.calls.back().arguments += text;
        break;
    default:
        break;
    }
    if (!plan_.logprobs) return;
    for (size_t i = 0; i < event.n_tokens; i++) take_token(event.tokens[i]);
}

// Adds the log-probability entry of a token: text, position and the top alternatives.
void CompletionWriter::take_token(const ggufx_event_token &token) {
    TokenLogprob out = {host_.piece(token.id), token.logprob, {}};
    out.offset = next_offset(out.piece);
    for (size_t i = 0; i < token.n_top; i++)
        out.top.push_back({host_.piece(token.top[i].id), token.top[i].logprob});
    delta_.logprobs.push_back(std::move(out));
    count_characters_of(token.id, plan_.wanted->return_special, GGUFX_DETOKENIZE_KEEP_SPACE);
}

// Adds the log-probabilities of the prompt's tokens; the first one has none.
void CompletionWriter::take_prompt(const ggufx_event &event) {
    for (size_t i = 0; i < event.n_tokens; i++) {
        const ggufx_event_token &token = event.tokens[i];
        TokenLogprob out = {host_.piece(token.id), {}, {}};
        if (i > 0) out.logprob = token.logprob;
        out.offset = next_offset(out.piece);
        for (size_t j = 0; j < token.n_top; j++)
            out.top.push_back({host_.piece(token.top[j].id), token.top[j].logprob});
        delta_.logprobs.push_back(std::move(out));
        // The echoed text does not spell BOS.
        const bool keeps = plan_.wanted->return_special || (plan_.echoes_special && i > 0);
        count_characters_of(token.id, keeps, 0);
    }
    n_characters_ += count_characters(
        host_.detokenize_part({}, state_, GGUFX_DETOKENIZE_LAST)); // an incomplete one
    n_missing_ = 0;
    state_ = {};
    reply_->put(plan_.index, std::move(delta_));
    delta_ = {};
}

// Counts the visible characters of the next token.
void CompletionWriter::count_characters_of(int32_t id, bool keeps_special, uint32_t flags) {
    if (keeps_special) flags |= GGUFX_DETOKENIZE_KEEP_SPECIAL;
    n_characters_ += count_characters(host_.detokenize_part({&id, 1}, state_, flags));
}

// Returns the offset of a token in characters: that of the character that it begins or continues.
uint64_t CompletionWriter::next_offset(const std::string &piece) {
    const auto continues = [](char byte) { return (byte & 0xc0) == 0x80; };
    const bool is_new = !piece.empty() && !continues(piece[0]);
    const uint64_t offset = n_characters_ + (n_missing_ > 0 && is_new);
    for (const char byte : piece) {
        const auto lead = static_cast<unsigned char>(byte);
        if (n_missing_ > 0 && continues(byte))
            n_missing_--;
        else
            n_missing_ = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    }
    return offset;
}

void CompletionWriter::note_time(uint64_t n_before) {
    const double now = clock_();
    if (n_before == 0) {
        metrics_.first_token(now - plan_.taken);
        reply_->usage.prompt_seconds = std::max(reply_->usage.prompt_seconds, now - begun_);
        begun_ = now;
    } else {
        metrics_.between_tokens(now - last_);
    }
    last_ = now;
}

// ---- ends

// An end-of-generation token is no part of the output.
void CompletionWriter::finish_event(const ggufx_event &event) {
    if (event.end == GGUFX_END_ERROR || event.end == GGUFX_END_GRAMMAR) {
        const std::string why(event.text.data, event.text.size);
        return fail(why.empty() ? "no token fits the grammar" : why.c_str(),
                    event.status == GGUFX_E_LIMIT    ? Fault::limit
                    : event.status == GGUFX_E_MEMORY ? Fault::memory
                                                     : Fault::internal);
    }
    take_event(event);
    if (event.end == GGUFX_END_EOG && !delta_.logprobs.empty()) delta_.logprobs.pop_back();
    const bool is_cut = event.end == GGUFX_END_LENGTH || event.end == GGUFX_END_CONTEXT;
    end(is_cut ? "length" : "stop");
}

void CompletionWriter::end(const std::string &reason, const std::string &note) {
    host_.require_same_weights();
    const ggufx_generator_facts info = facts();
    const uint64_t n = plan_.max_tokens > 0 ? info.n_tokens : 0;
    reply_->usage.n_answer += n;
    reply_->usage.n_reasoning += n > 0 ? info.n_reasoning : 0;
    reply_->usage.answer_seconds = std::max(reply_->usage.answer_seconds, clock_() - begun_);
    reply_->put(plan_.index, std::move(delta_));
    const double mean = n > 0 ? info.sum_logprobs / static_cast<double>(n) : 0;
    reply_->finish(plan_.index,
                   {has_calls_ && reason == "stop" ? "tool_calls" : reason, note, mean});
}

void CompletionWriter::fail(const char *why, Fault fault) noexcept {
    try {
        const int status = fault == Fault::internal ? 500 : fault == Fault::limit ? 400 : 503;
        const char *const code = fault == Fault::model_changed ? "model_changed"
                                 : fault == Fault::limit       ? "too_much_work"
                                                               : "";
        reply_->fail(ApiError(status, why, "", code));
    } catch (const std::exception &) { reply_->exchange().respond_out_of_memory(); }
}

void CompletionWriter::stop(const char *why) noexcept {
    attempt([&] {
        if (n_tokens_ == 0) { // no output yet: the client can retry on another server
            reply_->fail(ApiError(503, why));
            return;
        }
        ggufx_generator_cancel(generator());
        auto event = sized<ggufx_event>();
        do {
            call([&](ggufx_error *error) {
                return ggufx_generator_next(&event, generator(), nullptr, error);
            });
            take_event(event);
        } while (event.kind != GGUFX_EVENT_END);
        end("length", why);
    });
}

} // namespace ggufx::cli
