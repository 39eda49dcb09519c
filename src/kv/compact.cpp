// Compact: merges consecutive partly filled pages of a sequence into as few pages as they fill.
// Their tokens are decoded and encoded again. Full pages and pages shared with other sequences
// stay.
// SPDX-License-Identifier: MIT
#include "kv/rebuild.hpp"

#include <string.h>

namespace ggufx::kv {

namespace {

// Pages first .. end - 1 of a track, replaced by targets target .. target + n_targets - 1.
struct Run {
    Track *track;
    size_t first, end, target, n_targets;
    bool learned; // the track's calibration is learned from this run
};

size_t pages_of(uint64_t tokens) {
    return static_cast<size_t>((tokens + kPageTokens - 1) / kPageTokens);
}

// Returns the end of the pages from `at` on that share its block, if they are all owners of it and
// may move; else `at`.
size_t part_end(const Layer &layer, Track &track, size_t at) {
    const PageRef &page = track.pages[at];
    if (page.block->form == kSinks) return at;
    if (&page == hot_page(layer, track)) return at;
    size_t end = at;
    uint32_t tokens = 0;
    for (; end < track.n_pages && track.pages[end].block == page.block; end++) {
        if (track.pages[end].delta != page.delta) return at;
        if (track.pages + end == hot_page(layer, track)) return at;
        tokens += track.pages[end].n;
    }
    return end - at == page.block->n_owners && tokens < kPageTokens ? end : at;
}

class Compact {
public:
    Compact(Cache::State &state, uint32_t layer)
        : s_(state), host_(*state.host), layer_(state.layers[layer]), index_(layer), runs_(host_),
          targets_(host_), pieces_(host_) {}
    ~Compact();
    Compact(const Compact &) = delete;
    Compact &operator=(const Compact &) = delete;
    // Plans the runs of one sequence, or of all, and allocates the new pages.
    Status prepare(uint32_t sequence, Failure *failure);
    uint64_t n_units() const { return uint64_t(n_targets_) * s_.config.n_kv_heads; }
    Status fill(RebuildRun &run);
    void commit(uint32_t sequence);

private:
    void learn(const Rebuild &rebuild, Run &run);
    template <class Visit> void each_run(uint32_t sequence, const Visit &visit) const;
    bool add_run(Track &track, size_t first, size_t end, uint64_t tokens);

    Cache::State &s_;
    const Host &host_;
    Layer &layer_;
    uint32_t index_;
    HostArray<Run> runs_;
    HostArray<Target> targets_;
    HostArray<Piece> pieces_;
    size_t n_runs_ = 0, n_targets_ = 0, n_pieces_ = 0;
    bool committed_ = false;
};

Compact::~Compact() {
    for (size_t i = 0; i < n_targets_ && !committed_; i++)
        free_block(host_, layer_, targets_[i].block);
}

// Calls visit(track, first page, end, tokens) for every run that fits fewer pages than it has
// blocks.
template <class Visit> void Compact::each_run(uint32_t sequence, const Visit &visit) const {
    for (uint32_t i = 0; i < s_.config.n_sequences; i++) {
        if (sequence != kAllSequences && sequence != i) continue;
        Track &track = s_.track(index_, i);
        for (size_t at = 0; at < track.n_pages;) {
            size_t end = at, n_blocks = 0;
            uint64_t tokens = 0;
            for (size_t next;
                 end < track.n_pages && track.pages[end].delta == track.pages[at].delta;
                 end = next, n_blocks++) {
                next = part_end(layer_, track, end);
                if (next == end) break;
                for (size_t p = end; p < next; p++) tokens += track.pages[p].n;
            }
            if (pages_of(tokens) < n_blocks) visit(track, at, end, tokens);
            at = end > at ? end : at + 1;
        }
    }
}

// Adds a run, whose pieces fill one new block after the other.
bool Compact::add_run(Track &track, size_t first, size_t end, uint64_t tokens) {
    const Form form = layer_.encodes ? kEncoded : kPlain;
    runs_[n_runs_++] = {&track, first, end, n_targets_, pages_of(tokens), false};
    float *const centring = calibration_of(layer_, track);
    size_t page = first;
    uint32_t used = 0; // tokens of `page` that are placed already
    for (; tokens; n_targets_++) {
        Block *block = take_block(host_, layer_, form);
        if (!block) return false;
        block->n_owners = 1;
        Target &target = targets_[n_targets_];
        target = {block, &pieces_[n_pieces_], 0, UINT64_MAX, centring, centring};
        for (uint32_t slot = 0; slot < kPageTokens && tokens;) {
            const PageRef &from = track.pages[page];
            const uint32_t left = from.n - used, room = kPageTokens - slot;
            const uint32_t n = left < room ? left : room;
            pieces_[n_pieces_++] = {from.block, static_cast<uint16_t>(from.first + used),
                                    static_cast<uint16_t>(n), static_cast<uint16_t>(slot)};
            target.n_pieces++;
            memcpy(block->positions + slot, from.block->positions + from.first + used,
                   n * sizeof *block->positions);
            slot += n;
            used += n;
            tokens -= n;
            if (used == from.n) page++, used = 0;
        }
    }
    return true;
}

Status Compact::prepare(uint32_t sequence, Failure *failure) {
    size_t n_runs = 0, n_targets = 0, n_pieces = 0;
    each_run(sequence, [&](Track &, size_t first, size_t end, uint64_t tokens) {
        n_runs++;
        n_targets += pages_of(tokens);
        // a new page can end in the middle of an old one
        n_pieces += end - first + pages_of(tokens);
    });
    bool ok = runs_.take(n_runs) && targets_.take(n_targets) && pieces_.take(n_pieces);
    if (ok)
        each_run(sequence, [&](Track &track, size_t first, size_t end, uint64_t tokens) {
            ok = ok && add_run(track, first, end, tokens);
        });
    if (ok) return Status::ok;
    return set_failure(failure, Status::memory, {}, "compact: no memory for the new pages");
}

// Learns the calibration of a sequence without encoded pages; it takes effect in commit().
void Compact::learn(const Rebuild &rebuild, Run &run) {
    float *const calibration = run.track->calibration;
    if (!calibration || calibration_of(layer_, *run.track)) return;
    run.learned = &run == &runs_[0] || run.track != (&run)[-1].track;
    if (run.learned) rebuild.learn(layer_, calibration, targets_[run.target]);
    for (size_t i = 0; i < run.n_targets; i++) targets_[run.target + i].centring = calibration;
}

Status Compact::fill(RebuildRun &run) {
    Rebuild rebuild(run, layer_, layer_, targets_.data(), n_targets_);
    for (size_t r = 0; r < n_runs_ && layer_.encodes; r++) learn(rebuild, runs_[r]);
    return n_targets_ ? rebuild.fill() : Status::ok;
}

void Compact::commit(uint32_t sequence) {
    for (size_t r = n_runs_; r-- > 0;) { // backwards, so that indices of earlier runs stay valid
        const Run &run = runs_[r];
        Track &track = *run.track;
        const int32_t delta = track.pages[run.first].delta;
        settle_track(s_, layer_, track);
        end_rollback_point(s_, layer_, track, true);
        for (size_t p = run.first; p < run.end; p++)
            release_block(host_, layer_, track.pages[p].block, nullptr);
        for (size_t i = 0; i < run.n_targets; i++) {
            const Target &target = targets_[run.target + i];
            track.pages[run.first + i] = {target.block, 0, static_cast<uint16_t>(target.end()),
                                          delta,        0, nullptr};
        }
        const size_t gap = run.end - run.first - run.n_targets;
        for (size_t p = run.end; p < track.n_pages; p++) track.pages[p - gap] = track.pages[p];
        track.n_pages -= gap;
        number_pages(track);
        if (run.learned) track.calibrated = true, track.learned_end = UINT64_MAX;
    }
    for (uint32_t i = 0; i < s_.config.n_sequences; i++) {
        Track &track = s_.track(index_, i);
        if ((sequence != kAllSequences && sequence != i) || track.reserved) continue;
        for (const Form form : kForms) drop_spares(host_, layer_, track, form, 0);
    }
    committed_ = true;
}

// Compacts all layers, or none.
class CompactAll {
public:
    explicit CompactAll(const Cache::State &state) : host_(*state.host), layers_(host_) {}
    ~CompactAll() {
        for (uint32_t i = 0; i < n_; i++) unmake(host_, layers_[i]);
    }
    CompactAll(const CompactAll &) = delete;
    CompactAll &operator=(const CompactAll &) = delete;
    Status run(Cache::State &s, uint32_t sequence, const Progress &progress, Failure *failure);

private:
    const Host &host_;
    HostArray<Compact *> layers_;
    uint32_t n_ = 0;
};

Status CompactAll::run(Cache::State &s, uint32_t sequence, const Progress &progress,
                       Failure *failure) {
    RebuildRun run = {s, s.scratch, s.scratch_bytes, progress, 0, 0, "compact", failure};
    if (!layers_.take(s.config.n_layers))
        return set_failure(failure, Status::memory, {}, "compact: no memory for its plan");
    for (; n_ < s.config.n_layers;) {
        layers_[n_] = make<Compact>(host_, s, n_);
        const Status status = layers_[n_++]->prepare(sequence, failure);
        if (status != Status::ok) return status;
        run.total += layers_[n_ - 1]->n_units();
    }
    for (uint32_t l = 0; l < n_; l++) {
        const Status status = layers_[l]->fill(run);
        if (status != Status::ok) return status;
    }
    for (uint32_t l = 0; l < n_; l++) layers_[l]->commit(sequence);
    return Status::ok;
}

} // namespace

Status Cache::compact(uint32_t sequence, const Progress &progress, Failure *failure) {
    State &s = *state_;
    Status status =
        sequence == kAllSequences ? Status::ok : check_sequence(s.config, sequence, failure);
    if (status == Status::ok) status = check_rebuild(s.config, "compact", failure);
    if (status != Status::ok) return status;
    CompactAll work(s);
    return work.run(s, sequence, progress, failure);
}

} // namespace ggufx::kv
