// Decodes in batches, all or nothing: on a failure the caches return to their state before the
// call, and new logits are dropped. Tokens that truncation dropped from the caches are recomputed
// as the first part of the call.
// SPDX-License-Identifier: MIT
#include "model/session.hpp"

#include "base/crc64.hpp"
#include "model/mode.hpp"

#include <inttypes.h>
#include <string.h>

#include <algorithm>

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
    Poll(const Progress &user, const AttentionHook &hook, uint64_t length, uint64_t total,
         uint32_t n_layers)
        : user_(user), hook_(hook), length_(length), total_(total), n_layers_(n_layers) {}

    Progress progress() { return user_.report ? Progress{this, report} : Progress{}; }
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
        const bool stops =
            hook_.layer && hook_.layer(hook_.user, layer, length_ + start_, n, q, k, v, out);
        return stops ? stop(failure) : Status::ok;
    }

private:
    Status stop(Failure *failure) const {
        return set_failure(failure, Status::cancelled, {},
                           "cancelled after %" PRIu64 " of %" PRIu64 " tokens", done_, total_);
    }
    static int32_t report(void *self, uint64_t, uint64_t) {
        return static_cast<Poll *>(self)->cancelled();
    }

    const Progress &user_;
    const AttentionHook &hook_;
    const uint64_t length_; // tokens of the sequence before this call
    uint64_t total_, start_ = 0, n_ = 0, done_ = 0;
    uint32_t n_layers_;
};

// A call on the sequences of some items; n_logits is their total.
class Session::Call {
public:
    struct Options {
        matmul::Options matmul;
        Progress progress;
        AttentionHook attention; // for one item
        float *logits;           // [sum of n_logits][n_vocab]
        float *hidden = nullptr; // [sum of n_hidden][n_embd]
        ProductWatcher *products = nullptr;
        bool keeps_stream = false; // keeps all rows of the last batch, for Session::project
    };
    Call(Session &session, const BatchItem *items, size_t n_items, const Options &options)
        : session_(session), items_(items), n_items_(n_items), options_(options),
          poll_(options_.progress, options_.attention, sequence(0).length, n_tokens(),
                session.model_.shape().n_layers),
          out_{options.logits, options.hidden} {}

    Status run(Failure *failure);

private:
    Sequence &sequence(size_t item) const { return session_.sequences_[items_[item].sequence]; }
    uint64_t n_tokens() const {
        uint64_t n = 0;
        for (size_t i = 0; i < n_items_; i++) n += items_[i].n;
        return n;
    }
    // Tokens of the items that a pass takes.
    enum class Take { again, fresh, all };
    struct TokenPosition {
        size_t item;
        uint64_t at; // index in its sequence
    };
    Status begin(Failure *failure);
    uint32_t fingerprint() const;
    uint32_t patience() const;
    Status run_passes(Failure *failure);
    bool is_one_pass() const;
    TokenPosition first_position(Take take, size_t item) const;
    uint8_t mode_at(const TokenPosition &place) const;
    size_t add_rows(const TokenPosition &place, uint64_t end);
    size_t add_again(const TokenPosition &place, size_t most);
    void add_fresh(const TokenPosition &place, size_t n);
    uint64_t gather(Take take, TokenPosition *place);
    Status pass(Take take, Failure *failure);
    Status forward(const matmul::Options &matmul, AttentionWatcher *watcher, Failure *failure);
    void take_tokens(const BatchItem &item, Sequence &sequence) const;
    void commit();

    Session &session_;
    const BatchItem *items_;
    size_t n_items_;
    const Options options_;
    Poll poll_;
    Runner::Outputs out_;  // for the next rows
    uint64_t n_fresh_ = 0; // finished new tokens
};

// Returns a fingerprint of the call's arguments, which must be equal on all ranks.
uint32_t Session::Call::fingerprint() const {
    const size_t width = session_.model_.shape().n_embd;
    uint64_t crc = mode_of(options_.matmul);
    for (size_t i = 0; i < n_items_; i++) {
        const BatchItem &item = items_[i];
        const Sequence &s = sequence(i);
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

// Begins the call on all sequences, or on none.
Status Session::Call::begin(Failure *failure) {
    Caches &caches = session_.caches_;
    for (size_t i = 0; i < n_items_; i++) {
        const Sequence &s = sequence(i);
        const uint64_t again = s.length - s.held;
        Failure why = {};
        Status status = session_.make_room(items_[i], &why);
        if (status == Status::ok)
            status = caches.begin(items_[i].sequence, again, again + items_[i].n, &why);
        if (status == Status::ok) continue;
        (void)set_failure(failure, status, {.index = i}, "item %" PRIu64 ": %s",
                          static_cast<uint64_t>(i), why.message);
        while (i-- > 0) caches.rollback(items_[i].sequence);
        return status;
    }
    return Status::ok;
}

// Returns a factor for the timeout of messages. With pipeline parallelism a rank sends after all of
// its layers, and a batch of many tokens takes longer. With tensor parallelism it sends several
// times per layer.
uint32_t Session::Call::patience() const {
    constexpr size_t kTokens = 16;
    const size_t n = (session_.rows_.n() + kTokens - 1) / kTokens;
    return session_.model_.graph().by_layers && n > 1 ? static_cast<uint32_t>(n) : 1;
}

// Runs the gathered rows.
Status Session::Call::forward(const matmul::Options &matmul, AttentionWatcher *watcher,
                              Failure *failure) {
    matmul::Options options = matmul;
    options.progress = poll_.progress();
    Runner run = session_.runner(options);
    run.watch(watcher, &poll_);
    run.watch(options_.products);
    RankGroup *const ranks = session_.model_.ranks();
    if (ranks) ranks->be_patient(patience());
    Status status = options_.keeps_stream ? run.forward(session_.rows_, failure)
                                          : run.predict(out_, session_.rows_, failure);
    status = run.settle(session_.rows_, status, failure);
    if (ranks) ranks->be_patient(1);
    if (status != Status::ok) return status;
    const size_t n_logits = session_.rows_.of_logits().size() * session_.logits_.size();
    const size_t n_hidden = session_.rows_.of_hidden().size() * session_.model_.shape().n_embd;
    if (has_nan(out_.logits, n_logits) || has_nan(out_.hidden, n_hidden))
        return set_failure(failure, Status::value, {}, "the model computed a NaN");
    if (n_logits) out_.logits += n_logits;
    if (n_hidden) out_.hidden += n_hidden;
    return status;
}

// Returns whether recomputed and new tokens share a batch: the products must be batch-invariant or
// tiled, and no hook may expect new tokens only.
bool Session::Call::is_one_pass() const {
    const matmul::Options &matmul = options_.matmul;
    return !options_.attention.layer && (matmul.batch_invariant || matmul.tiles);
}

// Returns the position of the first item from `item` on that has tokens to take.
Session::Call::TokenPosition Session::Call::first_position(Take take, size_t item) const {
    for (; item < n_items_; item++) {
        const Sequence &s = sequence(item);
        if (take == Take::fresh) return {item, s.length};
        if (take == Take::all || s.held < s.length) return {item, s.held};
    }
    return {item, 0};
}

uint8_t Session::Call::mode_at(const TokenPosition &place) const {
    const Sequence &s = sequence(place.item);
    return place.at < s.length ? products_of(s.modes[place.at]) : mode_of(options_.matmul);
}

// Adds recomputed tokens, all of one mode; returns their number.
size_t Session::Call::add_again(const TokenPosition &place, size_t most) {
    const Sequence &s = sequence(place.item);
    size_t n = 1;
    while (n < most && products_of(s.modes[place.at + n]) == mode_at(place)) n++;
    session_.rows_.add({.sequence = items_[place.item].sequence,
                        .first = place.at,
                        .n = n,
                        .ids = s.ids + place.at,
                        .positions = s.positions + place.at,
                        .position = 0,
                        .adapters = s.adapters.get()});
    const size_t width = session_.model_.shape().n_embd;
    const float *row = s.embedded.empty() ? nullptr : s.embedded.data();
    if (row) row += s.n_embedded(place.at) * width;
    for (size_t i = 0; i < n && row; i++) {
        if (!(s.modes[place.at + i] & kModeEmbedded)) continue;
        session_.rows_.embed(n - 1 - i, row);
        row += width;
    }
    return n;
}

void Session::Call::add_fresh(const TokenPosition &place, size_t n) {
    const BatchItem &item = items_[place.item];
    const Sequence &s = sequence(place.item);
    const uint64_t done = place.at - s.length;
    const uint64_t behind = s.end - place.at - n; // tokens for a later batch
    const auto wanted = [&](size_t all) {
        const uint64_t here = all > behind ? all - behind : 0;
        return here < n ? static_cast<size_t>(here) : n;
    };
    session_.rows_.add({.sequence = item.sequence,
                        .first = place.at,
                        .n = n,
                        .ids = item.tokens ? item.tokens + done : nullptr,
                        .positions = item.positions ? item.positions + done : nullptr,
                        .position = static_cast<int32_t>(s.next_position() + int64_t(done)),
                        .n_logits = wanted(item.n_logits),
                        .n_hidden = wanted(item.n_hidden),
                        .adapters = s.adapters.get()});
    const size_t width = session_.model_.shape().n_embd;
    for (size_t i = 0; i < n && item.embeddings; i++)
        session_.rows_.embed(n - 1 - i, item.embeddings + (done + i) * width);
}

// Adds as many tokens as fit from a position on, all of its mode, all new or all recomputed.
size_t Session::Call::add_rows(const TokenPosition &place, uint64_t end) {
    const Sequence &s = sequence(place.item);
    const bool again = place.at < s.length;
    const uint64_t left = (again && s.length < end ? s.length : end) - place.at;
    const size_t room = session_.rows_.room();
    const size_t most = left < room ? static_cast<size_t>(left) : room;
    if (again) return add_again(place, most);
    add_fresh(place, most);
    return most;
}

// Gathers as many tokens as fit from *place on, all of one mode; returns the number of new ones.
uint64_t Session::Call::gather(Take take, TokenPosition *place) {
    uint64_t n_fresh = 0;
    session_.rows_.clear();
    for (const uint8_t mode = mode_at(*place);
         place->item < n_items_ && session_.rows_.room() && mode_at(*place) == mode;) {
        const Sequence &s = sequence(place->item);
        const uint64_t end = take == Take::again ? s.length : s.end;
        const size_t n = add_rows(*place, end);
        n_fresh += place->at >= s.length ? n : 0;
        place->at += n;
        if (place->at == end) *place = first_position(take, place->item + 1);
    }
    return n_fresh;
}

Status Session::Call::pass(Take take, Failure *failure) {
    for (TokenPosition place = first_position(take, 0); place.item < n_items_;) {
        const uint8_t mode = mode_at(place);
        const uint64_t n_fresh = gather(take, &place);
        poll_.begin_batch(n_fresh_, n_fresh);
        const Status status = forward(with_mode(options_.matmul, mode),
                                      take == Take::fresh ? &poll_ : nullptr, failure);
        if (status != Status::ok) return status;
        n_fresh_ += n_fresh;
        for (const BatchPart &part : session_.rows_.parts()) {
            const Sequence &s = session_.sequences_[part.sequence];
            const uint64_t end = part.first + part.n;
            if (end < s.end) session_.caches_.pass(part.sequence, end - s.held);
        }
    }
    return Status::ok;
}

// Stores the tokens; make_room has reserved memory for embeddings.
void Session::Call::take_tokens(const BatchItem &item, Sequence &s) const {
    const uint8_t mode = mode_of(options_.matmul) | (item.embeddings ? kModeEmbedded : 0);
    const int64_t next = s.next_position();
    for (size_t i = 0; i < item.n; i++) {
        s.ids[s.length + i] = item.tokens ? item.tokens[i] : 0;
        s.positions[s.length + i] =
            item.positions ? item.positions[i] : static_cast<int32_t>(next + int64_t(i));
        s.modes[s.length + i] = mode;
    }
    const size_t n_values = item.embeddings ? item.n * session_.model_.shape().n_embd : 0;
    s.embedded.insert(s.embedded.end(), item.embeddings, item.embeddings + n_values);
    s.length += item.n;
}

void Session::Call::commit() {
    for (size_t i = 0; i < n_items_; i++) {
        Sequence &s = sequence(i);
        session_.n_changes_ += items_[i].sequence == 0;
        take_tokens(items_[i], s);
        session_.caches_.commit(items_[i].sequence, s.length - s.held);
        s.held = s.length;
        if (items_[i].mark) session_.caches_.mark(items_[i].sequence);
    }
}

Status Session::Call::run_passes(Failure *failure) {
    for (size_t i = 0; i < n_items_; i++) sequence(i).end = sequence(i).length + items_[i].n;
    Status status = Status::ok;
    if (is_one_pass()) {
        status = pass(Take::all, failure);
    } else {
        status = pass(Take::again, failure);
        if (status == Status::ok) status = pass(Take::fresh, failure);
    }
    for (size_t i = 0; i < n_items_; i++) sequence(i).end = 0;
    return status;
}

// Runs the call. In a group all ranks begin together; each batch, and the call, end with the same
// result on all ranks.
Status Session::Call::run(Failure *failure) {
    RankGroup *const ranks = session_.model_.ranks();
    const Status begun = begin(failure);
    if (begun != Status::ok && !ranks) return begun;
    Status status = ranks ? ranks->begin(fingerprint(), begun, failure) : begun;
    if (status == Status::ok) status = run_passes(failure);
    if (ranks) ranks->end(status);
    if (status == Status::ok) {
        commit();
        return status;
    }
    for (size_t i = 0; i < n_items_ && begun == Status::ok; i++)
        session_.caches_.rollback(items_[i].sequence);
    return status;
}

Status Session::decode(const int32_t *tokens, size_t n, const DecodeOptions &options,
                       Failure *failure) {
    const size_t n_vocab = logits_.size();
    float *const all = options.all_logits;
    const BatchItem item = {.tokens = tokens, .n = n, .n_logits = all ? n : 1};
    Status status = check_tokens(item, failure);
    if (status != Status::ok) return status;
    Call call(*this, &item, 1,
              {matmul_, options.progress, options.attention, all ? all : next_logits_.data()});
    status = call.run(failure);
    if (status != Status::ok) return status;
    if (all) memcpy(next_logits_.data(), all + (n - 1) * n_vocab, n_vocab * sizeof(float));
    logits_.swap(next_logits_);
    has_logits_ = true;
    return status;
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

Status Session::decode_batch(const BatchItem *items, size_t n_items, const BatchOptions &options,
                             Failure *failure) {
    const Status status = check_items(items, n_items, failure);
    if (status != Status::ok || n_items == 0) return status;
    const matmul::Options &matmul = options.matmul ? *options.matmul : matmul_;
    Call call(*this, items, n_items,
              {matmul, options.progress, {}, options.logits, options.hidden});
    const Status done = call.run(failure);
    for (size_t i = 0; i < n_items && done == Status::ok; i++)
        if (items[i].sequence == 0) has_logits_ = false;
    return done;
}

Status Session::advance(const int32_t *tokens, size_t n, Failure *failure,
                        const Watchers &watchers) {
    has_logits_ = false;
    const BatchItem item = {.tokens = tokens, .n = n};
    return Call(*this, &item, 1,
                {matmul_, watchers.progress, {}, nullptr, nullptr, watchers.products, true})
        .run(failure);
}

Status Session::project(float *logits, size_t row, size_t n, Failure *failure,
                        const Watchers &watchers) {
    matmul::Options options = matmul_;
    options.progress = watchers.progress;
    Runner run = runner(options);
    run.watch(watchers.products);
    const Status status = run.project(logits, rows_, row, n, failure);
    if (status == Status::ok && has_nan(logits, n * logits_.size())) {
        return set_failure(failure, Status::value, {}, "the model computed a NaN");
    }
    return status;
}

} // namespace ggufx::model
