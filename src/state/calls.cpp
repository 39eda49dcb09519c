// Calls on a sequence: begin, steps, commit, rollback; slots.
// SPDX-License-Identifier: MIT
#include "state/state.hpp"

#include <string.h>

namespace ggufx::state {

namespace {

using ull = unsigned long long;

void copy_floats(float *to, const float *from, size_t n) {
    if (n) memcpy(to, from, n * sizeof(float));
}

void zero(const Layer &layer, float *slot) {
    const size_t n = layer.state + layer.n_state - layer.tail;
    if (n) memset(slot + layer.tail, 0, n * sizeof(float));
}

} // namespace

void complete(StateCache::State &s, uint32_t index) {
    const Sequence &sequence = s.sequences[index];
    for (uint32_t l = 0; l < s.config.n_layers; l++) {
        if (s.stepped_of(index)[l]) continue;
        const Layer &layer = s.layers[l];
        float *to = s.slot(sequence.working);
        if (sequence.committed == kNoSlot) {
            zero(layer, to);
            continue;
        }
        const float *from = s.slot(sequence.committed);
        copy_floats(to + layer.tail, from + layer.tail, layer.n_tail);
        copy_floats(to + layer.state, from + layer.state, layer.n_state);
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

Status check_range(const StateCache::State &s, uint32_t sequence, Range *range, Failure *failure) {
    *range = {0, s.config.n_sequences};
    if (sequence == kAllSequences) return Status::ok;
    *range = {sequence, sequence + 1};
    return check_sequence(s, sequence, failure);
}

Status StateCache::begin(uint32_t index, Failure *failure) {
    State &s = *state_;
    const Status status = check_closed(s, index, failure);
    if (status != Status::ok) return status;
    s.sequences[index].working = take_slot(s);
    memset(s.stepped_of(index), 0, s.config.n_layers);
    return status;
}

Step StateCache::step(uint32_t l, uint32_t index) {
    const State &s = *state_;
    if (l >= s.config.n_layers || index >= s.config.n_sequences) return {};
    const Sequence &sequence = s.sequences[index];
    if (sequence.working == kNoSlot) return {};
    const Layer &layer = s.layers[l];
    float *out = s.slot(sequence.working);
    const float *in = out;
    const bool first = !s.stepped_of(index)[l];
    s.stepped_of(index)[l] = 1;
    if (first && sequence.committed == kNoSlot)
        zero(layer, out);
    else if (first)
        in = s.slot(sequence.committed);
    const bool tail = layer.n_tail != 0, state = layer.n_state != 0;
    return {tail ? in + layer.tail : nullptr, state ? in + layer.state : nullptr,
            tail ? out + layer.tail : nullptr, state ? out + layer.state : nullptr};
}

Status StateCache::commit(uint32_t index, uint64_t n_tokens, Failure *failure) {
    State &s = *state_;
    const Status status = check_open(s, index, failure);
    if (status != Status::ok) return status;
    Sequence &sequence = s.sequences[index];
    const bool any = memchr(s.stepped_of(index), 1, s.config.n_layers) != nullptr;
    if (n_tokens == 0 && any)
        return set_failure(failure, Status::argument, {.index = index},
                           "sequence %u: steps of a call without tokens", index);
    if (n_tokens > kMostTokens - sequence.n_tokens)
        return set_failure(failure, Status::capacity, {.index = index},
                           "sequence %u: %llu tokens after %llu, at most %llu in all", index,
                           ull(n_tokens), ull(sequence.n_tokens), ull(kMostTokens));
    if (n_tokens == 0) return rollback(index, failure);
    complete(s, index);
    const uint64_t before = sequence.n_tokens;
    forget_after(s, sequence, before + n_tokens - 1); // keep() told of the end, or beyond
    const uint32_t slot = sequence.working;
    sequence.working = kNoSlot;
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
    return status;
}

uint64_t StateCache::bytes() const {
    return state_->sizes.floats;
}

uint64_t StateCache::length(uint32_t index) const {
    return index < state_->config.n_sequences ? state_->sequences[index].n_tokens : 0;
}

} // namespace ggufx::state
