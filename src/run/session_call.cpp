// Decodes in batches, all or nothing: on a failure the caches return to their state before the
// call. Tokens that truncation dropped from the caches are recomputed as the first part of the
// call. A step is such a call in parts: between them the scratch holds its activations, and the
// caches keep their rollback points.
// SPDX-License-Identifier: MIT
#include "run/session.hpp"

#include "base/crc64.hpp"
#include "run/mode.hpp"

#include <inttypes.h>
#include <string.h>

#include <algorithm>
#include <optional>

namespace ggufx::model {

namespace {

bool has_nan(const float *x, size_t n) {
    bool found = false;
    for (size_t i = 0; i < n; i++) found |= x[i] != x[i];
    return found;
}

} // namespace

// Reports tokens done to the caller: between layers, and during the matrix products, so that large
// ones can be interrupted too. A layer counts for its share of the batch.
class Session::Poll final : public AttentionWatcher, public LayerWatcher {
public:
    void begin(const AttentionHook &hook, uint64_t length, uint64_t total, uint32_t n_layers) {
        hook_ = hook;
        length_ = length;
        total_ = total;
        n_layers_ = n_layers;
        start_ = n_ = done_ = 0;
    }
    // Returns the hook for operations.
    Progress report_to(const Progress &user) {
        user_ = user;
        return user_.report ? Progress{this, report} : Progress{};
    }
    void begin_batch(uint64_t done, uint64_t n) {
        start_ = done_ = done;
        n_ = n;
    }
    bool cancelled() { return user_.cancelled(done_, total_); }
    Status layer_done(uint32_t layer, Failure *failure) override {
        done_ = start_ + n_ * (layer + 1) / (n_layers_ + uint64_t{1});
        return cancelled() ? stop(failure) : Status::ok;
    }
    Status attention_done(uint32_t layer, size_t n, const float *q, const float *k, const float *v,
                          const float *out, Failure *failure) override {
        if (!hook_.layer) return Status::ok;
        const int32_t result = hook_.layer(hook_.user, layer, length_ + start_, n, q, k, v, out);
        return result == 0 ? Status::ok : stop(failure, ended_by_host(result));
    }

private:
    Status stop(Failure *failure, Status status = Status::cancelled) const {
        return set_failure(failure, status, {}, "cancelled after %" PRIu64 " of %" PRIu64 " tokens",
                           done_, total_);
    }
    static int32_t report(void *self, uint64_t, uint64_t) {
        return static_cast<Poll *>(self)->cancelled();
    }

    Progress user_;
    AttentionHook hook_;
    uint64_t length_ = 0; // tokens of the sequence before this call
    uint64_t total_ = 0, start_ = 0, n_ = 0, done_ = 0;
    uint32_t n_layers_ = 0;
};

// The open call of a session, if there is one.
class Session::Call {
public:
    Call(Session &session, uint32_t n_sequences)
        : session_(session), items_(HostAllocator<Item>(session.model_.host().get())) {
        items_.reserve(n_sequences);
    }
    Call(const Call &) = delete;
    ~Call() {
        if (is_open()) abandon();
    }
    static uint64_t bytes(uint32_t n_sequences) {
        return sizeof(Call) + n_sequences * sizeof(Item);
    }

    bool is_open() const { return !items_.empty(); }
    // Copies the items; a failure leaves no call open. In a group all ranks begin together.
    Status open(const BatchItem *items, size_t n_items, const CallOptions &options,
                Failure *failure);
    // Runs the call to its end, or until the budget is used up. The end and a failure close it; in
    // a group both are those of all ranks.
    Status advance(const Progress &progress, Budget *budget, bool *complete, Failure *failure);
    void abandon() { close(Status::cancelled); }

private:
    // Tokens of an item are stored after those of its sequence.
    struct Item {
        uint32_t sequence;
        bool mark;
        uint64_t n;
        size_t n_logits, n_hidden;
        size_t n_embedded; // floats of the sequence's embeddings before it
    };
    // Tokens of the items that a pass takes.
    enum class Take { again, fresh, all };
    struct TokenPosition {
        size_t item;
        uint64_t at; // index in its sequence
    };
    Sequence &sequence(size_t item) const { return session_.sequences_[items_[item].sequence]; }
    Status begin(const BatchItem *items, size_t n_items, Failure *failure);
    void store(const BatchItem &item);
    uint32_t fingerprint(const BatchItem *items, size_t n_items) const;
    uint32_t patience() const;
    bool is_one_pass() const;
    TokenPosition first_position(Take take, size_t item) const;
    uint8_t mode_at(const TokenPosition &place) const;
    void embed(const TokenPosition &place, size_t n);
    size_t add_rows(const TokenPosition &place, uint64_t end);
    size_t room(uint8_t mode, const Budget *budget) const;
    void gather(size_t most);
    bool next_batch(const Budget *budget);
    Status run_batch(Budget *budget, bool *complete, Failure *failure);
    Status take_outputs(Failure *failure);
    Status run(Budget *budget, bool *complete, Failure *failure);
    void commit();
    void rollback();
    void close(Status status);

    Session &session_;
    CallOptions options_ = {};
    Vector<Item> items_;
    Poll poll_;
    Progress progress_;
    Runner::Outputs out_ = {}; // for the next rows
    uint64_t n_fresh_ = 0;     // finished new tokens
    Take take_ = Take::all;
    TokenPosition place_ = {};  // the next token
    size_t left_ = 0;           // rows that the batch may still take
    std::optional<Runner> run_; // the running batch
    uint64_t batch_fresh_ = 0;  // its new tokens
};

void Session::DestroyCall::operator()(Call *call) const {
    unmake(*host, call);
}

Session::OwnedCall Session::make_call(uint32_t n_sequences) {
    const Host *const host = model_.host().get();
    return OwnedCall(make<Call>(*host, *this, n_sequences), DestroyCall{host});
}

uint64_t Session::call_bytes(uint32_t n_sequences) {
    return Call::bytes(n_sequences);
}

// Returns a fingerprint of the call's arguments, which must be equal on all ranks.
uint32_t Session::Call::fingerprint(const BatchItem *items, size_t n_items) const {
    const size_t width = session_.model_.shape().n_embd;
    uint64_t crc = mode_of(options_.matmul);
    for (size_t i = 0; i < n_items; i++) {
        const BatchItem &item = items[i];
        const Sequence &s = session_.sequences_[item.sequence];
        const uint64_t numbers[] = {
            item.sequence, item.n, item.n_logits, item.n_hidden,
            s.length,      s.held, item.mark,     uint64_t(s.next_position())};
        crc = crc64(crc, numbers, sizeof numbers);
        const auto add = [&](const auto *values, size_t n) {
            if (values) crc = crc64(crc, values, n * sizeof *values);
        };
        add(item.tokens, item.n);
        add(item.positions, item.n);
        add(item.embeddings, item.n * width);
    }
    return static_cast<uint32_t>(crc ^ crc >> 32);
}

// Begins the call on the sequences of all items, or up to the first one that fails.
Status Session::Call::begin(const BatchItem *items, size_t n_items, Failure *failure) {
    Caches &caches = session_.caches_;
    for (size_t i = 0; i < n_items; i++) {
        Sequence &s = session_.sequences_[items[i].sequence];
        const uint64_t again = s.length - s.held;
        Failure why = {};
        Status status = session_.make_room(items[i], &why);
        if (status == Status::ok)
            status = caches.begin(items[i].sequence, again, again + items[i].n, &why);
        if (status == Status::ok) {
            store(items[i]);
            continue;
        }
        trim(s);
        return set_failure(failure, status, {.index = i, .value = why.value, .limit = why.limit},
                           "item %" PRIu64 ": %s", static_cast<uint64_t>(i), why.message);
    }
    return Status::ok;
}

// Stores an item, and its tokens after those of its sequence; make_room has reserved memory for
// embeddings.
void Session::Call::store(const BatchItem &item) {
    Sequence &s = session_.sequences_[item.sequence];
    const uint8_t mode = mode_of(options_.matmul) | (item.embeddings ? kModeEmbedded : 0);
    const int64_t next = s.next_position();
    for (size_t i = 0; i < item.n; i++) {
        s.ids[s.length + i] = item.tokens ? item.tokens[i] : 0;
        s.positions[s.length + i] =
            item.positions ? item.positions[i] : static_cast<int32_t>(next + int64_t(i));
        s.modes[s.length + i] = mode;
    }
    items_.push_back(
        {item.sequence, item.mark, item.n, item.n_logits, item.n_hidden, s.embedded.size()});
    const size_t n_values = item.embeddings ? item.n * session_.model_.shape().n_embd : 0;
    s.embedded.insert(s.embedded.end(), item.embeddings, item.embeddings + n_values);
    s.end = s.length + item.n;
}

// Returns a factor for the timeout of messages. With pipeline parallelism a rank sends after all of
// its layers, and a batch of many tokens takes longer. With tensor parallelism it sends several
// times per layer.
uint32_t Session::Call::patience() const {
    constexpr size_t kTokens = 16;
    const size_t n = (session_.rows_.n() + kTokens - 1) / kTokens;
    return session_.model_.graph().by_layers && n > 1 ? static_cast<uint32_t>(n) : 1;
}

// Returns whether recomputed and new tokens share a batch: the products must be batch-invariant or
// tiled, and no hook may expect new tokens only.
bool Session::Call::is_one_pass() const {
    const matmul::Options &matmul = options_.matmul;
    return !options_.attention.layer && (matmul.batch_invariant || matmul.tiles);
}

// Returns the position of the first item from `item` on that has tokens to take.
Session::Call::TokenPosition Session::Call::first_position(Take take, size_t item) const {
    for (; item < items_.size(); item++) {
        const Sequence &s = sequence(item);
        if (take == Take::fresh) return {item, s.length};
        if (take == Take::all || s.held < s.length) return {item, s.held};
    }
    return {item, 0};
}

uint8_t Session::Call::mode_at(const TokenPosition &place) const {
    return products_of(sequence(place.item).modes[place.at]);
}

// Sets the embeddings of the caller for the latest n rows, from a position on.
void Session::Call::embed(const TokenPosition &place, size_t n) {
    const Sequence &s = sequence(place.item);
    const size_t width = session_.model_.shape().n_embd;
    const float *row = nullptr;
    for (size_t i = 0; i < n && !s.embedded.empty(); i++) {
        const uint64_t at = place.at + i;
        if (!(s.modes[at] & kModeEmbedded)) continue;
        if (!row && at < s.length) row = s.embedded.data() + s.n_embedded(at) * width;
        if (!row) row = s.embedded.data() + items_[place.item].n_embedded + (at - s.length) * width;
        session_.rows_.embed(n - 1 - i, row);
        row += width;
    }
}

// Adds as many tokens as fit from a position on, all of one mode, all new or all recomputed.
size_t Session::Call::add_rows(const TokenPosition &place, uint64_t end) {
    const Item &item = items_[place.item];
    const Sequence &s = sequence(place.item);
    const uint64_t left = (place.at < s.length && s.length < end ? s.length : end) - place.at;
    const size_t most = left < left_ ? static_cast<size_t>(left) : left_;
    size_t n = 1;
    while (n < most && products_of(s.modes[place.at + n]) == mode_at(place)) n++;
    const uint64_t behind = s.end - place.at - n; // tokens for a later batch
    const auto wanted = [&](size_t all) {
        const uint64_t here = all > behind ? all - behind : 0;
        return here < n ? static_cast<size_t>(here) : n;
    };
    session_.rows_.add({.sequence = item.sequence,
                        .first = place.at,
                        .n = n,
                        .ids = s.ids + place.at,
                        .positions = s.positions + place.at,
                        .position = 0,
                        .n_logits = wanted(item.n_logits),
                        .n_hidden = wanted(item.n_hidden),
                        .adapters = s.adapters.get()});
    embed(place, n);
    left_ -= n;
    return n;
}

// Gathers at most so many tokens from the next one on, all of one mode.
void Session::Call::gather(size_t most) {
    session_.rows_.clear();
    batch_fresh_ = 0;
    left_ = most;
    for (const uint8_t mode = mode_at(place_);
         place_.item < items_.size() && left_ && mode_at(place_) == mode;) {
        const Sequence &s = sequence(place_.item);
        const uint64_t end = take_ == Take::again ? s.length : s.end;
        const size_t n = add_rows(place_, end);
        batch_fresh_ += place_.at >= s.length ? n : 0;
        place_.at += n;
        if (place_.at == end) place_ = first_position(take_, place_.item + 1);
    }
}

// Returns the most rows of a batch. The budget decides only in modes whose bits do not depend on
// other rows.
size_t Session::Call::room(uint8_t mode, const Budget *budget) const {
    const size_t most = session_.n_batch_;
    if (!budget || !(mode & (kModeInvariant | kModeTiles))) return most;
    return std::min(most, chunk_tokens(session_.slowest_, budget->ns()));
}

// Begins the next batch; returns false after the last one.
bool Session::Call::next_batch(const Budget *budget) {
    if (place_.item == items_.size() && take_ == Take::again)
        place_ = first_position(take_ = Take::fresh, 0);
    if (place_.item == items_.size()) return false;
    const uint8_t mode = mode_at(place_);
    gather(room(mode, budget));
    poll_.begin_batch(n_fresh_, batch_fresh_);
    run_.emplace(session_.model_.graph(), session_.model_.engine(), session_.caches_,
                 session_.memory(), with_mode(options_.matmul, mode));
    run_->watch(take_ == Take::fresh ? &poll_ : nullptr, &poll_);
    run_->watch(options_.products);
    run_->begin(out_, session_.rows_,
                options_.keeps_stream ? Runner::Rows::all : Runner::Rows::wanted);
    return true;
}

// Runs the batch; in a group it ends with the same result on all ranks.
Status Session::Call::run_batch(Budget *budget, bool *complete, Failure *failure) {
    Peers *const peers = session_.model_.peers();
    run_->poll(progress_);
    if (peers) peers->be_patient(patience());
    Status status = run_->advance(budget, complete, failure);
    if (status == Status::ok && !*complete) return status;
    status = run_->settle(session_.rows_, status, failure);
    if (peers) peers->be_patient(1);
    return status == Status::ok ? take_outputs(failure) : status;
}

// Checks the outputs of a batch, and records checkpoints after its tokens.
Status Session::Call::take_outputs(Failure *failure) {
    const size_t n_logits = session_.rows_.of_logits().size() * session_.logits_size();
    const size_t n_hidden = session_.rows_.of_hidden().size() * session_.model_.shape().n_embd;
    const bool fails = !options_.keeps_nan;
    if (fails && (has_nan(out_.logits, n_logits) || has_nan(out_.hidden, n_hidden)))
        return set_failure(failure, Status::value, {}, "the model computed a NaN");
    if (n_logits) out_.logits += n_logits;
    if (n_hidden) out_.hidden += n_hidden;
    n_fresh_ += batch_fresh_;
    for (const BatchPart &part : session_.rows_.parts()) {
        const Sequence &s = session_.sequences_[part.sequence];
        const uint64_t end = part.first + part.n;
        if (end < s.end) session_.caches_.pass(part.sequence, end - s.held);
    }
    const SlowestGroup slowest = run_->slowest();
    // Single tokens say little about a prompt.
    if (slowest.ns && (slowest.n_tokens > 1 || session_.slowest_.n_tokens <= 1))
        session_.slowest_ = slowest;
    run_.reset();
    return Status::ok;
}

// Runs batches; *complete says that the last one has ended.
Status Session::Call::run(Budget *budget, bool *complete, Failure *failure) {
    for (;;) {
        if (!run_ && !next_batch(budget)) return Status::ok;
        const Status status = run_batch(budget, complete, failure);
        if (status != Status::ok || !*complete) return status;
        *complete = place_.item == items_.size() && take_ != Take::again;
        if (budget && budget->is_used_up()) return status;
    }
}

void Session::Call::commit() {
    for (const Item &item : items_) {
        Sequence &s = session_.sequences_[item.sequence];
        s.n_changes++;
        s.length = s.end;
        session_.caches_.commit(item.sequence, s.length - s.held);
        s.held = s.length;
        if (item.mark) session_.caches_.mark(item.sequence);
    }
}

void Session::Call::rollback() {
    for (const Item &item : items_) {
        Sequence &s = session_.sequences_[item.sequence];
        session_.caches_.rollback(item.sequence);
        s.embedded.resize(item.n_embedded);
        trim(s);
    }
}

void Session::Call::close(Status status) {
    if (Peers *const peers = session_.model_.peers()) peers->end(status);
    run_.reset();
    if (status == Status::ok)
        commit();
    else
        rollback();
    for (size_t i = 0; i < items_.size(); i++) sequence(i).end = 0;
    items_.clear();
}

Status Session::Call::open(const BatchItem *items, size_t n_items, const CallOptions &options,
                           Failure *failure) {
    options_ = options;
    out_ = {options.logits, options.hidden};
    Status status = begin(items, n_items, failure);
    if (Peers *const peers = session_.model_.peers())
        status = peers->begin(fingerprint(items, n_items), status, failure);
    if (status != Status::ok) {
        close(status);
        return status;
    }
    uint64_t n_tokens = 0;
    for (const Item &item : items_) n_tokens += item.n;
    poll_.begin(options_.attention, sequence(0).length, n_tokens, session_.model_.shape().n_layers);
    n_fresh_ = 0;
    take_ = is_one_pass() ? Take::all : Take::again;
    place_ = first_position(take_, 0);
    return status;
}

Status Session::Call::advance(const Progress &progress, Budget *budget, bool *complete,
                              Failure *failure) {
    progress_ = poll_.report_to(progress);
    Status status = run(budget, complete, failure);
    const BatchOptions::Use &use = options_.use;
    if (status == Status::ok && *complete && use.outputs) {
        status = use.outputs(use.user, failure);
        *complete = status == Status::ok;
    }
    if (status != Status::ok || *complete) close(status);
    return status;
}

Status Session::check_idle(Failure *failure) const {
    if (!has_step()) return Status::ok;
    return set_failure(failure, Status::state, {},
                       "a step of the session is in flight: advance it to its end or abandon it");
}

// Runs a call at once.
Status Session::run(const BatchItem *items, size_t n_items, const CallOptions &options,
                    const Progress &progress, Failure *failure) {
    Status status = call_->open(items, n_items, options, failure);
    bool complete = false;
    return status == Status::ok ? call_->advance(progress, nullptr, &complete, failure) : status;
}

bool Session::has_step() const {
    return call_->is_open();
}

Status Session::open_step(const BatchItem *items, size_t n_items, const BatchOptions &options,
                          Failure *failure) {
    Status status = check_idle(failure);
    if (status == Status::ok && model_.peers())
        return set_failure(failure, Status::unsupported, {},
                           "ranks of a group decode in one call: they cannot pause in a step");
    if (status == Status::ok && n_items == 0)
        return set_failure(failure, Status::argument, {}, "a step needs at least one item");
    if (status == Status::ok) status = check_items(items, n_items, failure);
    if (status != Status::ok) return status;
    return call_->open(items, n_items, call_options(options), failure);
}

Status Session::advance_step(const StepOptions &options, bool *complete, Failure *failure) {
    *complete = false;
    if (!has_step())
        return set_failure(failure, Status::state, {}, "no step of the session is in flight");
    if (options.budget_us == 0) return call_->advance(options.progress, nullptr, complete, failure);
    Budget budget(options.budget_us, options.clock, options.block_weights);
    return call_->advance(options.progress, &budget, complete, failure);
}

void Session::abandon_step() {
    if (has_step()) call_->abandon();
}

// Reserves memory for the caller's embeddings, which are kept.
Status Session::make_room(const BatchItem &item, Failure *failure) {
    if (!item.embeddings) return Status::ok;
    Vector<float> &rows = sequences_[item.sequence].embedded;
    const size_t needed = rows.size() + item.n * size_t{model_.shape().n_embd};
    try {
        if (needed > rows.capacity()) rows.reserve(std::max(needed, 2 * rows.size()));
    } catch (const std::bad_alloc &) {
        return set_failure(failure, Status::memory, {}, "no memory for %" PRIu64 " embeddings",
                           static_cast<uint64_t>(item.n));
    }
    return Status::ok;
}

Session::CallOptions Session::call_options(const BatchOptions &options) const {
    CallOptions out = {options.matmul ? *options.matmul : matmul_, options.attention,
                       options.logits, options.hidden};
    out.use = options.use;
    out.keeps_nan = options.keeps_nan;
    return out;
}

Status Session::decode_batch(const BatchItem *items, size_t n_items, const BatchOptions &options,
                             Failure *failure) {
    Status status = check_idle(failure);
    if (status == Status::ok) status = check_items(items, n_items, failure);
    if (status != Status::ok || n_items == 0) return status;
    return run(items, n_items, call_options(options), options.progress, failure);
}

Status Session::advance(const int32_t *tokens, size_t n, Failure *failure,
                        const Watchers &watchers) {
    const Status status = check_idle(failure);
    if (status != Status::ok) return status;
    const BatchItem item = {.tokens = tokens, .n = n};
    return run(&item, 1, {matmul_, {}, nullptr, nullptr, watchers.products, true},
               watchers.progress, failure);
}

Status Session::project(float *logits, size_t row, size_t n, Failure *failure,
                        const Watchers &watchers) {
    Status status = check_idle(failure);
    if (status != Status::ok) return status;
    matmul::Options options = matmul_;
    options.progress = watchers.progress;
    Runner run(model_.graph(), model_.engine(), caches_, memory(), options);
    run.watch(watchers.products);
    status = run.project(logits, rows_, row, n, failure);
    if (status == Status::ok && has_nan(logits, n * logits_size())) {
        return set_failure(failure, Status::value, {}, "the model computed a NaN");
    }
    return status;
}

} // namespace ggufx::model
