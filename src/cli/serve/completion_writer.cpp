// SPDX-License-Identifier: MIT
#include "serve/completion_writer.hpp"

#include "common/text.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

// Bit set of the samplers whose parameters in the request or on the server differ from the model's
// defaults.
uint32_t links_asked(const ModelSampling &model, const Wanted &wanted) {
    uint32_t out = 0;
    const auto need = [&](uint32_t key, auto value, auto of_model, auto off, uint32_t kind) {
        if (value != (model.has(key) ? of_model : off)) out |= 1u << kind;
    };
    const SamplingDefaults &s = wanted.sampling;
    const ggufx_sampling_facts &f = model.facts;
    need(GGUFX_SAMPLING_TEMPERATURE, s.temperature, f.temperature, 1.0f, GGUFX_LINK_TEMPERATURE);
    need(GGUFX_SAMPLING_TOP_K, s.top_k, f.top_k, 0u, GGUFX_LINK_TOP_K);
    need(GGUFX_SAMPLING_TOP_P, s.top_p, f.top_p, 1.0f, GGUFX_LINK_TOP_P);
    need(GGUFX_SAMPLING_MIN_P, s.min_p, f.min_p, 0.0f, GGUFX_LINK_MIN_P);
    if (wanted.frequency_penalty != 0 || wanted.presence_penalty != 0)
        out |= 1u << GGUFX_LINK_PENALTIES;
    return out;
}

SamplingOptions sampling_options(const ModelHost &host, const Wanted &wanted) {
    SamplingOptions options = host.sampling();
    options.temperature = wanted.sampling.temperature;
    options.top_k = wanted.sampling.top_k;
    options.top_p = wanted.sampling.top_p;
    options.min_p = wanted.sampling.min_p;
    if (!host.model_sampling().orders(links_asked(host.model_sampling(), wanted)))
        options.samplers.clear();
    options.frequency_penalty = wanted.frequency_penalty;
    options.presence_penalty = wanted.presence_penalty;
    const bool has_last = host.model_sampling().has(GGUFX_SAMPLING_N_LAST);
    options.repeat_last_n = std::min({has_last ? options.repeat_last_n : host.n_context(),
                                      host.n_context(), GGUFX_LINK_MOST_LAST});
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

Stop make_stop(const ModelHost &host, const std::vector<std::string> &texts) {
    if (texts.empty()) return nullptr;
    std::vector<ggufx_stop_text> of;
    for (const std::string &text : texts) of.push_back({text.data(), text.size()});
    ggufx_stop *stop = nullptr;
    call([&](ggufx_error *error) {
        return ggufx_stop_create(&stop, host.rt(), of.data(), of.size(), error);
    });
    return Stop(stop);
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
                                   const Wanted &wanted, uint64_t seed)
    : host_(host), reply_(std::move(reply)), metrics_(metrics), clock_(clock), plan_(plan),
      seed_(seed), stop_(make_stop(host, wanted.stop)), top_ids_(plan.n_top),
      top_logprobs_(plan.n_top), is_chat_(plan.prompt != nullptr),
      keeps_special_(wanted.return_special), keeps_reasoning_(wanted.keeps_reasoning),
      budget_(wanted.thinking_budget) {
    if (plan_.prompt) make_parser();
    if (plan_.answer && !plan_.answer->is_free()) begin_answer(*plan_.answer);
    plan_.answer = nullptr;
    plan_.prompt = nullptr;
}

void CompletionWriter::make_parser() {
    const uint32_t flags = keeps_reasoning_ ? GGUFX_CHAT_PARSER_KEEP_REASONING : 0;
    parser_ = make_parser_of(*plan_.prompt, flags, true);
    if (keeps_reasoning_) tracker_ = make_parser_of(*plan_.prompt, 0, false);
}

Parser CompletionWriter::make_parser_of(const Prompt &prompt, uint32_t flags, bool is_told) {
    auto options = sized<ggufx_chat_parser_options>();
    const bool has_calls = !plan_.tools.empty();
    options.flags = flags | (has_calls ? 0 : GGUFX_CHAT_PARSER_NO_CALLS);
    options.prompt = prompt.text.data();
    options.prompt_length = prompt.text.size();
    if (has_calls) {
        options.tools = plan_.tools.data();
        options.tools_length = plan_.tools.size();
    }
    options.user = this;
    options.event =
        is_told ? on_event
                : [](void *, uint32_t, uint64_t, const char *, size_t) -> int32_t { return 0; };
    Parser out = host_.make_parser(options);
    if (!prompt.begun.empty())
        call([&](ggufx_error *error) {
            return ggufx_chat_parser_feed(out.get(), prompt.begun.data(), prompt.begun.size(),
                                          error);
        });
    return out;
}

void CompletionWriter::begin_answer(const AnswerPlan &plan) {
    if (plan.json) matcher_ = make_matcher(plan.json->handle.get());
    if (plan.call) call_.emplace(host_, plan.call);
    opening_.assign(plan.opening.rbegin(), plan.opening.rend());
    reasoning_open_ = plan.reasoning_open;
    call_open_ = plan.call_open;
    feed(plan.begun);
    begin_stage(plan.reasons                    ? Stage::reasoning
                : reasoning_open_ || call_open_ ? Stage::begun
                                                : Stage::opening);
}

ggufx_chat_parser_facts CompletionWriter::parser_facts() const {
    if (!parser_) return {};
    return facts<ggufx_chat_parser_facts>([&](ggufx_chat_parser_facts *out, ggufx_error *e) {
        return ggufx_chat_parser_info(out, (tracker_ ? tracker_ : parser_).get(), e);
    });
}

bool CompletionWriter::is_reasoning() const {
    return (parser_facts().flags & GGUFX_CHAT_PARSER_REASONING) != 0;
}

void CompletionWriter::begin_stage(Stage stage) {
    stage_ = stage;
    if (stage == Stage::opening) {
        given_ = opening_;
        if (given_.empty()) begin_stage(call_ ? Stage::call : Stage::json);
    }
    // From here on the grammar decides the output; the parser is no longer needed.
    if (stage == Stage::json || stage == Stage::call) parser_.reset(), tracker_.reset();
    if (stage == Stage::call) call_->begin(delta_);
}

Constraint CompletionWriter::constraint() {
    Constraint out;
    if (!given_.empty()) {
        out.given = given_.back();
        return out;
    }
    if (stage_ == Stage::json) out.matcher = matcher_.get();
    if (stage_ == Stage::call) return call_->constraint();
    if (stage_ != Stage::begun) return out;
    allowed_ = TokenSet(host_.facts().n_vocab);
    if (reasoning_open_) allowed_.add(*reasoning_open_);
    if (call_open_) allowed_.add(*call_open_);
    if (!opening_.empty())
        allowed_.add(opening_.back());
    else if (call_)
        allowed_.add_all();
    else
        allowed_.add_fitting(matcher_.get());
    out.allowed = &allowed_;
    return out;
}

// Selects the stage from the first token of a constrained generation.
void CompletionWriter::choose_stage(int32_t id) {
    if (reasoning_open_ == id) return begin_stage(Stage::reasoning);
    if (call_open_ == id) return begin_stage(Stage::free);
    begin_stage(Stage::opening);
    if (!given_.empty()) given_.pop_back(); // the forced token was used
    if (stage_ == Stage::json)
        call([&](ggufx_error *e) { return ggufx_matcher_accept(matcher_.get(), &id, 1, e); });
}

void CompletionWriter::begin(size_t n_cached) {
    begun_ = last_ = clock_();
    metrics_.waited(begun_ - plan_.taken);
    if (!plan_.counts_prompt) return;
    reply_->usage.n_prompt += plan_.n_prompt;
    reply_->usage.n_cached += n_cached;
}

// Adds an event of the output parser to the delta of this token. Out of memory fails the request.
int32_t CompletionWriter::on_event(void *user, uint32_t kind, uint64_t call, const char *text,
                                   size_t length) {
    auto &self = *static_cast<CompletionWriter *>(user);
    try {
        Delta &delta = self.delta_;
        const std::string_view piece(text, length);
        const bool is_over = !self.plan_.parallel_calls && self.parser_facts().n_calls > 0;
        if (is_over) return 0; // ignore output after the only allowed call
        self.reasons_ = kind == GGUFX_CHAT_REASONING;
        if (kind == GGUFX_CHAT_ANSWER) delta.content += self.strays_.without(piece);
        if (kind == GGUFX_CHAT_REASONING) delta.reasoning += self.strays_.without(piece);
        if (kind >= GGUFX_CHAT_CALL_NAME) self.strays_.clear();
        if (kind == GGUFX_CHAT_CALL_NAME) {
            self.has_calls_ = true;
            delta.calls.push_back({call, random_name(9), std::string(piece), ""});
        }
        if (kind == GGUFX_CHAT_CALL_ID && !delta.calls.empty()) delta.calls.back().id = piece;
        if (kind == GGUFX_CHAT_CALL_ARGUMENTS) {
            if (delta.calls.empty() || delta.calls.back().index != call)
                delta.calls.push_back({call, "", "", ""});
            delta.calls.back().arguments += piece;
        }
        return 0;
    } catch (const std::bad_alloc &) { return 1; }
}

int32_t CompletionWriter::sample(std::span<const float> logits, float &logprob) {
    if (const auto id = close_reasoning()) return take(logits, *id, logprob);
    const Constraint limits = constraint();
    if (limits.given) return take(logits, *limits.given, logprob);
    int32_t id = 0;
    if (limits.allowed) {
        masked_.assign(logits.begin(), logits.end());
        limits.allowed->apply(masked_);
        call([&](ggufx_error *error) {
            return ggufx_sampler_sample(&id, nullptr, sampler_.get(), masked_.data(),
                                        masked_.size(), error);
        });
        return take(logits, id, logprob);
    }
    float *const wanted = plan_.logprobs || plan_.rates ? &logprob : nullptr;
    call([&](ggufx_error *error) {
        return limits.matcher
                   ? ggufx_sampler_sample_matching(&id, wanted, sampler_.get(), limits.matcher,
                                                   logits.data(), logits.size(), error)
                   : ggufx_sampler_sample(&id, wanted, sampler_.get(), logits.data(), logits.size(),
                                          error);
    });
    const bool ends = host_.ends(id) || use_of(id) == OutputTokens::Use::end;
    if (stage_ != Stage::reasoning || !ends) return id;
    // End-of-generation inside reasoning: force the closing marker, since the answer is still
    // required.
    given_ = host_.tokenize(parser_facts().reasoning_close, GGUFX_TOKENIZE_PARSE_SPECIAL);
    std::reverse(given_.begin(), given_.end());
    return given_.empty() ? id : take(logits, given_.back(), logprob);
}

// Counts reasoning tokens; when the budget is used up, forces the template's closing marker.
std::optional<int32_t> CompletionWriter::close_reasoning() {
    if (!budget_ || !given_.empty() || !held_.empty() || !is_reasoning()) return {};
    if (*budget_ > 0) {
        --*budget_;
        return {};
    }
    const bool has_channels = (host_.chat_facts().flags & GGUFX_CHAT_CHANNELS) != 0;
    const std::string close = parser_facts().reasoning_close;
    given_ = host_.tokenize(has_channels ? close : close + "\n\n", GGUFX_TOKENIZE_PARSE_SPECIAL);
    std::reverse(given_.begin(), given_.end());
    if (given_.empty()) return {};
    return given_.back();
}

// Takes a forced token.
int32_t CompletionWriter::take(std::span<const float> logits, int32_t id, float &logprob) {
    if (plan_.logprobs || plan_.rates)
        call([&](ggufx_error *error) {
            return ggufx_logprobs(nullptr, nullptr, 0, &logprob, host_.rt(), logits.data(),
                                  logits.size(), id, error);
        });
    return id;
}

// Returns the log-probability entry of a token: text, position and the top alternatives.
TokenLogprob CompletionWriter::token_of(std::span<const float> logits, int32_t id, float logprob) {
    const size_t k = std::min<size_t>(plan_.n_top, logits.size());
    if (k > 0) {
        call([&](ggufx_error *error) {
            return ggufx_logprobs(top_ids_.data(), top_logprobs_.data(), k, nullptr, host_.rt(),
                                  logits.data(), logits.size(), id, error);
        });
    }
    TokenLogprob token = {host_.piece(id), logprob, {}, n_shown_ + held_.size(), 0};
    token.offset = next_offset(token.piece);
    for (size_t i = 0; i < k; i++)
        token.top.push_back({host_.piece(top_ids_[i]), top_logprobs_[i]});
    return token;
}

// Adds the log-probabilities of the prompt's tokens: each from the logits of the token before it.
void CompletionWriter::note_scores(size_t first, std::span<const float> logits) {
    const std::vector<int32_t> &ids = plan_.echoed;
    const size_t n_vocab = host_.facts().n_vocab, n = logits.size() / n_vocab;
    if (first == 0) { // also after a preemption
        pending_.clear();
        n_shown_ = n_characters_ = 0;
        n_missing_ = 0;
        state_ = {};
        TokenLogprob token = {host_.piece(ids[0]), {}, {}, 0, 0};
        token.offset = next_offset(token.piece);
        note_prompt(0, std::move(token));
    }
    for (size_t i = first + 1; i <= first + n && i < ids.size(); i++) {
        const auto row = logits.subspan((i - 1 - first) * n_vocab, n_vocab);
        float logprob = 0;
        call([&](ggufx_error *error) {
            return ggufx_logprobs(nullptr, nullptr, 0, &logprob, host_.rt(), row.data(), n_vocab,
                                  ids[i], error);
        });
        note_prompt(i, token_of(row, ids[i], logprob));
    }
    if (first + n < ids.size()) return;
    n_characters_ += count_characters(part(0, GGUFX_DETOKENIZE_LAST));
    n_missing_ = 0;
    state_ = {};
    delta_.logprobs = std::move(pending_);
    pending_.clear();
    reply_->put(plan_.index, std::move(delta_));
    delta_ = {};
    n_told_ = n_shown_;
}

// Adds a token of the prompt.
void CompletionWriter::note_prompt(size_t i, TokenLogprob token) {
    n_shown_ += token.piece.size();
    pending_.push_back(std::move(token));
    const bool keeps_special = keeps_special_ || (plan_.echoes_special && i > 0); // not BOS
    n_characters_ +=
        count_characters(part(plan_.echoed[i], keeps_special ? GGUFX_DETOKENIZE_KEEP_SPECIAL : 0));
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

void CompletionWriter::score(size_t first, std::span<const float> logits) {
    attempt([&] { note_scores(first, logits); });
}

void CompletionWriter::pass() noexcept {
    try {
        reply_->exchange().keep_alive(clock_());
    } catch (const std::exception &) {} // without memory there is no comment
}

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

void CompletionWriter::note_time() {
    const double now = clock_();
    if (n_tokens_ == 1) {
        metrics_.first_token(now - plan_.taken);
        reply_->usage.prompt_seconds = std::max(reply_->usage.prompt_seconds, now - begun_);
        begun_ = now;
    } else {
        metrics_.between_tokens(now - last_);
    }
    last_ = now;
}

std::string CompletionWriter::piece(int32_t id, bool last) {
    // Hidden markers are located by it.
    const bool keeps = parser_ || call_ || stop_ || keeps_special_;
    return part(id, (keeps ? GGUFX_DETOKENIZE_KEEP_SPECIAL : 0) | GGUFX_DETOKENIZE_KEEP_SPACE |
                        (last ? GGUFX_DETOKENIZE_LAST : 0));
}

// Returns the next part of the text. With GGUFX_DETOKENIZE_LAST: the rest, without a token.
std::string CompletionWriter::part(int32_t id, uint32_t flags) {
    const bool last = (flags & GGUFX_DETOKENIZE_LAST) != 0;
    std::string text(256, '\0');
    size_t needed = 0;
    const auto detokenize = [&](ggufx_error *error) {
        return ggufx_detokenize_part(text.data(), text.size(), &needed, &state_, host_.tokenizer(),
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

void CompletionWriter::hold(int32_t id, const std::string &bytes) {
    held_ += bytes;
    const bool is_marker = parser_ && host_.output_tokens().is_marker(id, !plan_.tools.empty());
    const bool is_hidden = use_of(id) != OutputTokens::Use::text;
    const size_t n = is_marker || is_hidden ? std::min(bytes.size(), host_.piece(id).size()) : 0;
    const size_t n_visible = bytes.size() - (is_hidden ? n : 0);
    n_characters_ += count_characters(std::string_view(bytes).substr(0, n_visible));
    const uint64_t end = n_shown_ + held_.size();
    if (n > 0) specials_.push_back({end - n, end, is_hidden});
}

// Moves the first n held bytes to the output, without the hidden tokens.
void CompletionWriter::show(size_t n) {
    const auto take = [&](uint64_t end) {
        const std::string taken = held_.substr(0, end - n_shown_);
        held_.erase(0, taken.size());
        n_shown_ = end;
        return taken;
    };
    uint64_t end = n_shown_ + n;
    for (const Special &special : specials_) // a special token is shown as a whole or not at all
        if (special.begin < end && end < special.end) end = special.begin;
    while (!specials_.empty() && specials_.front().end <= end) {
        const Special special = specials_.front();
        specials_.pop_front();
        show_text(take(special.begin));
        const std::string marker = take(special.end);
        if (special.is_hidden) continue;
        if (!keeps_reasoning_) strays_.expect(marker);
        show_text(marker);
        strays_.settle();
    }
    show_text(take(end));
}

void CompletionWriter::show_text(const std::string &text) {
    if (text.empty()) return;
    if (!parser_) {
        delta_.content += text;
        return;
    }
    feed(text);
}

void CompletionWriter::feed(const std::string &text) {
    if (text.empty()) return;
    for (ggufx_chat_parser *const parser : {parser_.get(), tracker_.get()})
        if (parser)
            call([&](ggufx_error *error) {
                return ggufx_chat_parser_feed(parser, text.data(), text.size(), error);
            });
}

// Adds a token's text according to the current stage. Returns true if the text is complete.
bool CompletionWriter::add(int32_t id, const std::string &bytes) {
    const bool was_given = !given_.empty();
    if (was_given) given_.pop_back();
    if (stage_ == Stage::begun) choose_stage(id);
    switch (stage_) {
    case Stage::opening:
        if (given_.empty()) begin_stage(call_ ? Stage::call : Stage::json);
        return false;
    case Stage::call:
        call_->add(id, bytes, delta_);
        has_calls_ = call_->has_begun();
        return call_->is_whole();
    case Stage::reasoning: // stop strings do not apply within reasoning
        hold(id, bytes);
        show(held_.size());
        if (!is_reasoning()) begin_stage(Stage::opening);
        return false;
    default:
        break;
    }
    const bool stops = add_held(id, bytes);
    return stops || (has_calls_ && !plan_.parallel_calls && parser_facts().n_calls > 0);
}

bool CompletionWriter::add_held(int32_t id, const std::string &bytes) {
    hold(id, bytes);
    if (!stop_) {
        show(held_.size());
        return false;
    }
    if (bytes.empty()) return false;
    const auto facts = cli::facts<ggufx_stop_facts>([&](ggufx_stop_facts *out, ggufx_error *error) {
        return ggufx_stop_feed(out, stop_.get(), bytes.data(), bytes.size(), error);
    });
    show(static_cast<size_t>(facts.n_shown + n_told_ - n_shown_));
    if (facts.found < 0) return false;
    held_.clear();
    specials_.clear();
    is_stopped_ = true;
    // Tokens of the stop string are not part of the answer.
    std::erase_if(pending_, [&](const TokenLogprob &token) { return token.start >= n_shown_; });
    return true;
}

// Decides how a special token is used: hidden, or passed to the parser. JSON and
// grammar-constrained calls have none.
OutputTokens::Use CompletionWriter::use_of(int32_t id) const {
    if (stage_ == Stage::json || stage_ == Stage::call || host_.is_plain(id))
        return OutputTokens::Use::text;
    if (is_chat_) return host_.output_tokens().use(id, !plan_.tools.empty());
    return keeps_special_ ? OutputTokens::Use::text : OutputTokens::Use::hidden;
}

// An end-of-generation token is not part of the output. A channel token separates a call from an
// answer.
bool CompletionWriter::add_token(int32_t id) {
    const bool is_free = stage_ != Stage::reasoning && stage_ != Stage::call;
    const bool is_read = parser_ && (host_.chat_facts().flags & GGUFX_CHAT_CHANNELS) != 0 &&
                         host_.output_tokens().is_marker(id, !plan_.tools.empty());
    return (!is_free || !host_.ends(id) || is_read) && add(id, piece(id, false));
}

std::optional<int32_t> CompletionWriter::write(std::span<const float> logits) {
    if (has_failed_) return {};
    if (plan_.max_tokens == 0) { // only the prompt was requested
        end("length");
        return {};
    }
    if (!sampler_) {
        SamplingOptions options = *plan_.sampling;
        options.seed = seed_;
        sampler_ = make_text_sampler(host_, options);
    }
    float logprob = 0;
    const int32_t id = sample(logits, logprob);
    call([&](ggufx_error *error) { return ggufx_sampler_accept(sampler_.get(), &id, 1, error); });
    n_tokens_++;
    note_time();
    const OutputTokens::Use use = use_of(id);
    const bool is_free = stage_ != Stage::reasoning && stage_ != Stage::call;
    const bool ends = is_free && (host_.ends(id) || use == OutputTokens::Use::end);
    sum_logprobs_ += logprob;
    if (!ends && plan_.logprobs) pending_.push_back(token_of(logits, id, logprob));
    const bool stops = add_token(id);
    if (tracker_ ? is_reasoning() : reasons_) reply_->usage.n_reasoning++;
    if (ends || stops || n_tokens_ >= plan_.max_tokens) {
        end(ends || stops ? "stop" : "length");
        return {};
    }
    if (held_.empty()) delta_.logprobs = std::move(pending_);
    if (held_.empty()) pending_.clear();
    reply_->put(plan_.index, std::move(delta_));
    delta_ = {};
    reply_->exchange().keep_alive(last_);
    return id;
}

std::optional<int32_t> CompletionWriter::next(std::span<const float> logits) {
    std::optional<int32_t> out;
    attempt([&] { out = write(logits); });
    return out;
}

void CompletionWriter::end(const std::string &reason, const std::string &note) {
    host_.require_same_weights();
    if (!is_stopped_ && stage_ != Stage::call)
        held_ += piece(0, true); // incomplete character, so no stop string matches
    show(held_.size());
    if (parser_) {
        call([&](ggufx_error *error) { return ggufx_chat_parser_finish(parser_.get(), error); });
    }
    delta_.logprobs = std::move(pending_);
    reply_->usage.n_answer += n_tokens_;
    reply_->usage.answer_seconds = std::max(reply_->usage.answer_seconds, clock_() - begun_);
    reply_->put(plan_.index, std::move(delta_));
    const double mean = n_tokens_ > 0 ? sum_logprobs_ / n_tokens_ : 0;
    reply_->finish(plan_.index,
                   {has_calls_ && reason == "stop" ? "tool_calls" : reason, note, mean});
}

void CompletionWriter::fail(const char *why, Fault fault) noexcept {
    has_failed_ = true;
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
        if (n_tokens_ == 0) // no output yet: the client can retry on another server
            reply_->fail(ApiError(503, why));
        else
            end("length", why);
    });
}

} // namespace ggufx::cli
