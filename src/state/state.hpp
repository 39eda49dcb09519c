// What a state cache holds: slots, each with room for the states of all layers of one sequence.
// A slot that was committed is never written again, so sequences and checkpoints share it.
// SPDX-License-Identifier: MIT
#pragma once

#include "state/cache.hpp"

namespace ggufx::state {

constexpr size_t kAlign = 64;
constexpr uint32_t kNoSlot = UINT32_MAX;
constexpr uint64_t kPageTokens = 64; // as in kv
constexpr uint32_t kMostCheckpoints = 4096;
constexpr uint32_t kMostSlots = 1u << 24;
constexpr uint64_t kMostTokens = uint64_t(1) << 40; // of a sequence, as in kv

// Where a layer lies in a slot, in floats.
struct Layer {
    LayerShape shape;
    size_t tail, state;     // offsets
    size_t n_tail, n_state; // values
};

struct Checkpoint {
    uint64_t n_tokens;
    uint32_t slot;
    bool marked;
};

struct Sequence {
    uint64_t n_tokens;
    uint64_t loaded;         // tokens of `working`, while a snapshot is read
    uint32_t committed;      // slot; kNoSlot: nothing yet, all zeros
    uint32_t working;        // slot of the open call; kNoSlot: none is open
    uint32_t again;          // slot of what the open call computes again; kNoSlot: nothing
    uint64_t n_again;        // tokens of it
    uint32_t previous;       // slot of before the new tokens of the last call; kNoSlot: none
    uint64_t n_previous;     // tokens of it, less than n_tokens
    uint32_t n_checkpoints;  // used ones
    Checkpoint *checkpoints; // ascending, the last one at n_tokens or before
};

// A sequence holds its committed slot, that of a call, one of before the last call and its
// checkpoints. A call that computes something again follows a cut, which has let go of the one of
// before, so with n_sequences * (3 + n_checkpoints) slots there is always room for a call.
constexpr uint32_t kOwnSlots = 3;

struct Sizes {
    uint32_t n_slots = 0;
    size_t slot_floats = 0;
    // Bytes.
    size_t layers = 0, sequences = 0, checkpoints = 0, stepped = 0, owners = 0, floats = 0;
};

struct StateCache::State {
    Ref<Host> host;
    Config config; // layers: null
    Sizes sizes;
    Layer *layers = nullptr;
    Sequence *sequences = nullptr;
    Checkpoint *checkpoints = nullptr; // [sequence][n_checkpoints]
    uint8_t *stepped = nullptr;        // [sequence][layer]: has made a step in the open call
    uint32_t *owners = nullptr;        // [slot]
    uint32_t *free = nullptr;          // slots without owners, n_free of them
    uint32_t n_free = 0;
    float *floats = nullptr; // [slot][slot_floats]

    float *slot(uint32_t index) const { return floats + size_t(index) * sizes.slot_floats; }
    uint8_t *stepped_of(uint32_t sequence) const {
        return stepped + size_t(sequence) * config.n_layers;
    }
};

// Offsets of a layer whose floats begin at *at, which moves behind them. False: too many to count.
bool place_layer(const LayerShape &shape, Layer *layer, uint64_t *at);

// What a sequence holds from a slot on, in place of what it held.
void set_committed(StateCache::State &state, Sequence &sequence, uint32_t slot, uint64_t n_tokens);
void clear_sequence(StateCache::State &state, Sequence &sequence);

// ---- checkpoints.cpp ----------------------------------------------------------------------------

// What is committed, where a slot can be had for it.
void remember(StateCache::State &state, Sequence &sequence, bool marked);
void forget(StateCache::State &state, Sequence &sequence, uint32_t checkpoint);
void forget_after(StateCache::State &state, Sequence &sequence, uint64_t n_tokens);
// The slot of the first n_tokens tokens; kNoSlot for none, and for 0.
uint32_t slot_of(const Sequence &sequence, uint64_t n_tokens);

// ---- calls.cpp ----------------------------------------------------------------------------------

uint32_t take_slot(StateCache::State &state); // with one owner
void hold_slot(StateCache::State &state, uint32_t slot);
void drop_slot(StateCache::State &state, uint32_t &slot); // kNoSlot is fine, and is left

// The slots of an open call get what layers without a step have, before its new tokens or at its end.
void complete(StateCache::State &state, uint32_t sequence, Take until);

Status check_sequence(const StateCache::State &state, uint32_t sequence, Failure *failure);
// ... of which a call is open.
Status check_open(const StateCache::State &state, uint32_t sequence, Failure *failure);
// ... of which no call is open.
Status check_closed(const StateCache::State &state, uint32_t sequence, Failure *failure);
// One sequence, or with kAllSequences all of them.
struct Range {
    uint32_t first, end;
};
Status check_range(const StateCache::State &state, uint32_t sequence, Range *range,
                   Failure *failure);

} // namespace ggufx::state
