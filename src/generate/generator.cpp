// SPDX-License-Identifier: MIT
#include "generate/generator.hpp"

#include "base/crc64.hpp"
#include "base/fpenv.hpp"
#include "generate/step.hpp"
#include "sampling/logprobs.hpp"

#include <inttypes.h>

#include <algorithm>

namespace ggufx::generate {

namespace {

constexpr size_t kScoredTokens = 16; // with logits of all, which take memory

const kernels::RowKernels &row_kernels(const model::Session &session) {
    return *kernels::rows_of(session.model().engine().kernels());
}

uint64_t fingerprint_of(const GeneratorOptions &options, const Text::Options &text) {
    const uint32_t numbers[] = {
        options.max_tokens,       options.tiled_decode,     options.ignores_eog,
        options.scores_prompt,    options.logprobs,         options.n_logprobs,
        options.max_reasoning,    options.penalizes_output, options.grammar ? 1u : 0u,
        text.tokenizer ? 1u : 0u, text.shows_special};
    uint64_t crc = crc64(0, numbers, sizeof numbers);
    for (size_t i = 0; i < text.n_stops; i++) {
        const uint64_t n = text.stops[i].size();
        crc = crc64(crc64(crc, &n, sizeof n), text.stops[i].data(), text.stops[i].size());
    }
    return crc;
}

} // namespace

Generator::Generator(model::Session &session, Steps &steps, sampling::Chain sampler,
                     const GeneratorOptions &options, const Text::Options &text)
    : session_(session), steps_(steps), options_(options),
      fingerprint_(fingerprint_of(options, text)), sampler_(std::move(sampler)),
      text_(session.model().host(), text), queue_(host()), tokens_(host()),
      top_(HostAllocator<Logprob>(host())), top_ids_(HostAllocator<int32_t>(host())),
      top_logits_(HostAllocator<float>(host())), forced_(HostAllocator<int32_t>(host())) {
    top_.resize(options.n_logprobs);
    top_ids_.resize(options.n_logprobs);
    top_logits_.resize(options.n_logprobs);
    if (options.drafts)
        drafts_.emplace(host(), session.n_context(), static_cast<uint32_t>(session.logits_size()),
                        *options.drafts);
    steps_.claim(options_.sequence, this);
}

Generator::~Generator() {
    steps_.forget(this);
}

const Host *Generator::host() const {
    return session_.model().host().get();
}

matmul::Options Generator::prompt_products() const {
    matmul::Options out = session_.matmul_options();
    out.batch_invariant = false;
    out.tiles = true;
    return out;
}

uint8_t Generator::answer_mode() const {
    matmul::Options out = prompt_products();
    if (options_.tiled_decode) return model::mode_of(out);
    out.tiles = false;
    out.batch_invariant = true;
    return model::mode_of(out);
}

// ---- prompt

namespace {

void check_ids(const Tokens &tokens, uint64_t n_vocab) {
    for (size_t i = 0; i < tokens.size(); i++)
        if (tokens.ids[i] < 0 || static_cast<uint64_t>(tokens.ids[i]) >= n_vocab)
            fail(Status::argument, {kNone, i},
                 "token %" PRIu64 " of the prompt is %" PRId32 ", the vocabulary has %" PRIu64
                 " tokens",
                 static_cast<uint64_t>(i), tokens.ids[i], n_vocab);
}

// Copies the tokens of a sequence; returns whether they can be computed again.
bool copy_tokens(Tokens &out, const model::Session &session, uint32_t sequence) {
    const auto n = static_cast<size_t>(session.length(sequence));
    const int32_t *const ids = session.ids(sequence), *const at = session.positions(sequence);
    const uint8_t *const modes = session.modes(sequence);
    out.ids.assign(ids, ids + n);
    out.modes.assign(modes, modes + n);
    size_t n_rows = 0;
    bool again = !session.is_edited(sequence);
    for (size_t i = 0; i < n; i++) {
        n_rows += (modes[i] & model::kModeEmbedded) != 0;
        again = again && at[i] == static_cast<int64_t>(i);
    }
    const float *const rows = session.embedded(sequence);
    out.rows.assign(rows, rows + n_rows * session.model().shape().n_embd);
    return again;
}

// Adds `more` after `out`. Throws std::bad_alloc.
void append(Tokens &out, const Tokens &more) {
    out.ids.insert(out.ids.end(), more.ids.begin(), more.ids.end());
    out.modes.insert(out.modes.end(), more.modes.begin(), more.modes.end());
    out.rows.insert(out.rows.end(), more.rows.begin(), more.rows.end());
}

} // namespace

void Generator::require_idle() const {
    if (steps_.is_in_flight())
        fail(Status::state, {}, "a step is in flight: complete it, or cancel its generators");
}

void Generator::set_prompt(Prompt &&prompt) {
    require_idle();
    if (!has_sequence_) fail(Status::state, {}, "the generator is suspended: resume it first");
    const uint32_t sequence = options_.sequence;
    const uint64_t n_context = session_.n_context();
    Tokens tokens(host());
    bool again = true;
    if (prompt.appends) again = copy_tokens(tokens, session_, sequence);
    append(tokens, prompt.tokens);
    const size_t n = tokens.size();
    if (n == 0) fail(Status::argument, {}, "the prompt has no tokens");
    if (n > n_context)
        fail(Status::capacity, {.value = n, .limit = n_context},
             "the prompt has %" PRIu64 " tokens, the context holds %" PRIu64,
             static_cast<uint64_t>(n), n_context);
    check_ids(tokens, session_.model().shape().n_vocab);
    const uint64_t most = options_.max_tokens ? n + uint64_t{options_.max_tokens} : UINT64_MAX;
    tokens.reserve(static_cast<size_t>(std::min(most, n_context + 1)));
    Owned<Matcher> matcher;
    if (options_.grammar) matcher = options_.grammar->matcher();
    uint64_t same = session_.length(sequence);
    if (!prompt.appends)
        same =
            options_.scores_prompt ? 0 : common_prefix(session_, sequence, tokens, prompt.any_mode);
    same = std::min<uint64_t>(same, n - 1); // the last token gives the logits
    text_spoiled_ = true;                   // until the other output has begun
    text_.begin(prompt.format.get());
    Owned<Constraint> constraint;
    if (prompt.format) constraint = prompt.format->constraint();
    if (constraint) constraint->begin(text_);
    if (constraint && matcher)
        fail(Status::argument, {},
             "the generator has a grammar, and the prompt constrains its output: one of them must "
             "go");
    cut(same);
    // From here on nothing fails.
    if (prompt.any_mode) std::copy_n(session_.modes(sequence), same, tokens.modes.begin());
    if (drafts_) drafts_->restart();
    tokens_ = std::move(tokens);
    format_ = std::move(prompt.format);
    matcher_ = std::move(matcher);
    constraint_ = std::move(constraint);
    closes_at_ = SIZE_MAX;
    text_spoiled_ = false;
    is_appended_ = !again;
    marks_ = prompt.marks;
    n_prompt_ = n;
    n_reused_ = static_cast<size_t>(same);
    n_scored_ = n_reused_;
    n_matched_ = n_reasoning_ = 0;
    sum_logprobs_ = 0;
    reasoning_left_ = options_.max_reasoning;
    forced_.clear();
    n_forced_ = 0;
    end_ = End::none;
    has_told_prompt_ = false;
    queue_.clear();
    const sampling::Chain::State state = sampler_.state();
    sampler_.reset();
    accept_all();
    if (prompt.keeps_random) restore_sampler(state);
    cancelled_.store(0, Order::release);
}

// Cuts the sequence to its first tokens, which are ours.
void Generator::cut(uint64_t n) {
    const uint32_t sequence = options_.sequence;
    Failure failure = {};
    if (session_.length(sequence) != n && session_.truncate(sequence, n, &failure) != Status::ok)
        throw Error{failure};
    held_ = static_cast<size_t>(n);
    n_changes_ = session_.n_changes(sequence);
}

// Returns the number of tokens that the sequence holds and that need not be computed again: the
// logits of the last one are wanted, and those before each token to be scored.
uint64_t Generator::reusable(bool any_mode) const {
    uint64_t most = tokens_.size() - 1;
    if (is_scored()) most = std::min<uint64_t>(most, std::max(n_scored_, n_reused_ + 1) - 1);
    return std::min(most, common_prefix(session_, options_.sequence, tokens_, any_mode));
}

// Finds the tokens that the sequence holds, if another call has changed it.
void Generator::match() {
    const uint32_t sequence = options_.sequence;
    if (n_changes_ == session_.n_changes(sequence)) return;
    if (is_appended_)
        fail(Status::state, {},
             "sequence %" PRIu32
             " was changed by another call, and its removed or shifted tokens cannot be computed "
             "again: set a prompt",
             sequence);
    cut(reusable(false));
}

// ---- state of the sampler

void Generator::accept(const int32_t *ids, size_t n) {
    for (size_t i = 0; i < n; i++) sampler_.accept(ids[i]);
}

// Accepts all tokens so far.
void Generator::accept_all() {
    const size_t first = options_.penalizes_output ? n_prompt_ : 0;
    accept(tokens_.ids.data() + first, tokens_.size() - first);
}

void Generator::restore_sampler(const sampling::Chain::State &state) {
    sampler_.reset();
    accept_all();
    sampler_.restore(state);
}

// ---- steps

// Replays the output after a failure has spoiled it.
void Generator::restart_text() {
    text_.begin(format_.get());
    constraint_.reset();
    if (format_) constraint_ = format_->constraint();
    if (constraint_) constraint_->begin(text_);
    n_reasoning_ = 0;
    reasoning_left_ = options_.max_reasoning;
    forced_.clear();
    n_forced_ = 0;
    for (size_t i = n_prompt_; i < tokens_.size(); i++) {
        const int32_t id = tokens_.ids[i];
        plan_token();
        if (i == closes_at_) force_end_of_reasoning();
        pass_token();
        if (!ends_with(id) || text_.reads(id)) {
            text_.add(id);
            show(id, nullptr);
        }
        n_reasoning_ += text_.reasons();
    }
    text_spoiled_ = false;
}

void Generator::prepare() {
    if (text_spoiled_) restart_text();
    match();
}

void Generator::begin_drafts() {
    const size_t n = tokens_.size(), n_new = n - n_prompt_;
    if (!drafts_) return;
    drafts_->drop();
    if (n != held_ + 1 || n_new == 0) return;
    size_t most = session_.n_context() - n;
    if (options_.max_tokens) most = std::min(most, options_.max_tokens - n_new - 1);
    drafts_->begin(most);
}

model::BatchItem Generator::next_tokens(size_t most) const {
    const uint8_t mode = tokens_.modes[held_];
    const bool is_scored = this->is_scored() && held_ < n_prompt_;
    if (is_scored) most = std::min(most, kScoredTokens);
    const size_t end = std::min(held_ < n_prompt_ ? n_prompt_ : tokens_.size(), held_ + most);
    size_t n = 1;
    while (held_ + n < end && tokens_.modes[held_ + n] == mode) n++;
    const bool is_last = held_ + n == tokens_.size();
    const size_t width = session_.model().shape().n_embd;
    const bool has_rows = (mode & model::kModeEmbedded) != 0;
    model::BatchItem item = {.sequence = options_.sequence,
                             .tokens = tokens_.ids.data() + held_,
                             .n = n,
                             .n_logits = is_scored ? n
                                         : is_last ? 1u
                                                   : 0u};
    item.mark = marks_ && held_ + n == n_prompt_;
    if (has_rows) item.embeddings = tokens_.rows.data() + tokens_.n_rows(held_) * width;
    if (!drafts_ || drafts_->n_drafts() == 0 || held_ + 1 != tokens_.size()) return item;
    item.tokens = drafts_->tokens().data();
    item.n = item.n_logits = std::min(most, drafts_->n_drafts() + 1);
    return item;
}

void Generator::begin_undo() {
    undo_ = {queue_.mark(), sampler_.state(), tokens_.size(),   n_scored_,
             n_matched_,    n_reasoning_,     has_told_prompt_, sum_logprobs_};
}

void Generator::undo() {
    queue_.rewind(undo_.queue);
    tokens_.ids.resize(undo_.n_ids);
    tokens_.modes.resize(undo_.n_ids);
    if (closes_at_ >= undo_.n_ids) closes_at_ = SIZE_MAX;
    restore_sampler(undo_.sampler);
    if (matcher_) matcher_->roll_back(n_matched_ - undo_.n_matched);
    n_matched_ = undo_.n_matched;
    n_scored_ = undo_.n_scored;
    n_reasoning_ = undo_.n_reasoning;
    sum_logprobs_ = undo_.sum_logprobs;
    has_told_prompt_ = undo_.has_told_prompt;
    end_ = End::none;
    text_spoiled_ = true;
}

void Generator::keep(const model::BatchItem &item) {
    const uint64_t n = held_ + n_verified_;
    if (n_verified_ < item.n) (void)session_.truncate(options_.sequence, n, nullptr);
    if (session_.length(options_.sequence) != n) return; // in a group: found by the next step
    if (drafts_ && item.n > 1) drafts_->learn(n_verified_ - 1);
    drop_drafts();
    held_ = static_cast<size_t>(n);
    n_changes_ = session_.n_changes(options_.sequence);
}

void Generator::take(const model::BatchItem &item, const float *logits) {
    n_verified_ = item.n;
    if (has_ended()) return;
    const size_t end = held_ + item.n;
    if (end > tokens_.size()) return take_drafts(item, logits);
    if (item.n_logits > 1 || (is_scored() && item.n_logits)) score(item, logits);
    if (end >= n_prompt_ && !has_told_prompt_) {
        Event event;
        event.kind = EventKind::prompt;
        queue_.add(event, UINT64_MAX);
        has_told_prompt_ = true;
    }
    if (end == tokens_.size()) take_token(logits + (item.n_logits - 1) * session_.logits_size());
}

// ---- tokens

// Samples after the last token and each draft, as long as the samples are the drafts.
void Generator::take_drafts(const model::BatchItem &item, const float *logits) {
    n_verified_ = 0;
    for (bool is_same = true; is_same && !has_ended();) {
        const size_t n_before = tokens_.size();
        take_token(logits + n_verified_++ * session_.logits_size());
        is_same = n_verified_ < item.n && tokens_.size() > n_before &&
                  tokens_.ids.back() == item.tokens[n_verified_];
    }
}

// Adds the log-probabilities of tokens of the prompt, each from the logits of the one before it.
void Generator::score(const model::BatchItem &item, const float *logits) {
    const size_t n_vocab = session_.logits_size();
    if (n_scored_ == n_reused_) { // no logits come before it
        queue_.add_token({tokens_.ids[n_scored_], 0, 0, nullptr, 0}, 0);
        n_scored_++;
    }
    for (size_t i = n_scored_; i <= held_ + item.n && i < n_prompt_; i++) {
        const float *const row = logits + (i - 1 - held_) * n_vocab;
        const CanonicalFp canonical;
        const float largest = sampling::largest_of(row_kernels(session_), row, n_vocab);
        if (largest == __builtin_inff() || largest == sampling::kGone)
            return finish(End::error, Status::value, "the logits of the prompt are not finite");
        const sampling::Logprobs logprobs(row_kernels(session_), row, n_vocab);
        log_token(tokens_.ids[i], logprobs.of(row[tokens_.ids[i]]), row, 0, 0);
        n_scored_ = i + 1;
    }
}

// Adds a token with its likeliest alternatives to the queue.
void Generator::log_token(int32_t id, float logprob, const float *logits, uint64_t offset,
                          uint64_t end) {
    const size_t k = std::min(top_.size(), session_.logits_size());
    if (k) {
        const CanonicalFp canonical;
        const sampling::Logprobs logprobs(row_kernels(session_), logits, session_.logits_size());
        sampling::find_likeliest(top_ids_.data(), top_logits_.data(), k, logits,
                                 session_.logits_size());
        for (size_t i = 0; i < k; i++) top_[i] = {top_ids_[i], logprobs.of(top_logits_[i])};
    }
    queue_.add_token({id, logprob, offset, top_.data(), k}, end);
}

// Samples an allowed token; returns false if the generation has ended instead.
bool Generator::sample(int32_t *id, float *logprob, const float *logits,
                       sampling::Allowed allowed) {
    try {
        if (matcher_) allowed = matcher_->allowed();
        Failure failure = {};
        const Status status = sampler_.sample(id, options_.logprobs ? logprob : nullptr, logits,
                                              session_.logits_size(), allowed, &failure);
        if (status != Status::ok) {
            finish(End::error, status, failure.message);
            return false;
        }
        if (matcher_) {
            matcher_->accept(*id);
            n_matched_++;
        }
        return true;
    } catch (const Error &error) {
        end_unmatched(error.failure);
        return false;
    }
}

// Ends after a failure of a grammar.
void Generator::end_unmatched(const Failure &failure) {
    const auto status = static_cast<Status>(failure.status);
    const bool is_over = status == Status::mismatch || status == Status::state;
    if (is_over)
        finish(End::grammar);
    else
        finish(End::error, status, failure.message);
}

// Decides whether the next token is forced: the end of reasoning that has used up its tokens.
void Generator::plan_token() {
    if (options_.max_reasoning == UINT32_MAX || matcher_ || n_forced_ < forced_.size()) return;
    if (!text_.can_close_reasoning()) return;
    if (reasoning_left_ > 0) {
        reasoning_left_--;
        return;
    }
    forced_.clear();
    n_forced_ = 0;
    text_.close_reasoning(forced_, false);
}

// The model would end within reasoning, but the answer must follow.
void Generator::force_end_of_reasoning() {
    forced_.clear();
    n_forced_ = 0;
    text_.close_reasoning(forced_, true);
}

void Generator::pass_token() {
    if (n_forced_ < forced_.size()) n_forced_++;
}

// Returns a token that comes without the sampler, or -1 and those that are allowed.
int32_t Generator::plan_next(sampling::Allowed *allowed) {
    plan_token();
    if (n_forced_ < forced_.size()) return forced_[n_forced_];
    if (!constraint_) return -1;
    const Constraint::Next next = constraint_->next();
    *allowed = next.allowed;
    return next.forced;
}

// Chooses the next token; returns false if the generation has ended instead.
bool Generator::choose(int32_t *id, float *logprob, const float *logits) {
    sampling::Allowed allowed;
    int32_t given = -1;
    try {
        given = plan_next(&allowed);
    } catch (const Error &error) {
        end_unmatched(error.failure);
        return false;
    }
    if (given < 0 && !sample(id, logprob, logits, allowed)) return false;
    if (given < 0 && constraint_ && constraint_->reasons() && text_.ends(*id)) {
        force_end_of_reasoning();
        if (!forced_.empty()) {
            given = forced_[0];
            closes_at_ = tokens_.size();
        }
    }
    if (given >= 0) *id = given;
    pass_token();
    accept(id, 1);
    return given < 0 || !options_.logprobs || rate(*id, logprob, logits);
}

// Computes the log-probability of a token that was not sampled; returns false if the generation has
// ended instead.
bool Generator::rate(int32_t id, float *logprob, const float *logits) {
    const CanonicalFp canonical;
    const size_t n = session_.logits_size();
    const float largest = sampling::largest_of(row_kernels(session_), logits, n);
    if (largest == __builtin_inff() || largest == sampling::kGone) {
        finish(End::error, Status::value, "the logits are not finite");
        return false;
    }
    *logprob = sampling::Logprobs(row_kernels(session_), logits, n).of(logits[id]);
    return true;
}

// Whether a token ends the output.
bool Generator::ends_with(int32_t id) const {
    return is_eog(id) && !(constraint_ && !constraint_->may_end());
}

// Shows the text of the latest token.
void Generator::show(int32_t id, EventQueue *queue) {
    if (!constraint_) return text_.show(queue);
    const bool reasoned = constraint_->reasons();
    constraint_->take(id, text_, queue);
    if (!reasoned || constraint_->reasons()) return;
    forced_.clear(); // the answer begins
    n_forced_ = 0;
}

void Generator::take_token(const float *logits) {
    if (is_cancelled()) return finish(End::cancelled);
    int32_t id = 0;
    float logprob = 0;
    if (!choose(&id, &logprob, logits)) return;
    sum_logprobs_ += static_cast<double>(logprob);
    const bool ends = ends_with(id);
    const uint64_t offset = text_.n_bytes();
    tokens_.add(&id, 1, answer_mode()); // reserved by set_prompt
    try {
        const bool reads = !ends || text_.reads(id);
        if (reads) text_.add(id);
        log_token(id, logprob, logits, offset, text_.n_bytes());
        if (reads) show(id, &queue_);
        n_reasoning_ += text_.reasons();
        check_limits(ends);
    } catch (const Error &error) { // from the parser
        text_spoiled_ = true;
        finish(End::error, static_cast<Status>(error.failure.status), error.failure.message);
    }
}

void Generator::check_limits(bool ends) {
    const size_t n = tokens_.size() - n_prompt_;
    if (ends) return finish(End::eog);
    if (text_.found_stop() >= 0)
        return finish(End::stop, Status::ok, {}, static_cast<uint32_t>(text_.found_stop()));
    if (text_.has_only_call() || (constraint_ && constraint_->is_whole()))
        return finish(End::tool_call);
    if (options_.max_tokens && n >= options_.max_tokens) return finish(End::length);
    if (tokens_.size() > session_.n_context()) finish(End::context);
}

void Generator::finish(End end, Status status, std::string_view why, uint32_t index) {
    if (end != End::error) {
        if (text_spoiled_) restart_text();
        text_.finish(&queue_);
    }
    Event event;
    event.kind = EventKind::end;
    event.end = end;
    event.status = status;
    event.index = index;
    event.text = why;
    queue_.add(event, UINT64_MAX);
    end_ = end;
    last_ = event;
    last_.text = {};
}

void Generator::end_now(End end, Status status, std::string_view why) {
    begin_undo();
    try {
        finish(end, status, why);
    } catch (...) {
        undo();
        throw;
    }
}

void Generator::end_suspended() {
    require_idle();
    end_now(End::cancelled);
}

// ---- calls

bool Generator::poll(Event &out) {
    return queue_.take(out);
}

Generator::Facts Generator::facts() const {
    const size_t n = tokens_.size();
    const State state = n == 0                            ? State::empty
                        : has_ended()                     ? State::ended
                        : !has_sequence_                  ? State::suspended
                        : n - held_ > 1 || n == n_prompt_ ? State::prefill
                                                          : State::decode;
    Facts out = {};
    out.state = state;
    out.end = end_;
    out.sequence = options_.sequence;
    out.n_events = queue_.n_events();
    out.n_prompt = n_prompt_;
    out.n_reused = n_reused_;
    out.n_left = held_ < n_prompt_ ? n_prompt_ - held_ : 0;
    out.n_tokens = n - n_prompt_;
    out.n_reasoning = n_reasoning_;
    out.sum_logprobs = sum_logprobs_;
    out.bytes = sizeof *this + queue_.bytes() + text_.bytes() + tokens_.bytes();
    if (!drafts_) return out;
    out.n_drafted = drafts_->n_drafted();
    out.n_accepted = drafts_->n_accepted();
    out.bytes += drafts_->bytes();
    return out;
}

} // namespace ggufx::generate
