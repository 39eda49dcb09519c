// Operations on sequences: truncate, remove, copy, shift, keep. Nothing is encoded again; parts of
// pages are references to the same block.
// SPDX-License-Identifier: MIT
#include "kv/state.hpp"

#include <algorithm>
#include <string.h>

namespace ggufx::kv {

namespace {

// Grows the tables of a sequence, in every layer, by room for `more` pages.
Status grow_tables(const Cache::State &s, uint32_t sequence, size_t more, Failure *failure) {
    for (uint32_t layer = 0; layer < s.config.n_layers; layer++) {
        Track &track = s.track(layer, sequence);
        if (grow_table(*s.host, track, track.n_pages + more)) continue;
        return set_failure(failure, Status::memory, {}, "no memory for a table of %zu pages",
                           track.n_pages + more);
    }
    return Status::ok;
}

// Returns whether, after a cut to n_tokens, the next token would see tokens that the window has
// dropped.
bool behind_window(const Layer &layer, const Track &track, uint64_t n_tokens) {
    if (track.n_dropped == 0 || n_tokens == 0 || n_tokens >= track.n_tokens) return false;
    if (n_tokens <= track.n_dropped) return true;
    uint64_t left = n_tokens - track.n_dropped;
    size_t page = 0;
    while (left > track.pages[page].n) left -= track.pages[page++].n;
    const int64_t last = position_at(track.pages[page], static_cast<uint32_t>(left) - 1u);
    return sees_dropped(layer, track.dropped_last, last);
}

// Returns the largest length <= n_tokens to which a layer can be cut with the bits of a fresh run.
// An encoded page can be cut inside while it has its plain form, else only at its start.
uint64_t nearest_in(const Layer &layer, const Track &track, uint64_t n_tokens) {
    if (n_tokens >= track.n_tokens) return track.n_tokens;
    uint64_t nearest = n_tokens;
    const PageRef *const begin = track.pages, *const end = begin + track.n_pages;
    const auto is_before = [](const PageRef &page, uint64_t n) { return page.index < n; };
    // first page after the cut
    const PageRef *page = std::lower_bound(begin, end, n_tokens, is_before);
    if (page != begin) {
        page--;
        const bool inside = n_tokens < page->index + page->n;
        if (inside && page->block->form == kEncoded && !plain_of(track, *page))
            nearest = page->index;
    }
    return behind_window(layer, track, nearest) ? 0 : nearest;
}

// Returns the number of tokens of a track before a position, dropped ones included.
uint64_t tokens_before(const Track &track, int32_t p) {
    uint64_t n = track.n_dropped;
    for (size_t i = 0; i < track.n_pages; i++)
        for (uint32_t t = 0; t < track.pages[i].n && position_at(track.pages[i], t) < p; t++) n++;
    return n;
}

// Cuts all layers, or none.
Status cut(Cache::State &s, uint32_t sequence, uint64_t n_tokens, const char *what,
           Failure *failure) {
    for (uint32_t layer = 0; layer < s.config.n_layers; layer++) {
        if (!behind_window(s.layers[layer], s.track(layer, sequence), n_tokens)) continue;
        return set_failure(failure, Status::state, {.index = layer},
                           "cannot %s to %llu tokens: the window of layer %u has dropped tokens "
                           "that the next token sees",
                           what, ull(n_tokens), layer);
    }
    for (uint32_t layer = 0; layer < s.config.n_layers; layer++)
        cut_track(s, s.layers[layer], s.track(layer, sequence), n_tokens);
    return Status::ok;
}

// Returns whether a span of positions contains all tokens that the window has dropped. A span must
// contain all of them or none.
bool takes_dropped(const Track &track, int32_t p0, int32_t p1) {
    return track.n_dropped && p0 <= track.dropped_first && p1 > track.dropped_last;
}
Status check_dropped(const Cache::State &s, uint32_t sequence, int32_t p0, int32_t p1,
                     Failure *failure) {
    for (uint32_t l = 0; l < s.config.n_layers; l++) {
        const Track &track = s.track(l, sequence);
        if (track.n_dropped == 0 || takes_dropped(track, p0, p1) || p1 <= track.dropped_first ||
            p0 > track.dropped_last)
            continue;
        return set_failure(failure, Status::state, {.index = l},
                           "positions %d to %d hold a part of the tokens that the window of layer "
                           "%u has dropped",
                           p0, p1, l);
    }
    return Status::ok;
}

Status refuse_dropped(const char *call, uint32_t layer, Failure *failure) {
    return set_failure(failure, Status::state, {.index = layer},
                       "%s: the window of layer %u has dropped tokens that the next token sees",
                       call, layer);
}

// Returns the position of the last token held outside p0 .. p1 - 1, else that of the last one
// dropped.
int32_t last_outside(const Track &track, int32_t p0, int32_t p1) {
    for (size_t p = track.n_pages; p-- > 0;)
        for (uint32_t i = track.pages[p].n; i-- > 0;) {
            const int32_t position = position_at(track.pages[p], i);
            if (position < p0 || position >= p1) return position;
        }
    return track.dropped_last;
}

// Merges a part with the one before it if they are adjacent in a page and have equal shifts. Thus
// shifting back restores the order of all sums.
void merge_at(Track &track, size_t at) {
    if (at == 0 || at >= track.n_pages) return;
    PageRef &last = track.pages[at - 1];
    const PageRef &page = track.pages[at];
    if (page.block != last.block || page.delta != last.delta || page.first != last.first + last.n)
        return;
    last.n = static_cast<uint16_t>(last.n + page.n);
    last.block->n_owners--;
    if (page.plain) page.plain->n_owners--;
    for (size_t i = at; i + 1 < track.n_pages; i++) track.pages[i] = track.pages[i + 1];
    track.n_pages--;
}

Status check_span(int32_t p0, int32_t p1, Failure *failure) {
    if (p0 <= p1) return Status::ok;
    return set_failure(failure, Status::argument, {},
                       "positions %d to %d: the end is before the start", p0, p1);
}

} // namespace

Status Cache::length(uint64_t *out, uint32_t sequence, Failure *failure) const {
    const Status status = check_sequence(state_->config, sequence, failure);
    if (status == Status::ok) *out = common_length(*state_, sequence);
    return status;
}

uint64_t Cache::nearest(uint32_t sequence, uint64_t n_tokens) const {
    const State &s = *state_;
    if (sequence >= s.config.n_sequences) return 0;
    uint64_t nearest = n_tokens, before = n_tokens + 1;
    while (nearest != before) { // each layer may lower it, then others further
        before = nearest;
        for (uint32_t l = 0; l < s.config.n_layers; l++)
            nearest = nearest_in(s.layers[l], s.track(l, sequence), nearest);
    }
    return nearest;
}

Status Cache::truncate(uint32_t sequence, uint64_t n_tokens, Failure *failure) {
    State &s = *state_;
    const Status status = check_sequence(s.config, sequence, failure);
    if (status != Status::ok) return status;
    const uint64_t length = common_length(s, sequence);
    if (n_tokens > length)
        return set_failure(failure, Status::argument, {},
                           "cannot truncate to %llu tokens: sequence %u has %llu", ull(n_tokens),
                           sequence, ull(length));
    return cut(s, sequence, n_tokens, "truncate", failure);
}

Status Cache::rollback(uint32_t sequence, Failure *failure) {
    State &s = *state_;
    const Status status = check_sequence(s.config, sequence, failure);
    if (status != Status::ok) return status;
    bool marked = false;
    for (uint32_t l = 0; l < s.config.n_layers; l++) marked |= s.track(l, sequence).mark.set;
    if (!marked) return cut(s, sequence, common_length(s, sequence), "roll back", failure);
    for (uint32_t l = 0; l < s.config.n_layers; l++)
        restore_rollback_point(s, s.layers[l], s.track(l, sequence));
    return status;
}

namespace {

// Removes the tokens of a part that the window has dropped, from counts and positions.
void remove_dropped(Track &track, const Cache::TokenRange &part) {
    const uint64_t dropped = track.n_dropped, end = part.first + part.n;
    if (part.first >= dropped || part.n == 0) return;
    const uint64_t n = (end < dropped ? end : dropped) - part.first;
    track.n_tokens -= n;
    track.n_dropped -= n;
    if (part.first == 0) track.dropped_first = part.p1;
    if (end >= dropped) track.dropped_last = part.before;
}

void remove_part(const Cache::State &s, Layer &layer, Track &track, const Cache::TokenRange &part) {
    const int32_t p0 = part.p0, p1 = part.p1;
    remove_dropped(track, part);
    if (track.n_pages && p1 > last_position(track)) // a cut at the end: see cut_track
        for (size_t p = 0; p < track.n_pages; p++)
            if (position_at(track.pages[p], 0) < p0 &&
                position_at(track.pages[p], track.pages[p].n - 1u) >= p0)
                take_plain(s, layer, track, track.pages[p]);
    end_rollback_point(s, layer, track, true);
    const size_t first = split_at(track, p0), end = split_at(track, p1);
    for (size_t i = first; i < end; i++) {
        track.n_tokens -= track.pages[i].n;
        release_page(*s.host, layer, track.pages[i], nullptr);
    }
    for (size_t i = end; i < track.n_pages; i++) track.pages[i - (end - first)] = track.pages[i];
    track.n_pages -= end - first;
    if (first == end) merge_at(track, first); // nothing was removed
    if (track.n_pages == 0) track.n_tokens = track.n_dropped = 0;
    number_pages(track);
    track.learned_end = track.n_dropped ? 0 : UINT64_MAX;
    forget_learned(track);
}

// Returns the part for a span of positions that contains all dropped tokens, or none.
Cache::TokenRange part_of(const Track &track, int32_t p0, int32_t p1) {
    return {p0, p1, 0, takes_dropped(track, p0, p1) ? track.n_dropped : 0, -1};
}

// Checks that after the removal the next token sees none of the dropped tokens.
Status prepare_layer(const Cache::State &s, uint32_t l, Track track, const Cache::TokenRange &part,
                     Failure *failure) {
    const int32_t last = last_outside(track, part.p0, part.p1);
    remove_dropped(track, part);
    if (track.n_dropped == 0 || !sees_dropped(s.layers[l], track.dropped_last, last))
        return Status::ok;
    return refuse_dropped("remove", l, failure);
}

} // namespace

Status Cache::prepare_remove(uint32_t sequence, const TokenRange &part, Failure *failure) {
    const State &s = *state_;
    Status status = Status::ok;
    for (uint32_t l = 0; status == Status::ok && l < s.config.n_layers; l++)
        status = prepare_layer(s, l, s.track(l, sequence), part, failure);
    return status == Status::ok ? grow_tables(s, sequence, 2, failure) : status;
}

void Cache::remove(uint32_t sequence, const TokenRange &part) {
    const State &s = *state_;
    for (uint32_t l = 0; l < s.config.n_layers; l++)
        remove_part(s, s.layers[l], s.track(l, sequence), part);
}

Status Cache::remove(uint32_t sequence, int32_t p0, int32_t p1, Failure *failure) {
    const State &s = *state_;
    Status status = check_sequence(s.config, sequence, failure);
    if (status == Status::ok) status = check_span(p0, p1, failure);
    if (status == Status::ok) status = check_dropped(s, sequence, p0, p1, failure);
    for (uint32_t l = 0; status == Status::ok && l < s.config.n_layers; l++) {
        const Track &track = s.track(l, sequence);
        status = prepare_layer(s, l, track, part_of(track, p0, p1), failure);
    }
    if (status == Status::ok) status = grow_tables(s, sequence, 2, failure);
    for (uint32_t l = 0; status == Status::ok && l < s.config.n_layers; l++) {
        Track &track = s.track(l, sequence);
        remove_part(s, s.layers[l], track, part_of(track, p0, p1));
    }
    return status;
}

namespace {

// Copies the calibration of the source together with its encoded pages.
void copy_calibration(const Config &config, const Track &source, Track &target) {
    const bool behind = target.n_dropped && target.n_tokens >= source.learned_end;
    target.calibrated = source.calibrated && (behind || holds_encoded(target));
    if (!target.calibrated) return;
    memcpy(target.calibration, source.calibration, calibration_floats(config) * sizeof(float));
    target.learned_end = target.n_dropped ? source.learned_end : UINT64_MAX;
}

void copy_span(const Cache::State &s, Layer &layer, const Track &source, Track &target, int32_t p0,
               int32_t p1) {
    end_rollback_point(s, layer, target, true);
    if (takes_dropped(source, p0, p1)) {
        target.n_tokens = target.n_dropped = source.n_dropped;
        target.dropped_first = source.dropped_first;
        target.dropped_last = source.dropped_last;
    }
    for (size_t i = 0; i < source.n_pages; i++) {
        PageRef page = source.pages[i];
        while (page.n && position_at(page, 0) < p0) {
            page.first++;
            page.n--;
        }
        const uint16_t n = page.n;
        while (page.n && position_at(page, page.n - 1u) >= p1) page.n--;
        if (page.n == 0) continue;
        Block *plain = page.n < n ? plain_of(source, source.pages[i]) : nullptr;
        if (plain) page.block = plain; // cut: see cut_track
        page.plain = nullptr;
        page.block->n_owners++;
        target.pages[target.n_pages++] = page;
        target.n_tokens += page.n;
    }
    number_pages(target);
    copy_calibration(s.config, source, target);
}

} // namespace

Status Cache::copy(uint32_t from, uint32_t to, int32_t p0, int32_t p1, Failure *failure) {
    State &s = *state_;
    Status status = check_sequence(s.config, from, failure);
    if (status == Status::ok) status = check_sequence(s.config, to, failure);
    if (status == Status::ok) status = check_span(p0, p1, failure);
    if (status == Status::ok) status = check_dropped(s, from, p0, p1, failure);
    if (status != Status::ok) return status;
    for (uint32_t l = 0; l < s.config.n_layers; l++)
        if (from == to || s.track(l, to).n_tokens)
            return set_failure(failure, Status::state, {.index = to},
                               "cannot copy to sequence %u: it must be another sequence and empty",
                               to);
    for (uint32_t l = 0; l < s.config.n_layers; l++) {
        const Track &track = s.track(l, from);
        if (takes_dropped(track, p0, p1) &&
            behind_window(s.layers[l], track, tokens_before(track, p1)))
            return set_failure(failure, Status::state, {.index = l},
                               "cannot copy positions %d to %d: the window of layer %u has dropped "
                               "tokens that the next token sees",
                               p0, p1, l);
    }
    for (uint32_t l = 0; l < s.config.n_layers; l++)
        if (!grow_table(*s.host, s.track(l, to), s.track(l, from).n_pages))
            return set_failure(failure, Status::memory, {}, "no memory for a table of %zu pages",
                               s.track(l, from).n_pages);
    for (uint32_t l = 0; l < s.config.n_layers; l++)
        copy_span(s, s.layers[l], s.track(l, from), s.track(l, to), p0, p1);
    return Status::ok;
}

namespace {

// Calls visit(position) for the held tokens on both sides of a position, as far as there are any.
// Returns false if one of the calls does.
template <class Visit> bool visit_beside(const Track &track, int32_t p, const Visit &visit) {
    const size_t at = page_from(track, p);
    const PageRef *const page = track.pages + at;
    uint32_t t = 0;
    if (at < track.n_pages)
        while (position_at(*page, t) < p) t++;
    if (t > 0 && !visit(position_at(*page, t - 1))) return false;
    if (t == 0 && at > 0 && !visit(position_at(page[-1], page[-1].n - 1u))) return false;
    return at == track.n_pages || visit(position_at(*page, t));
}

// Checks that positions still do not descend, and fit 32 bits, after a shift. Tokens within the span
// keep their order, so those at its ends decide. Stored positions fit too, so the sums of shifts,
// which are differences of the two, fit 32 bits.
Status check_shift(const RopeShift &turn, const Track &track, int32_t p0, int32_t p1, int32_t delta,
                   Failure *failure) {
    int64_t last = 0;      // positions are not negative
    int32_t last_old = -1; // an empty span has the same tokens at both ends
    const auto fits = [&](int32_t old) {
        if (old < last_old) return true;
        last_old = old;
        const int64_t now = int64_t(old) + (old >= p0 && old < p1 ? delta : 0), before = last;
        last = now;
        if (now >= before && now <= INT32_MAX) return true;
        set_failure(failure, Status::argument, {},
                    "cannot shift by %d: position %d would become %lld, after %lld", delta, old,
                    static_cast<long long>(now), static_cast<long long>(before));
        return false;
    };
    if (track.n_dropped && !(fits(track.dropped_first) && fits(track.dropped_last)))
        return Status::argument;
    if (!visit_beside(track, p0, fits) || !visit_beside(track, p1, fits)) return Status::argument;
    for (size_t i = page_from(track, p0); i < track.n_pages; i++) {
        if (position_at(track.pages[i], 0) >= p1) break;
        if (!can_turn(turn, int64_t(track.pages[i].delta) + delta))
            return set_failure(failure, Status::argument, {},
                               "cannot shift by %d: keys would rotate by more than 2^31 radians",
                               delta);
    }
    return Status::ok;
}

// Returns a position after a shift of p0 .. p1 - 1 by `delta`.
int32_t shifted(int32_t position, int32_t p0, int32_t p1, int32_t delta) {
    return position >= p0 && position < p1 ? position + delta : position;
}

// Checks that the next token sees none of the dropped tokens, which the shift may bring nearer.
Status check_shifted_window(const Cache::State &s, uint32_t l, const Track &track, int32_t p0,
                            int32_t p1, int32_t delta, Failure *failure) {
    if (track.n_dropped == 0 || track.n_pages == 0) return Status::ok;
    const int32_t last = shifted(last_position(track), p0, p1, delta);
    const int32_t behind = shifted(track.dropped_last, p0, p1, delta);
    return sees_dropped(s.layers[l], behind, last) ? refuse_dropped("shift", l, failure)
                                                   : Status::ok;
}

} // namespace

Status Cache::prepare_shift(uint32_t sequence, int32_t p0, int32_t p1, int32_t delta,
                            Failure *failure) {
    const State &s = *state_;
    Status status = Status::ok;
    if (s.config.rope_style == RopeStyle::unknown)
        status = set_failure(failure, Status::unsupported, {},
                             "cannot shift: rope_style of the cache is not set");
    for (uint32_t l = 0; status == Status::ok && l < s.config.n_layers; l++) {
        const Track &track = s.track(l, sequence);
        status = check_shift(s.turn, track, p0, p1, delta, failure);
        if (status == Status::ok)
            status = check_shifted_window(s, l, track, p0, p1, delta, failure);
    }
    return status == Status::ok ? grow_tables(s, sequence, 2, failure) : status;
}

void Cache::shift(uint32_t sequence, int32_t p0, int32_t p1, int32_t delta) {
    const State &s = *state_;
    for (uint32_t l = 0; delta && l < s.config.n_layers; l++) {
        Track &track = s.track(l, sequence);
        end_rollback_point(s, s.layers[l], track, true);
        const size_t first = split_at(track, p0), end = split_at(track, p1);
        for (size_t i = first; i < end; i++) track.pages[i].delta += delta;
        if (track.n_dropped) {
            track.dropped_first = shifted(track.dropped_first, p0, p1, delta);
            track.dropped_last = shifted(track.dropped_last, p0, p1, delta);
        }
        merge_at(track, end);
        merge_at(track, first);
    }
}

Status Cache::shift(uint32_t sequence, int32_t p0, int32_t p1, int32_t delta, Failure *failure) {
    const State &s = *state_;
    Status status = check_sequence(s.config, sequence, failure);
    if (status == Status::ok) status = check_span(p0, p1, failure);
    if (status == Status::ok) status = check_dropped(s, sequence, p0, p1, failure);
    if (status == Status::ok) status = prepare_shift(sequence, p0, p1, delta, failure);
    if (status == Status::ok) shift(sequence, p0, p1, delta);
    return status;
}

Status Cache::keep(uint32_t sequence, Failure *failure) {
    State &s = *state_;
    const Status status = check_sequence(s.config, sequence, failure);
    for (uint32_t i = 0; status == Status::ok && i < s.config.n_sequences; i++)
        for (uint32_t l = 0; i != sequence && l < s.config.n_layers; l++)
            clear_track(s, s.layers[l], s.track(l, i));
    return status;
}

} // namespace ggufx::kv
