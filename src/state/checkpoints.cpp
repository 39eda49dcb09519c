// Checkpoints: choice of those to keep, truncation to one, copies that start at one.
// SPDX-License-Identifier: MIT
#include "state/state.hpp"

#include <string.h>

namespace ggufx::state {

namespace {

// Returns the checkpoint with the least loss, among those from `first` on that are `marked` or not,
// without the `spared` newest ones; kNoSlot: none. Without a checkpoint, a cut to just below the
// next one goes back to the previous one. The loss is the ratio of the tokens cut then to those cut
// at least. So distances from the end grow geometrically.
uint32_t least_loss(const Sequence &s, uint64_t end, uint32_t first, uint32_t spared, bool marked) {
    uint32_t best = kNoSlot;
    double least = 0.0;
    for (uint32_t i = s.n_checkpoints; i-- > first;) {
        if (s.checkpoints[i].marked != marked) continue;
        if (spared) {
            spared--;
            continue;
        }
        const uint64_t before = i ? s.checkpoints[i - 1].n_tokens : 0;
        const uint64_t after = i + 1 < s.n_checkpoints ? s.checkpoints[i + 1].n_tokens : end;
        const double loss =
            static_cast<double>(end - before) / static_cast<double>(end - after + 1);
        if (best != kNoSlot && loss >= least) continue;
        best = i;
        least = loss;
    }
    return best;
}

// Returns the checkpoint to drop for a new one at the end of the sequence; kNoSlot: none.
// An unmarked new one is one of the newest two, which are dropped last.
uint32_t choose_victim(const Sequence &s, bool marked) {
    for (uint32_t spared = marked ? 3 : 2; spared-- > 0;) {
        const uint32_t passing = least_loss(s, s.n_tokens, 0, spared, false);
        if (passing != kNoSlot) return passing;
    }
    if (!marked) return kNoSlot;
    const uint32_t behind_first = least_loss(s, s.n_tokens, 1, 0, true);
    return behind_first != kNoSlot ? behind_first : 0;
}

Status check_length(const Sequence &s, uint32_t index, uint64_t n_tokens, Failure *failure) {
    if (n_tokens <= s.n_tokens) return Status::ok;
    return set_failure(failure, Status::argument, {.index = index},
                       "%llu tokens: sequence %u has %llu", ull(n_tokens), index, ull(s.n_tokens));
}

uint64_t nearest_below(const Sequence &s, uint64_t n_tokens) {
    if (n_tokens >= s.n_tokens) return s.n_tokens;
    uint32_t i = s.n_checkpoints;
    while (i > 0 && s.checkpoints[i - 1].n_tokens > n_tokens) i--;
    const uint64_t kept = i ? s.checkpoints[i - 1].n_tokens : 0;
    const bool previous = s.previous != kNoSlot && s.n_previous <= n_tokens;
    return previous && s.n_previous > kept ? s.n_previous : kept;
}

Status refuse_length(const Sequence &s, uint32_t index, uint64_t n_tokens, Failure *failure) {
    const uint64_t nearest = nearest_below(s, n_tokens);
    return set_failure(failure, Status::state, {.index = nearest},
                       "sequence %u: the states after %llu of %llu tokens are not kept; the "
                       "nearest checkpoint is after %llu",
                       index, ull(n_tokens), ull(s.n_tokens), ull(nearest));
}

} // namespace

void forget(StateCache::State &state, Sequence &s, uint32_t checkpoint) {
    drop_slot(state, s.checkpoints[checkpoint].slot);
    s.n_checkpoints--;
    for (uint32_t i = checkpoint; i < s.n_checkpoints; i++) s.checkpoints[i] = s.checkpoints[i + 1];
}

void remember(StateCache::State &state, Sequence &s, bool marked) {
    if (state.config.n_checkpoints == 0 || s.n_tokens == 0) return;
    if (s.n_checkpoints && s.checkpoints[s.n_checkpoints - 1].n_tokens == s.n_tokens) {
        s.checkpoints[s.n_checkpoints - 1].marked |= marked;
        return;
    }
    if (s.n_checkpoints == state.config.n_checkpoints) {
        const uint32_t victim = choose_victim(s, marked);
        if (victim == kNoSlot) return;
        forget(state, s, victim);
    }
    hold_slot(state, s.committed);
    s.checkpoints[s.n_checkpoints++] = {s.n_tokens, s.committed, marked};
}

void forget_after(StateCache::State &state, Sequence &s, uint64_t n_tokens) {
    while (s.n_checkpoints && s.checkpoints[s.n_checkpoints - 1].n_tokens > n_tokens)
        forget(state, s, s.n_checkpoints - 1);
}

uint32_t slot_of(const Sequence &s, uint64_t n_tokens) {
    if (n_tokens == s.n_tokens) return s.committed;
    for (uint32_t i = 0; i < s.n_checkpoints; i++)
        if (s.checkpoints[i].n_tokens == n_tokens) return s.checkpoints[i].slot;
    return s.n_previous == n_tokens ? s.previous : kNoSlot;
}

void clear_sequence(StateCache::State &state, Sequence &s) {
    while (s.n_checkpoints) forget(state, s, s.n_checkpoints - 1);
    drop_slot(state, s.working);
    drop_slot(state, s.again);
    drop_slot(state, s.previous);
    set_committed(state, s, kNoSlot, 0);
}

Status StateCache::clear(uint32_t index, Failure *failure) {
    const Status status = check_sequence(*state_, index, failure);
    if (status == Status::ok) clear_sequence(*state_, state_->sequences[index]);
    return status;
}

Status StateCache::mark(uint32_t index, Failure *failure) {
    const Status status = check_closed(*state_, index, failure);
    if (status == Status::ok) remember(*state_, state_->sequences[index], true);
    return status;
}

// Checkpoints of an open call follow the others, beyond the length, where no lookup finds them.
// Only they replace each other, so that a rollback loses no earlier checkpoint.
Status StateCache::keep(uint32_t index, uint64_t n_tokens, Failure *failure) {
    State &state = *state_;
    const Status status = check_open(state, index, failure);
    if (status != Status::ok) return status;
    Sequence &s = state.sequences[index];
    const uint32_t n = s.n_checkpoints;
    const uint64_t last = n ? s.checkpoints[n - 1].n_tokens : 0;
    if (n_tokens == 0 || n_tokens > kMostTokens - s.n_tokens) return status;
    const uint64_t end = s.n_tokens + n_tokens, before = last > s.n_tokens ? last : s.n_tokens;
    if (end / kPageTokens <= before / kPageTokens || state.config.n_checkpoints == 0) return status;
    if (n == state.config.n_checkpoints) {
        uint32_t own = n; // first checkpoint of this call
        while (own && s.checkpoints[own - 1].n_tokens > s.n_tokens) own--;
        const uint32_t victim = least_loss(s, end, own, n - own > 1 ? 1 : 0, false);
        if (victim == kNoSlot) return status;
        forget(state, s, victim);
    }
    const bool again = s.again != kNoSlot && n_tokens <= s.n_again;
    complete(state, index, again ? Take::again : Take::fresh);
    const uint32_t slot = take_slot(state), from = again ? s.again : s.working;
    memcpy(state.slot(slot), state.slot(from), state.sizes.slot_floats * sizeof(float));
    s.checkpoints[s.n_checkpoints++] = {end, slot, false};
    return status;
}

uint64_t StateCache::nearest(uint32_t index, uint64_t n_tokens) const {
    if (index >= state_->config.n_sequences) return 0;
    return nearest_below(state_->sequences[index], n_tokens);
}

Status StateCache::truncate(uint32_t index, uint64_t n_tokens, Failure *failure) {
    State &state = *state_;
    Status status = check_closed(state, index, failure);
    if (status != Status::ok) return status;
    Sequence &s = state.sequences[index];
    status = check_length(s, index, n_tokens, failure);
    if (status != Status::ok || n_tokens == s.n_tokens) return status;
    const uint32_t slot = slot_of(s, n_tokens);
    if (slot == kNoSlot && n_tokens) return refuse_length(s, index, n_tokens, failure);
    if (n_tokens) hold_slot(state, slot);
    drop_slot(state, s.previous);
    forget_after(state, s, n_tokens);
    set_committed(state, s, slot, n_tokens);
    return status;
}

Status StateCache::copy(uint32_t from, uint32_t to, uint64_t n_tokens, Failure *failure) {
    State &state = *state_;
    Status status = check_closed(state, from, failure);
    if (status == Status::ok) status = check_closed(state, to, failure);
    if (status != Status::ok) return status;
    const Sequence &source = state.sequences[from];
    Sequence &target = state.sequences[to];
    if (from == to || target.n_tokens)
        return set_failure(failure, Status::state, {.index = to},
                           "cannot copy to sequence %u: it must be another sequence and empty", to);
    status = check_length(source, from, n_tokens, failure);
    if (status != Status::ok || n_tokens == 0) return status;
    const uint32_t slot = slot_of(source, n_tokens);
    if (slot == kNoSlot) return refuse_length(source, from, n_tokens, failure);
    hold_slot(state, slot);
    set_committed(state, target, slot, n_tokens);
    for (uint32_t i = 0; i < source.n_checkpoints; i++) {
        const Checkpoint &one = source.checkpoints[i];
        if (one.n_tokens > n_tokens) break;
        hold_slot(state, one.slot);
        target.checkpoints[target.n_checkpoints++] = one;
    }
    return status;
}

} // namespace ggufx::state
