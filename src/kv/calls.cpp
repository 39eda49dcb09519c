// Calls of several appends: plain forms kept until queries are answered, and the rollback point of
// begin, commit and rollback.
// SPDX-License-Identifier: MIT
#include "kv/state.hpp"

namespace ggufx::kv {

namespace {

// Visits the pages that have both forms: those of the last append, at the end of the track. Plain
// part-pages that a removal left may lie between them. A page of another form ends the search,
// unless it is the last one.
template <class Visit> void each_double(Track &track, const Visit &visit) {
    for (size_t p = track.n_pages; p-- > 0;) {
        PageRef &page = track.pages[p];
        if (page.plain)
            visit(page);
        else if (page.block->form != kPlain && p + 1 < track.n_pages)
            return;
    }
}

bool stays_with_mark(const RollbackPoint &mark, const PageRef &page) {
    return mark.set && mark.has_last && !mark.plain && mark.last_index == page.index;
}

} // namespace

size_t settled_blocks(const Track &track) {
    size_t n = 0;
    each_double(const_cast<Track &>(track), [&](const PageRef &page) {
        n += page.plain->n_owners == 1 && !stays_with_mark(track.mark, page);
    });
    return n;
}

size_t plain_in_use(const Track &track) {
    size_t n = track.mark.plain ? 1 : 0;
    each_double(const_cast<Track &>(track),
                [&](const PageRef &page) { n += page.plain->n_owners == 1; });
    if (track.n_pages == 0) return n;
    const Block &last = *track.pages[track.n_pages - 1].block;
    return n + (last.form == kPlain && last.n_owners == 1 ? 1 : 0);
}

PageRef *reused_page(const Layer &layer, Track &track) {
    PageRef *page = hot_page(layer, track);
    const RollbackPoint &mark = track.mark;
    if (!page || !mark.set || page->block->n_owners > 1) return nullptr;
    const bool began_here = mark.has_last && mark.last_index == page->index;
    const bool full = uint32_t(page->first) + page->n == kPageTokens;
    return full && !began_here ? page : nullptr;
}

void settle_track(const Cache::State &state, Layer &layer, Track &track) {
    if (!layer.encodes) return;
    each_double(track, [&](PageRef &page) {
        if (stays_with_mark(track.mark, page))
            track.mark.plain = page.plain;
        else
            release_block(*state.host, layer, page.plain, &track);
        page.plain = nullptr;
    });
}

void trim_plain(const Cache::State &state, Layer &layer, Track &track) {
    if (!layer.encodes) return;
    const size_t used = plain_in_use(track);
    const size_t keep = track.reserved ? plain_blocks(layer) : kPlainBlocks;
    drop_spares(*state.host, layer, track, kPlain, used < keep ? keep - used : 0);
}

bool grow_rollback_point(const Host &host, const Layer &layer, Track &track, size_t n_pages) {
    RollbackPoint &mark = track.mark;
    return !layer.window.drops() ||
           grow_pages(host, mark.pages, mark.table_size, mark.n_pages, n_pages);
}

void end_rollback_point(const Cache::State &state, Layer &layer, Track &track, bool forget) {
    RollbackPoint &mark = track.mark;
    while (mark.n_pages) release_page(*state.host, layer, mark.pages[--mark.n_pages], &track);
    mark.set = false;
    if (!forget) return;
    if (mark.plain) release_block(*state.host, layer, mark.plain, &track);
    mark.plain = nullptr;
    mark.has_last = false;
}

namespace {

void set_rollback_point(const Cache::State &state, Layer &layer, Track &track) {
    end_rollback_point(state, layer, track, true);
    RollbackPoint &mark = track.mark;
    const PageRef *last = hot_page(layer, track);
    mark.set = true;
    mark.provided = false;
    mark.n_tokens = track.n_tokens;
    mark.n_dropped = track.n_dropped;
    mark.dropped_first = track.dropped_first;
    mark.dropped_last = track.dropped_last;
    mark.has_last = last != nullptr;
    mark.last_index = last ? last->index : 0;
}

} // namespace

// Pages of the rollback point are in two places. Those that a window has dropped since are in the
// mark, the others at the start of the track.
void restore_rollback_point(const Cache::State &state, Layer &layer, Track &track) {
    RollbackPoint &mark = track.mark;
    while (track.n_pages && track.pages[track.n_pages - 1].index >= mark.n_tokens)
        release_page(*state.host, layer, track.pages[--track.n_pages], &track);
    const size_t n = mark.n_pages;
    for (size_t i = track.n_pages; n && i-- > 0;) track.pages[i + n] = track.pages[i];
    for (size_t i = 0; i < n; i++) track.pages[i] = mark.pages[i];
    track.n_pages += n;
    mark.n_pages = 0;
    track.n_dropped = mark.n_dropped;
    track.dropped_first = mark.dropped_first;
    track.dropped_last = mark.dropped_last;
    track.n_tokens = track.n_dropped;
    for (size_t i = 0; i < track.n_pages; i++) track.n_tokens += track.pages[i].n;
    // A full last page is not cut, but it was plain at the rollback point, too.
    if (mark.has_last && track.n_pages && track.pages[track.n_pages - 1].index == mark.last_index)
        take_plain(state, layer, track, track.pages[track.n_pages - 1]);
    cut_track(state, layer, track, mark.n_tokens);
    mark.set = false;
}

size_t Cache::whole_step(uint32_t layer_index, uint32_t sequence, size_t n) const {
    const Layer &layer = state_->layers[layer_index];
    Track &track = state_->track(layer_index, sequence);
    if (!layer.encodes && layer.append_tokens == 0) return n;
    if (!layer.encodes) return n < layer.append_tokens ? n : layer.append_tokens;
    const PageRef *open = open_page(*state_, layer, track);
    const bool sinks = layer.sinks && state_->n_sinks && track.n_tokens == 0;
    const size_t room = open    ? page_limit(*state_, *open->block) - open->first - open->n
                        : sinks ? state_->n_sinks
                                : kPageTokens;
    return n < room ? n : room;
}

Status Cache::begin(uint32_t sequence, Failure *failure) {
    State &s = *state_;
    const Status status = check_sequence(s.config, sequence, failure);
    if (status != Status::ok) return status;
    for (uint32_t l = 0; l < s.config.n_layers; l++) {
        Track &track = s.track(l, sequence);
        if (grow_rollback_point(*s.host, s.layers[l], track, track.n_pages)) continue;
        return set_failure(failure, Status::memory, {}, "no memory for a table of %zu pages",
                           track.n_pages);
    }
    for (uint32_t l = 0; l < s.config.n_layers; l++)
        set_rollback_point(s, s.layers[l], s.track(l, sequence));
    return Status::ok;
}

Status Cache::commit(uint32_t sequence, Failure *failure) {
    State &s = *state_;
    const Status status = check_sequence(s.config, sequence, failure);
    for (uint32_t l = 0; status == Status::ok && l < s.config.n_layers; l++) {
        settle_track(s, s.layers[l], s.track(l, sequence));
        end_rollback_point(s, s.layers[l], s.track(l, sequence), false);
        trim_plain(s, s.layers[l], s.track(l, sequence));
    }
    return status;
}

} // namespace ggufx::kv
