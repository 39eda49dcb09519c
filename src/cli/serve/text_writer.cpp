// SPDX-License-Identifier: MIT
#include "serve/text_writer.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

// Links that a request, or the server, asks for by other numbers than the model's own.
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

Sampler make_text_sampler(const ModelHost &host, const Wanted &wanted, uint64_t seed) {
    SamplingOptions options = host.sampling();
    options.temperature = wanted.sampling.temperature;
    options.top_k = wanted.sampling.top_k;
    options.top_p = wanted.sampling.top_p;
    options.min_p = wanted.sampling.min_p;
    options.seed = seed;
    if (!host.model_sampling().orders(links_asked(host.model_sampling(), wanted)))
        options.samplers.clear();
    options.frequency_penalty = wanted.frequency_penalty;
    options.presence_penalty = wanted.presence_penalty;
    const bool has_last = host.model_sampling().has(GGUFX_SAMPLING_N_LAST);
    options.repeat_last_n = std::min({has_last ? options.repeat_last_n : host.n_context(),
                                      host.n_context(), GGUFX_LINK_MOST_LAST});
    for (const ggufx_logit_bias &bias : wanted.biases)
        options.biases.push_back(fmt::format("{}={}", bias.id, bias.bias));
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

TextWriter::TextWriter(const ModelHost &host, std::shared_ptr<Reply> reply, Metrics &metrics,
                       Clock clock, const TextPlan &plan, const Wanted &wanted, uint64_t seed)
    : host_(host), reply_(std::move(reply)), metrics_(metrics), clock_(clock), plan_(plan),
      sampler_(make_text_sampler(host, wanted, seed)), stop_(make_stop(host, wanted.stop)),
      top_ids_(plan.n_top), top_logprobs_(plan.n_top) {
    if (plan_.json) matcher_ = make_matcher(plan_.json->get());
    if (plan_.call) call_.emplace(plan_.call);
    if (plan_.prompt) make_parser();
    plan_.json = nullptr;
    plan_.prompt = nullptr;
}

void TextWriter::make_parser() {
    constexpr uint32_t calls = GGUFX_CHAT_STYLE_HERMES | GGUFX_CHAT_STYLE_XML |
                               GGUFX_CHAT_STYLE_MISTRAL | GGUFX_CHAT_STYLE_LLAMA3;
    ggufx_chat_parser_options options;
    ggufx_chat_parser_options_init(&options);
    options.styles = plan_.tools.empty() ? host_.styles() & ~calls : host_.styles();
    options.prompt = plan_.prompt->text.data();
    options.prompt_length = plan_.prompt->text.size();
    if (!plan_.tools.empty()) {
        options.tools = plan_.tools.data();
        options.tools_length = plan_.tools.size();
    }
    options.user = this;
    options.event = on_event;
    ggufx_chat_parser *parser = nullptr;
    call([&](ggufx_error *error) {
        return ggufx_chat_parser_create(&parser, host_.rt(), &options, error);
    });
    parser_.reset(parser);
}

void TextWriter::begin(size_t n_cached) {
    begun_ = last_ = clock_();
    metrics_.waited(begun_ - plan_.taken);
    if (!plan_.counts_prompt) return;
    reply_->usage.n_prompt += plan_.n_prompt;
    reply_->usage.n_cached += n_cached;
}

// What the parser tells becomes a part of what this token added; no memory: the text fails.
int32_t TextWriter::on_event(void *user, uint32_t kind, uint64_t call, const char *text,
                             size_t length) {
    auto &self = *static_cast<TextWriter *>(user);
    try {
        Delta &delta = self.delta_;
        const std::string_view piece(text, length);
        self.reasons_ = kind == GGUFX_CHAT_REASONING;
        if (kind == GGUFX_CHAT_ANSWER) delta.content += piece;
        if (kind == GGUFX_CHAT_REASONING) delta.reasoning += piece;
        if (kind == GGUFX_CHAT_CALL_NAME) {
            self.has_calls_ = true;
            delta.calls.push_back({call, random_name(9), std::string(piece), ""});
        }
        if (kind == GGUFX_CHAT_CALL_ARGUMENTS) {
            if (delta.calls.empty() || delta.calls.back().index != call)
                delta.calls.push_back({call, "", "", ""});
            delta.calls.back().arguments += piece;
        }
        return 0;
    } catch (const std::bad_alloc &) { return 1; }
}

int32_t TextWriter::sample(std::span<const float> logits, float &logprob) {
    int32_t id = 0;
    float *const wanted = plan_.logprobs || plan_.rates ? &logprob : nullptr;
    ggufx_matcher *const matcher = call_ ? call_->matcher() : matcher_.get();
    call([&](ggufx_error *error) {
        return matcher ? ggufx_sampler_sample_matching(&id, wanted, sampler_.get(), matcher,
                                                       logits.data(), logits.size(), error)
                       : ggufx_sampler_sample(&id, wanted, sampler_.get(), logits.data(),
                                              logits.size(), error);
    });
    return id;
}

// A token that there is no choice of.
int32_t TextWriter::take(std::span<const float> logits, int32_t id, float &logprob) {
    if (plan_.logprobs || plan_.rates)
        call([&](ggufx_error *error) {
            return ggufx_logprobs(nullptr, nullptr, 0, &logprob, host_.rt(), logits.data(),
                                  logits.size(), id, error);
        });
    return id;
}

// A token, where it stands, and the likeliest in its place.
TokenLogprob TextWriter::token_of(std::span<const float> logits, int32_t id, float logprob) {
    const size_t k = std::min<size_t>(plan_.n_top, logits.size());
    if (k > 0) {
        call([&](ggufx_error *error) {
            return ggufx_logprobs(top_ids_.data(), top_logprobs_.data(), k, nullptr, host_.rt(),
                                  logits.data(), logits.size(), id, error);
        });
    }
    TokenLogprob token = {host_.piece(id), logprob, {}, n_shown_ + held_.size()};
    for (size_t i = 0; i < k; i++)
        token.top.push_back({host_.piece(top_ids_[i]), top_logprobs_[i]});
    return token;
}

// What a prompt's tokens were likely by: each by the logits of the one before it.
void TextWriter::note_scores(size_t first, std::span<const float> logits) {
    const std::vector<int32_t> &ids = plan_.echoed;
    const size_t n_vocab = host_.facts().n_vocab, n = logits.size() / n_vocab;
    if (first == 0) {
        pending_.push_back({host_.piece(ids[0]), {}, {}, 0});
        n_shown_ = pending_.back().piece.size();
    }
    for (size_t i = first + 1; i <= first + n && i < ids.size(); i++) {
        const auto row = logits.subspan((i - 1 - first) * n_vocab, n_vocab);
        float logprob = 0;
        call([&](ggufx_error *error) {
            return ggufx_logprobs(nullptr, nullptr, 0, &logprob, host_.rt(), row.data(), n_vocab,
                                  ids[i], error);
        });
        pending_.push_back(token_of(row, ids[i], logprob));
        n_shown_ += pending_.back().piece.size();
    }
    if (first + n < ids.size()) return;
    delta_.logprobs = std::move(pending_);
    pending_.clear();
    reply_->put(plan_.index, std::move(delta_));
    delta_ = {};
    n_told_ = n_shown_;
}

void TextWriter::score(size_t first, std::span<const float> logits) {
    try {
        note_scores(first, logits);
    } catch (const Failure &failure) {
        fail(failure.what(), false);
    } catch (const std::bad_alloc &) { fail("out of memory", true); }
}

void TextWriter::note_time() {
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

std::string TextWriter::piece(int32_t id, bool last) {
    const uint32_t flags = (parser_ ? GGUFX_DETOKENIZE_KEEP_SPECIAL : 0) |
                           GGUFX_DETOKENIZE_KEEP_SPACE | (last ? GGUFX_DETOKENIZE_LAST : 0);
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

// The first bytes of what is held belong to the text.
void TextWriter::show(size_t n) {
    if (n == 0) return;
    const std::string shown = held_.substr(0, n);
    held_.erase(0, n);
    n_shown_ += n;
    if (!parser_) {
        delta_.content += shown;
        return;
    }
    call([&](ggufx_error *error) {
        return ggufx_chat_parser_feed(parser_.get(), shown.data(), shown.size(), error);
    });
}

bool TextWriter::add(const std::string &bytes) {
    if (!call_) return add_held(bytes);
    call_->add(bytes, delta_);
    has_calls_ = call_->was_told();
    return call_->is_whole();
}

bool TextWriter::add_held(const std::string &bytes) {
    held_ += bytes;
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
    is_stopped_ = true;
    // Tokens of the stop text are no part of the answer.
    std::erase_if(pending_, [&](const TokenLogprob &token) { return token.start >= n_shown_; });
    return true;
}

std::optional<int32_t> TextWriter::write(std::span<const float> logits) {
    if (has_failed_) return {};
    if (plan_.max_tokens == 0) { // a prompt is all that is asked for
        end("length");
        return {};
    }
    float logprob = 0;
    const auto given = call_ ? call_->given() : std::nullopt;
    const int32_t id = given ? take(logits, *given, logprob) : sample(logits, logprob);
    call([&](ggufx_error *error) { return ggufx_sampler_accept(sampler_.get(), &id, 1, error); });
    n_tokens_++;
    note_time();
    const bool ends = host_.ends(id);
    bool stops = false;
    // What ends is no part of the answer; in harmony it tells a call from an answer.
    sum_logprobs_ += logprob;
    if (!ends && plan_.logprobs) pending_.push_back(token_of(logits, id, logprob));
    if (!ends || (parser_ && (host_.styles() & GGUFX_CHAT_STYLE_HARMONY) != 0))
        stops = add(piece(id, false));
    if (reasons_) reply_->usage.n_reasoning++;
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

std::optional<int32_t> TextWriter::next(std::span<const float> logits) {
    try {
        return write(logits);
    } catch (const Failure &failure) {
        fail(failure.what(), false);
    } catch (const std::bad_alloc &) { fail("out of memory", true); }
    return {};
}

void TextWriter::end(const std::string &reason, const std::string &note) {
    if (!is_stopped_ && !call_) held_ += piece(0, true); // no whole character: no stop text
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

void TextWriter::fail(const std::string &why, bool is_full) {
    has_failed_ = true;
    reply_->fail(ApiError(is_full ? 503 : 500, why));
}

void TextWriter::stop(const std::string &why) {
    try {
        if (n_tokens_ == 0) // nothing of it was written: it can be asked for elsewhere
            reply_->fail(ApiError(503, why));
        else
            end("length", why);
    } catch (const Failure &failure) { fail(failure.what(), false); }
}

} // namespace ggufx::cli
