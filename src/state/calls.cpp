// Calls on a sequence: begin, steps, commit, rollback; slots.
// SPDX-License-Identifier: MIT
#include "state/state.hpp"

#include <string.h>

namespace ggufx::state {

namespace {

void copy_floats(float *to, const float *from, size_t n) {
    if (n) memcpy(to, from, n * sizeof(float));
}

void zero(const Layer &layer, float *slot) {
    const size_t n = layer.state + layer.n_state - layer.tail;
    if (n) memset(slot + layer.tail, 0, n * sizeof(float));
}

} // namespace

namespace {

constexpr uint8_t kFresh = 1, kAgain = 2; // bits of `stepped`

// Copies all of a layer from a slot, or zeros, to another slot.
void carry(const StateCache::State &s, const Layer &layer, uint32_t from, uint32_t to) {
    float *const out = s.slot(to);
    if (from == kNoSlot) return zero(layer, out);
    const float *const in = s.slot(from);
    copy_floats(out + layer.tail, in + layer.tail, layer.n_tail);
    copy_floats(out + layer.state, in + layer.state, layer.n_state);
}

} // namespace

void complete(StateCache::State &s, uint32_t index, Take until) {
    const Sequence &sequence = s.sequences[index];
    for (uint32_t l = 0; l < s.config.n_layers; l++) {
        const uint8_t stepped = s.stepped_of(index)[l];
        uint32_t from = sequence.committed;
        if (sequence.again != kNoSlot) {
            if (!(stepped & kAgain)) carry(s, s.layers[l], from, sequence.again);
            from = sequence.again;
        }
        if (until != Take::again && !(stepped & kFresh))
            carry(s, s.layers[l], from, sequence.working);
    }
}

Status check_open(const StateCache::State &s, uint32_t sequence, Failure *failure) {
    const Status status = check_sequence(s, sequence, failure);
    if (status != Status::ok || s.sequences[sequence].working != kNoSlot) return status;
    return set_failure(failure, Status::state, {.index = sequence}, "sequence %u: no call is open",
                       sequence);
}

uint32_t take_slot(StateCache::State &s) {
    const uint32_t slot = s.free[--s.n_free];
    s.owners[slot] = 1;
    return slot;
}

void hold_slot(StateCache::State &s, uint32_t slot) {
    s.owners[slot]++;
}

void drop_slot(StateCache::State &s, uint32_t &slot) {
    if (slot != kNoSlot && --s.owners[slot] == 0) s.free[s.n_free++] = slot;
    slot = kNoSlot;
}

void set_committed(StateCache::State &s, Sequence &sequence, uint32_t slot, uint64_t n_tokens) {
    drop_slot(s, sequence.committed);
    sequence.committed = slot;
    sequence.n_tokens = n_tokens;
}

Status check_sequence(const StateCache::State &s, uint32_t sequence, Failure *failure) {
    if (sequence < s.config.n_sequences) return Status::ok;
    return set_failure(failure, Status::argument, {.index = sequence},
                       "sequence %u: the cache has %u sequences", sequence, s.config.n_sequences);
}

Status check_closed(const StateCache::State &s, uint32_t sequence, Failure *failure) {
    const Status status = check_sequence(s, sequence, failure);
    if (status != Status::ok || s.sequences[sequence].working == kNoSlot) return status;
    return set_failure(failure, Status::state, {.index = sequence}, "sequence %u: a call is open",
                       sequence);
}

Status check_range(const StateCache::State &s, uint32_t sequence, SequenceRange *range,
                   Failure *failure) {
    *range = {0, s.config.n_sequences};
    if (sequence == kAllSequences) return Status::ok;
    *range = {sequence, sequence + 1};
    return check_sequence(s, sequence, failure);
}

Status StateCache::begin(uint32_t index, uint64_t n_again, Failure *failure) {
    State &s = *state_;
    const Status status = check_closed(s, index, failure);
    if (status != Status::ok) return status;
    Sequence &sequence = s.sequences[index];
    // a cut has dropped it, unless the caller made none
    if (n_again) drop_slot(s, sequence.previous);
    sequence.working = take_slot(s);
    if (n_again) sequence.again = take_slot(s);
    sequence.n_again = n_again;
    memset(s.stepped_of(index), 0, s.config.n_layers);
    return status;
}

Step StateCache::step(uint32_t l, uint32_t index, Take take) {
    const State &s = *state_;
    if (l >= s.config.n_layers || index >= s.config.n_sequences) return {};
    const Sequence &sequence = s.sequences[index];
    if (sequence.working == kNoSlot) return {};
    if (sequence.again == kNoSlot) take = Take::fresh;
    const Layer &layer = s.layers[l];
    uint8_t &stepped = s.stepped_of(index)[l];
    const bool goes_on = take == Take::fresh && (stepped & kFresh);
    const uint32_t out = take == Take::again ? sequence.again : sequence.working;
    uint32_t in = goes_on ? out : (stepped & kAgain) ? sequence.again : sequence.committed;
    if (in == kNoSlot) {
        in = take == Take::both ? sequence.again : out;
        zero(layer, s.slot(in));
    }
    stepped |= (take != Take::again ? kFresh : 0) | (take != Take::fresh ? kAgain : 0);
    const auto tail = [&](uint32_t slot) {
        return layer.n_tail && slot != kNoSlot ? s.slot(slot) + layer.tail : nullptr;
    };
    const auto state = [&](uint32_t slot) {
        return layer.n_state && slot != kNoSlot ? s.slot(slot) + layer.state : nullptr;
    };
    const uint32_t kept = take == Take::both ? sequence.again : kNoSlot;
    return {tail(in), state(in), tail(out), state(out), tail(kept), state(kept)};
}

uint64_t StateCache::fresh_from(uint32_t index) const {
    if (index >= state_->config.n_sequences) return 0;
    const Sequence &sequence = state_->sequences[index];
    return sequence.n_tokens + (sequence.working == kNoSlot ? 0 : sequence.n_again);
}

Status StateCache::commit(uint32_t index, uint64_t n_tokens, Failure *failure) {
    State &s = *state_;
    const Status status = check_open(s, index, failure);
    if (status != Status::ok) return status;
    Sequence &sequence = s.sequences[index];
    bool any = false;
    for (uint32_t l = 0; l < s.config.n_layers; l++) any |= s.stepped_of(index)[l] != 0;
    if (n_tokens <= sequence.n_again && any)
        return set_failure(failure, Status::argument, {.index = index},
                           "sequence %u: steps of a call without new tokens", index);
    if (n_tokens > kMostTokens - sequence.n_tokens)
        return set_failure(failure, Status::capacity, {.index = index, .limit = kMostTokens},
                           "sequence %u: %llu tokens after %llu, the limit is %llu in all", index,
                           ull(n_tokens), ull(sequence.n_tokens), ull(kMostTokens));
    if (n_tokens <= sequence.n_again) return rollback(index, failure);
    complete(s, index, Take::fresh);
    const uint64_t before = sequence.n_tokens;
    // drops what keep() added at the end or after it
    forget_after(s, sequence, before + n_tokens - 1);
    const uint32_t slot = sequence.working;
    sequence.working = kNoSlot;
    drop_slot(s, sequence.previous);
    sequence.n_previous = before + sequence.n_again;
    sequence.previous = sequence.again;
    sequence.again = kNoSlot;
    if (sequence.n_again == 0) {
        sequence.previous = sequence.committed;
        sequence.committed = kNoSlot;
    }
    set_committed(s, sequence, slot, before + n_tokens);
    if (sequence.n_tokens / kPageTokens != before / kPageTokens) remember(s, sequence, false);
    return status;
}

Status StateCache::rollback(uint32_t index, Failure *failure) {
    State &s = *state_;
    const Status status = check_open(s, index, failure);
    if (status != Status::ok) return status;
    Sequence &sequence = s.sequences[index];
    forget_after(s, sequence, sequence.n_tokens);
    drop_slot(s, sequence.working);
    drop_slot(s, sequence.again);
    return status;
}

uint64_t StateCache::bytes() const {
    return state_->sizes.floats;
}

uint64_t StateCache::length(uint32_t index) const {
    return index < state_->config.n_sequences ? state_->sequences[index].n_tokens : 0;
}

} // namespace ggufx::state
