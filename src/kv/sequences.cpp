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

using Range = Cache::Range;

// Returns whether a range contains all tokens that the window has dropped. A range must contain all
// of them or none.
bool takes_dropped(const Track &track, const Range &range) {
    return track.n_dropped && range.first == 0 && range.n >= track.n_dropped;
}

Status check_range(const Cache::State &s, uint32_t sequence, const Range &range, Failure *failure) {
    const uint64_t length = common_length(s, sequence);
    if (range.first > length || range.n > length - range.first)
        return set_failure(failure, Status::argument, {.index = sequence},
                           "%llu tokens from token %llu on: sequence %u has %llu", ull(range.n),
                           ull(range.first), sequence, ull(length));
    for (uint32_t l = 0; l < s.config.n_layers; l++) {
        const Track &track = s.track(l, sequence);
        if (range.n == 0 || range.first >= track.n_dropped || takes_dropped(track, range)) continue;
        return set_failure(failure, Status::state, {.index = l},
                           "%llu tokens from token %llu on are a part of the %llu that the window "
                           "of layer %u has dropped",
                           ull(range.n), ull(range.first), ull(track.n_dropped), l);
    }
    return Status::ok;
}

Status refuse_dropped(const char *call, uint32_t layer, Failure *failure) {
    return set_failure(failure, Status::state, {.index = layer},
                       "%s: the window of layer %u has dropped tokens that the next token sees",
                       call, layer);
}

// Returns the position of a token that is held.
int32_t position_of(const Track &track, uint64_t token) {
    const PageRef &page = track.pages[page_of_token(track, token)];
    return position_at(page, static_cast<uint32_t>(token - page.index));
}

// Returns the position of the last token held outside a range, else that of the last one dropped.
int32_t last_outside(const Track &track, const Range &range) {
    const uint64_t end = range.end() >= track.n_tokens ? range.first : track.n_tokens;
    return end > track.n_dropped ? position_of(track, end - 1) : track.dropped_last;
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
void remove_dropped(Track &track, const Cache::Part &part) {
    const uint64_t dropped = track.n_dropped, end = part.range.end();
    if (part.range.first >= dropped || part.range.n == 0) return;
    const uint64_t n = (end < dropped ? end : dropped) - part.range.first;
    track.n_tokens -= n;
    track.n_dropped -= n;
    if (part.range.first == 0) track.dropped_first = part.after;
    if (end >= dropped) track.dropped_last = part.before;
}

void remove_part(const Cache::State &s, Layer &layer, Track &track, const Cache::Part &part) {
    const Range &range = part.range;
    const size_t cut = page_of_token(track, range.first);
    if (range.n && range.end() == track.n_tokens && cut < track.n_pages &&
        track.pages[cut].index < range.first) // a cut at the end: see cut_track
        take_plain(s, layer, track, track.pages[cut]);
    end_rollback_point(s, layer, track, true);
    const size_t first = split_at(track, range.first), end = split_at(track, range.end());
    remove_dropped(track, part);
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

// Checks that after the removal the next token sees none of the dropped tokens.
Status prepare_layer(const Cache::State &s, uint32_t l, Track track, const Cache::Part &part,
                     Failure *failure) {
    const int32_t last = last_outside(track, part.range);
    remove_dropped(track, part);
    if (track.n_dropped == 0 || !sees_dropped(s.layers[l], track.dropped_last, last))
        return Status::ok;
    return refuse_dropped("remove", l, failure);
}

} // namespace

Status Cache::prepare_remove(uint32_t sequence, const Part &part, Failure *failure) {
    const State &s = *state_;
    Status status = Status::ok;
    for (uint32_t l = 0; status == Status::ok && l < s.config.n_layers; l++)
        status = prepare_layer(s, l, s.track(l, sequence), part, failure);
    return status == Status::ok ? grow_tables(s, sequence, 2, failure) : status;
}

void Cache::remove(uint32_t sequence, const Part &part) {
    const State &s = *state_;
    for (uint32_t l = 0; l < s.config.n_layers; l++)
        remove_part(s, s.layers[l], s.track(l, sequence), part);
}

Status Cache::remove(uint32_t sequence, const Range &range, Failure *failure) {
    const State &s = *state_;
    Status status = check_sequence(s.config, sequence, failure);
    if (status == Status::ok) status = check_range(s, sequence, range, failure);
    const Part part = {range, -1, 0}; // takes all dropped tokens, or none
    if (status == Status::ok) status = prepare_remove(sequence, part, failure);
    if (status == Status::ok) remove(sequence, part);
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

void copy_range(const Cache::State &s, Layer &layer, const Track &source, Track &target,
                const Range &range) {
    end_rollback_point(s, layer, target, true);
    if (takes_dropped(source, range)) {
        target.n_tokens = target.n_dropped = source.n_dropped;
        target.dropped_first = source.dropped_first;
        target.dropped_last = source.dropped_last;
    }
    for (size_t i = 0; i < source.n_pages; i++) {
        PageRef page = source.pages[i];
        const uint64_t page_end = page.index + page.n;
        const uint64_t begin = page.index > range.first ? page.index : range.first;
        const uint64_t end = page_end < range.end() ? page_end : range.end();
        if (begin >= end) continue;
        page.first = static_cast<uint16_t>(page.first + (begin - page.index));
        page.n = static_cast<uint16_t>(end - begin);
        Block *plain = end < page_end ? plain_of(source, source.pages[i]) : nullptr;
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

Status Cache::copy(uint32_t from, uint32_t to, const Range &range, Failure *failure) {
    State &s = *state_;
    Status status = check_sequence(s.config, from, failure);
    if (status == Status::ok) status = check_sequence(s.config, to, failure);
    if (status == Status::ok) status = check_range(s, from, range, failure);
    if (status != Status::ok) return status;
    for (uint32_t l = 0; l < s.config.n_layers; l++)
        if (from == to || s.track(l, to).n_tokens)
            return set_failure(failure, Status::state, {.index = to},
                               "cannot copy to sequence %u: it must be another sequence and empty",
                               to);
    for (uint32_t l = 0; l < s.config.n_layers; l++) {
        const Track &track = s.track(l, from);
        if (takes_dropped(track, range) && behind_window(s.layers[l], track, range.n))
            return refuse_dropped("copy", l, failure);
    }
    for (uint32_t l = 0; l < s.config.n_layers; l++)
        if (!grow_table(*s.host, s.track(l, to), s.track(l, from).n_pages))
            return set_failure(failure, Status::memory, {}, "no memory for a table of %zu pages",
                               s.track(l, from).n_pages);
    for (uint32_t l = 0; l < s.config.n_layers; l++)
        copy_range(s, s.layers[l], s.track(l, from), s.track(l, to), range);
    return Status::ok;
}

namespace {

// Checks that positions still do not descend, and fit 32 bits, after a shift. Tokens within the
// range keep their order, so those at its ends decide. Stored positions fit too, so the sums of
// shifts, which are differences of the two, fit 32 bits.
Status check_shift(const RopeShift &turn, const Track &track, const Range &range, int32_t delta,
                   Failure *failure) {
    int64_t last = 0; // positions are not negative
    const auto fits = [&](uint64_t token, int32_t old) {
        const int64_t now = int64_t(old) + (range.holds(token) ? delta : 0), before = last;
        last = now;
        if (now >= before && now <= INT32_MAX) return true;
        set_failure(failure, Status::argument, {},
                    "cannot shift by %d: position %d would become %lld, after %lld", delta, old,
                    static_cast<long long>(now), static_cast<long long>(before));
        return false;
    };
    if (range.n == 0) return Status::ok;
    if (track.n_dropped &&
        !(fits(0, track.dropped_first) && fits(track.n_dropped - 1, track.dropped_last)))
        return Status::argument;
    // both sides of the ends; unsigned: token 0 has none before it
    for (const uint64_t token : {range.first - 1, range.first, range.end() - 1, range.end()})
        if (token >= track.n_dropped && token < track.n_tokens &&
            !fits(token, position_of(track, token)))
            return Status::argument;
    for (size_t i = page_of_token(track, range.first); i < track.n_pages; i++) {
        if (track.pages[i].index >= range.end()) break;
        if (!can_turn(turn, int64_t(track.pages[i].delta) + delta))
            return set_failure(failure, Status::argument, {},
                               "cannot shift by %d: keys would rotate by more than 2^31 radians",
                               delta);
    }
    return Status::ok;
}

// Moves a range at an end of its part to the next part of the same page, if that has the new shift.
// The table stays as it is: shifts of token after token move no entries.
bool shift_to_neighbour(Track &track, const Range &range, int32_t delta) {
    const size_t at = page_of_token(track, range.first);
    if (at == track.n_pages) return false;
    PageRef &page = track.pages[at];
    const uint64_t end = page.index + page.n;
    if (range.first < page.index || range.end() > end || range.n >= page.n) return false;
    const auto n = static_cast<uint16_t>(range.n);
    const auto takes = [&](const PageRef &other) {
        return other.block == page.block && other.plain == page.plain &&
               other.delta == page.delta + delta;
    };
    if (range.end() == end && at + 1 < track.n_pages) {
        PageRef &next = track.pages[at + 1];
        if (!takes(next) || next.first != page.first + page.n) return false;
        next.first = static_cast<uint16_t>(next.first - n);
        next.index -= n;
        next.n = static_cast<uint16_t>(next.n + n);
    } else if (range.first == page.index && at > 0) {
        PageRef &last = track.pages[at - 1];
        if (!takes(last) || page.first != last.first + last.n) return false;
        last.n = static_cast<uint16_t>(last.n + n);
        page.first = static_cast<uint16_t>(page.first + n);
        page.index += n;
    } else {
        return false;
    }
    page.n = static_cast<uint16_t>(page.n - n);
    return true;
}

// Checks that the next token sees none of the dropped tokens, which the shift may bring nearer.
Status check_shifted_window(const Cache::State &s, uint32_t l, const Track &track,
                            const Range &range, int32_t delta, Failure *failure) {
    if (track.n_dropped == 0 || track.n_pages == 0) return Status::ok;
    const int32_t last = last_position(track) + (range.holds(track.n_tokens - 1) ? delta : 0);
    const int32_t dropped = track.dropped_last + (range.holds(track.n_dropped - 1) ? delta : 0);
    return sees_dropped(s.layers[l], dropped, last) ? refuse_dropped("shift", l, failure)
                                                    : Status::ok;
}

} // namespace

Status Cache::prepare_shift(uint32_t sequence, const Range &range, int32_t delta,
                            Failure *failure) {
    const State &s = *state_;
    Status status = Status::ok;
    if (s.config.rope_style == RopeStyle::unknown)
        status = set_failure(failure, Status::unsupported, {},
                             "cannot shift: rope_style of the cache is not set");
    for (uint32_t l = 0; status == Status::ok && l < s.config.n_layers; l++) {
        const Track &track = s.track(l, sequence);
        status = check_shift(s.turn, track, range, delta, failure);
        if (status == Status::ok) status = check_shifted_window(s, l, track, range, delta, failure);
    }
    return status == Status::ok ? grow_tables(s, sequence, 2, failure) : status;
}

void Cache::shift(uint32_t sequence, const Range &range, int32_t delta) {
    const State &s = *state_;
    for (uint32_t l = 0; delta && l < s.config.n_layers; l++) {
        Track &track = s.track(l, sequence);
        end_rollback_point(s, s.layers[l], track, true);
        if (shift_to_neighbour(track, range, delta)) continue;
        const size_t first = split_at(track, range.first), end = split_at(track, range.end());
        for (size_t i = first; i < end; i++) track.pages[i].delta += delta;
        if (track.n_dropped && range.holds(0)) track.dropped_first += delta;
        if (track.n_dropped && range.holds(track.n_dropped - 1)) track.dropped_last += delta;
        merge_at(track, end);
        merge_at(track, first);
    }
}

Status Cache::shift(uint32_t sequence, const Range &range, int32_t delta, Failure *failure) {
    const State &s = *state_;
    Status status = check_sequence(s.config, sequence, failure);
    if (status == Status::ok) status = check_range(s, sequence, range, failure);
    if (status == Status::ok) status = prepare_shift(sequence, range, delta, failure);
    if (status == Status::ok) shift(sequence, range, delta);
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
