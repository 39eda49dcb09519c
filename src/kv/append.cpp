// Cache::append and append_batch: check values and positions, take memory for all tokens, then
// append the tokens of each sequence. AppendRun writes what was checked and has all its memory, so
// nothing there can fail; the track changes only in its commit().
// SPDX-License-Identifier: MIT
#include "base/checked.hpp"
#include "base/fpenv.hpp"
#include "kv/encode.hpp"

#include <string.h>

namespace ggufx::kv {

namespace {

constexpr uint64_t kSerialAppendNs = 50000;

// Positions of the appended tokens: as given, or first, first + 1, ...
struct Positions {
    const int32_t *given;
    int64_t first;
    int32_t at(size_t token) const {
        return given ? given[token] : static_cast<int32_t>(first + static_cast<int64_t>(token));
    }
};

// Appends tokens to the last page, then to new pages. In a layer that encodes, every page before
// that of the last token also gets its encoded form here: queries of later tokens see that form.
// The plain form is kept until settle_track(), for queries whose last visible token is in the page.
class AppendRun {
public:
    // Takes spare blocks of the track. Call after prepare() for n_tokens (> 0) and begin_append().
    AppendRun(Cache::State &state, Layer &layer, Track &track, const Source &source,
              size_t n_tokens);
    // Runs on the executor if the work is large enough, and on this thread if the executor fails.
    // Call commit() next.
    void fill(const Positions &positions);
    void commit();

private:
    // A page and the tokens that this append puts into it: slots slot .. end - 1, from source token
    // token0 on. Encoding covers slots first .. end - 1.
    struct PagePart {
        Block *floats; // plain or sinks form
        Block *coded;  // encoded form; null: the page stays plain
        uint32_t first, slot, end;
        size_t token0;
    };
    void plan_last();
    void plan_new();
    // Returns part i < n_parts(): the old last page first, if it takes part, then the new pages.
    PagePart part(size_t i) const;
    size_t n_parts() const { return (last_.floats ? 1 : 0) + n_new_; }
    bool waits(const PagePart &part) const;
    void fill_part(const PagePart &part, uint32_t head, uint32_t worker) const;
    void fill_here(const PagePart &part) const;
    void learn();
    void link_last();
    void put_positions(const PagePart &part, const Positions &positions) const;
    void place(const Positions &positions) const;
    static void task(void *ctx, uint32_t index, uint32_t worker);
    static void get_value(const void *ctx, Side side, uint32_t slot, uint32_t head, float *out);

    Cache::State &state_;
    Layer &layer_;
    Track &track_;
    Source source_;
    Encoder encoder_;
    size_t n_;
    PageRef *old_ = nullptr;  // table entry of last_
    PagePart last_{};         // old last page; floats is null if it takes no part
    size_t n_new_ = 0;        // new pages, in the track's table from n_pages on
    Block *reused_ = nullptr; // plain block of the old last page, reused for the last new page
};

AppendRun::AppendRun(Cache::State &state, Layer &layer, Track &track, const Source &source,
                     size_t n_tokens)
    : state_(state), layer_(layer), track_(track),
      source_(source), encoder_{&state, &layer, calibration_of(layer, track)}, n_(n_tokens) {
    plan_last();
    plan_new();
}

void AppendRun::plan_last() {
    PageRef *open = open_page(state_, layer_, track_), *hot = hot_page(layer_, track_);
    if (!open && !hot) return;
    old_ = open ? open : hot;
    Block *block = old_->block;
    const uint32_t slot = uint32_t(old_->first) + old_->n;
    const uint32_t room = open ? page_limit(state_, *block) - slot : 0;
    const uint32_t n = n_ < room ? static_cast<uint32_t>(n_) : room;
    last_ = {block, nullptr, old_->first, slot, slot + n, 0};
    if (n && block->n_owners > 1) {
        const auto form = static_cast<Form>(block->form);
        last_.floats = pop_spare(track_, form);
        memcpy(last_.floats->data(), block->data(), layer_.shape[form].bytes - sizeof(Block));
        memcpy(last_.floats->positions, block->positions, sizeof block->positions);
    }
    if (!hot || n_ == n) return;
    last_.coded = pop_spare(track_, kEncoded);
    if (n == 0) {
        memcpy(last_.coded->positions, block->positions, sizeof block->positions);
        if (track_.reuses) reused_ = block;
    }
}

void AppendRun::plan_new() {
    size_t left = n_ - (last_.end - last_.slot);
    const bool sinks = layer_.sinks && state_.n_sinks && track_.n_tokens == 0;
    for (bool first = true; left; first = false) {
        const bool sink = sinks && first;
        const size_t most = sink ? state_.n_sinks : kPageTokens, n = left < most ? left : most;
        left -= n;
        const bool coded = layer_.encodes && !sink && left;
        Block *floats = !left && reused_ ? reused_ : pop_spare(track_, sink ? kSinks : kPlain);
        track_.pages[track_.n_pages + n_new_++] = {coded ? pop_spare(track_, kEncoded) : floats,
                                                   0,
                                                   static_cast<uint16_t>(n),
                                                   0,
                                                   0,
                                                   coded ? floats : nullptr};
    }
}

AppendRun::PagePart AppendRun::part(size_t i) const {
    if (last_.floats && i-- == 0) return last_;
    const PageRef *pages = track_.pages + track_.n_pages, &page = pages[i];
    size_t token0 = last_.end - last_.slot;
    // only the first new page can hold attention sinks
    if (i) token0 += pages[0].n + (i - 1) * kPageTokens;
    return {page.plain ? page.plain : page.block,
            page.plain ? page.block : nullptr,
            0,
            0,
            page.n,
            token0};
}

// True for the part that writes into the reused block: it waits until the old page of that block is
// encoded.
bool AppendRun::waits(const PagePart &part) const {
    return reused_ && part.floats == reused_ && !part.coded;
}

void AppendRun::fill_part(const PagePart &p, uint32_t head, uint32_t worker) const {
    if (p.slot < p.end) encoder_.store_head(*p.floats, source_, p.slot, p.end, p.token0, head);
    if (p.coded)
        encoder_.encode_head(*p.coded, *p.floats, p.first, p.end, head,
                             state_.worker_scratch(worker));
}

void AppendRun::fill_here(const PagePart &part) const {
    const CanonicalFp fp;
    for (uint32_t head = 0; head < state_.config.n_kv_heads; head++) fill_part(part, head, 0);
}

void AppendRun::task(void *ctx, uint32_t index, uint32_t worker) {
    const AppendRun &run = *static_cast<AppendRun *>(ctx);
    const uint32_t heads = run.state_.config.n_kv_heads;
    const PagePart part = run.part(index / heads);
    if (!run.waits(part)) run.fill_part(part, index % heads, worker);
}

void AppendRun::get_value(const void *ctx, Side side, uint32_t slot, uint32_t head, float *out) {
    const AppendRun &run = *static_cast<const AppendRun *>(ctx);
    size_t i = 0;
    while (!run.part(i).coded) i++;
    const HeadCalibration none = {};
    read_part(run.state_, {run.layer_, none, *run.part(i).floats, slot, head, side}, 0,
              run.state_.head_dim(side), out);
}

// Learns the calibration from the first page encoded in this append, if the sequence has none yet.
void AppendRun::learn() {
    if (!track_.calibration || encoder_.calibration) return;
    uint64_t index = track_.n_tokens;
    for (size_t i = 0; i < n_parts(); i++) {
        const PagePart p = part(i);
        index += p.end - p.slot;
        if (!p.coded) continue;
        const CanonicalFp fp;
        for (uint32_t head = 0; head < state_.config.n_kv_heads && p.slot < p.end; head++)
            encoder_.store_head(*p.floats, source_, p.slot, p.end, p.token0, head);
        learn_calibration(state_, layer_, track_.calibration,
                          {this, get_value, p.first, p.end, p.coded}, state_.worker_scratch(0));
        encoder_.calibration = track_.calibration;
        track_.calibrated = true;
        track_.learned_end = index;
        return;
    }
}

void AppendRun::fill(const Positions &positions) {
    place(positions);
    learn();
    const uint64_t n = n_parts(), heads = state_.config.n_kv_heads;
    size_t n_coded = 0;
    for (size_t i = 0; i < n; i++) n_coded += part(i).coded != nullptr;
    const uint64_t tokens = n_ + n_coded * kPageTokens;
    const bool small = tokens <= kSerialAppendNs / encode_cost(state_, layer_);
    const bool spread = !small && n <= UINT32_MAX / heads;
    const bool done = spread && state_.host->parallel_for(static_cast<uint32_t>(n * heads), task,
                                                          this) == Status::ok;
    for (size_t i = 0; i < n; i++) {
        const PagePart p = part(i);
        if (!done || waits(p)) fill_here(p);
    }
}

void AppendRun::put_positions(const PagePart &p, const Positions &positions) const {
    for (uint32_t slot = p.slot; slot < p.end; slot++)
        p.floats->positions[slot] = positions.at(p.token0 + slot - p.slot);
    if (p.coded && p.slot < p.end)
        memcpy(p.coded->positions, p.floats->positions, sizeof p.floats->positions);
}

// Writes positions to slots that the track does not hold yet. plan_last() has copied those of a
// block that is reused.
void AppendRun::place(const Positions &positions) const {
    for (size_t i = 0; i < n_parts(); i++) {
        const PagePart p = part(i);
        put_positions(p, positions);
        if (p.coded) set_origin(state_, layer_, *p.coded, p.coded->positions[p.first]);
    }
}

void AppendRun::commit() {
    track_.reuses = false;
    uint64_t index = track_.n_tokens + (last_.end - last_.slot);
    if (last_.floats) link_last();
    for (size_t i = 0; i < n_new_; i++) {
        PageRef &page = track_.pages[track_.n_pages + i];
        page.index = index;
        index += page.n;
        page.block->n_owners = 1;
        if (page.plain) page.plain->n_owners = 1;
    }
    track_.n_pages += n_new_;
    track_.n_tokens += n_;
}

void AppendRun::link_last() {
    Block *before = old_->block;
    old_->n = static_cast<uint16_t>(last_.end - old_->first);
    if (last_.floats != before) {
        last_.floats->n_owners = 1;
        release_block(*state_.host, layer_, before, &track_);
    }
    old_->block = last_.coded ? last_.coded : last_.floats;
    old_->plain = last_.coded && !reused_ ? last_.floats : nullptr;
    if (last_.coded) last_.coded->n_owners = 1;
}

// Returns the position of the last token held, or -1 for an empty track.
int64_t last_of(const Track &track) {
    return track.n_pages ? last_position(track) : -1;
}

// Releases the plain forms kept for queries of the previous append, and notes the page to reuse.
void begin_append(const Cache::State &state, Layer &layer, Track &track) {
    settle_track(state, layer, track);
    track.reuses = reused_page(layer, track) != nullptr;
    track.next_position = track.n_pages ? last_of(track) + 1 : INT64_MAX;
}

// Drops pages that no token from the first new one on can see. If the append skipped positions,
// those count too: a rollback may be followed by tokens at them.
void end_append(const Cache::State &state, Layer &layer, Track &track, int32_t first) {
    drop_window(state, layer, track, track.next_position < first ? track.next_position : first);
    trim_plain(state, layer, track);
}

Status refuse_position(Failure *failure, size_t i, int32_t position, int32_t last) {
    if (position < 0)
        return set_failure(failure, Status::argument, {.index = i},
                           "positions[%zu] is %d: positions must not be negative", i, position);
    return set_failure(failure, Status::argument, {.index = i},
                       "positions[%zu] is %d after %d: positions must not descend", i, position,
                       last);
}

// Checks that positions do not descend, from the last one held or 0 on; without positions, that n
// more fit up to INT32_MAX.
Status check_positions(const int32_t *positions, size_t n, const Track &track, Failure *failure) {
    if (!positions) {
        const int64_t room = INT32_MAX - last_of(track);
        if (room > 0 && n <= uint64_t(room)) return Status::ok;
        return set_failure(failure, Status::argument, {},
                           "%zu tokens after position %lld exceed the largest position %d", n,
                           static_cast<long long>(last_of(track)), INT32_MAX);
    }
    int32_t last = track.n_pages ? last_position(track) : 0;
    for (size_t i = 0; i < n; last = positions[i++])
        if (positions[i] < last) return refuse_position(failure, i, positions[i], last);
    return Status::ok;
}

Status check_capacity(const Config &c, const Track &track, uint64_t n, Failure *failure) {
    const uint64_t limit = c.max_tokens && c.max_tokens < kMostTokens ? c.max_tokens : kMostTokens;
    uint64_t total = 0;
    if (checked::add(&total, track.n_tokens, n) && total <= limit) return Status::ok;
    const uint64_t left = limit > track.n_tokens ? limit - track.n_tokens : 0;
    return set_failure(failure, Status::capacity, {.value = n, .limit = left},
                       "cannot append %llu tokens to %llu: %s is %llu", ull(n), ull(track.n_tokens),
                       limit == c.max_tokens ? "max_tokens of the cache" : "the limit", ull(limit));
}

Status no_pages(const Cache::State &s, uint32_t layer, Status why, uint64_t n, Failure *failure) {
    if (why == Status::capacity) return refuse_pages(s, layer, n, failure);
    return set_failure(failure, Status::memory, {},
                       "no memory for the pages of %llu tokens of %u heads", ull(n),
                       s.config.n_kv_heads);
}

} // namespace

Status Cache::append(uint32_t layer_index, uint32_t sequence, size_t n_tokens,
                     const int32_t *positions, const Source &source, Failure *failure) {
    State &s = *state_;
    Status status = check_layer(s.config, layer_index, failure);
    if (status == Status::ok) status = check_sequence(s.config, sequence, failure);
    if (status != Status::ok || n_tokens == 0) return status;
    Layer &layer = s.layers[layer_index];
    Track &track = s.track(layer_index, sequence);
    status = check_positions(positions, n_tokens, track, failure);
    if (status == Status::ok) status = check_capacity(s.config, track, n_tokens, failure);
    if (status == Status::ok) status = check_all_values(s, layer, source, n_tokens, failure);
    if (status != Status::ok) return status;
    status = prepare(s, layer, track, n_tokens, Steps::one);
    if (status != Status::ok) return no_pages(s, layer_index, status, n_tokens, failure);
    const Positions at = {positions, last_of(track) + 1};
    begin_append(s, layer, track);
    AppendRun run(s, layer, track, source, n_tokens);
    run.fill(at);
    run.commit();
    end_append(s, layer, track, at.at(0));
    return status;
}

// ---- batches: runs of tokens of one sequence ----------------------------------------------------

namespace {

struct AppendBatch {
    Cache::State &state;
    uint32_t layer;
    size_t n;
    const uint32_t *sequences;
    const int32_t *positions;

    size_t run_end(size_t begin) const {
        size_t end = begin + 1;
        while (end < n && sequences[end] == sequences[begin]) end++;
        return end;
    }
    // Sets the index of the first token and the number of tokens in each track.
    void count() const {
        for (size_t i = n; i-- > 0;) track(i).batch_first = i, track(i).batch_tokens = 0;
        for (size_t i = 0; i < n; i++) track(i).batch_tokens++;
    }
    // first token of its sequence in the batch
    bool is_first(size_t i) const { return track(i).batch_first == i; }
    Track &track(size_t i) const { return state.track(layer, sequences[i]); }
};

Status check_batch(const AppendBatch &b, Failure *failure) {
    for (size_t i = 0; i < b.n; i++) {
        const Status status = check_sequence(b.state.config, b.sequences[i], failure);
        if (status != Status::ok) return status;
    }
    b.count();
    for (size_t i = 0; i < b.n; i++) {
        Track &track = b.track(i);
        if (b.is_first(i)) {
            const Status status =
                check_capacity(b.state.config, track, track.batch_tokens, failure);
            if (status != Status::ok) return status;
            track.batch_last = track.n_pages ? last_position(track) : 0;
        }
        if (b.positions[i] < track.batch_last)
            return refuse_position(failure, i, b.positions[i], track.batch_last);
        track.batch_last = b.positions[i];
    }
    return Status::ok;
}

// Takes memory for all sequences, or for none.
Status prepare_batch(const AppendBatch &b, Layer &layer) {
    Status status = Status::ok;
    size_t end = 0;
    for (; status == Status::ok && end < b.n; end++) {
        if (!b.is_first(end)) continue;
        Track &track = b.track(end);
        for (const Form form : kForms) track.n_marked[form] = track.n_spare[form];
        status = prepare(b.state, layer, track, track.batch_tokens, Steps::one);
        track.prepared = true;
    }
    for (size_t i = 0; i < end; i++) {
        b.track(i).prepared = false;
        for (const Form form : kForms)
            if (status != Status::ok)
                drop_spares(*b.state.host, layer, b.track(i), form, b.track(i).n_marked[form]);
    }
    return status;
}

} // namespace

Status Cache::append_batch(uint32_t layer_index, size_t n_tokens, const uint32_t *sequences,
                           const int32_t *positions, const Source &source, Failure *failure) {
    State &s = *state_;
    Status status = check_layer(s.config, layer_index, failure);
    if (status != Status::ok || n_tokens == 0) return status;
    Layer &layer = s.layers[layer_index];
    const AppendBatch batch = {s, layer_index, n_tokens, sequences, positions};
    status = check_batch(batch, failure);
    if (status == Status::ok) status = check_all_values(s, layer, source, n_tokens, failure);
    if (status != Status::ok) return status;
    status = prepare_batch(batch, layer);
    if (status != Status::ok) return no_pages(s, layer_index, status, n_tokens, failure);
    for (size_t i = 0; i < n_tokens; i++)
        if (batch.is_first(i)) begin_append(s, layer, batch.track(i));
    for (size_t i = 0; i < n_tokens;) {
        const size_t end = batch.run_end(i);
        Source part = source;
        part.k = advance(source.k, source.type, i * source_stride(s.config, source, Side::k));
        part.v = advance(source.v, source.type, i * source_stride(s.config, source, Side::v));
        AppendRun run(s, layer, batch.track(i), part, end - i);
        run.fill({positions + i, 0});
        run.commit();
        i = end;
    }
    for (size_t i = 0; i < n_tokens; i++)
        if (batch.is_first(i)) end_append(s, layer, batch.track(i), positions[i]);
    return Status::ok;
}

} // namespace ggufx::kv
