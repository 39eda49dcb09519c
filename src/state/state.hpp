// State of a state cache: slots, each with room for the states of all layers of one sequence. A
// committed slot is never written again, so sequences and checkpoints share it.
// SPDX-License-Identifier: MIT
#pragma once

#include "state/cache.hpp"

namespace ggufx::state {

constexpr size_t kAlign = 64;
constexpr uint32_t kNoSlot = UINT32_MAX;
constexpr uint64_t kPageTokens = 64; // as in kv
constexpr uint32_t kMostCheckpoints = 4096;
constexpr uint32_t kMostSlots = 1u << 24;
constexpr uint64_t kMostTokens = uint64_t(1) << 40; // per sequence, as in kv

// Offsets and sizes of a layer in a slot, in floats.
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
    uint32_t again;          // slot after the recomputed tokens of the open call; kNoSlot: none
    uint64_t n_again;        // recomputed tokens
    uint32_t previous;       // slot before the new tokens of the last call; kNoSlot: none
    uint64_t n_previous;     // its length, less than n_tokens
    uint32_t n_checkpoints;  // entries in use
    Checkpoint *checkpoints; // ascending; beyond n_tokens only during a call
};

// A sequence holds its committed slot, that of an open call, that before the last call, and its
// checkpoints. A call that recomputes tokens needs one more, but follows a cut, which has dropped
// the one before the last call. So n_sequences * (3 + n_checkpoints) slots always suffice.
constexpr uint32_t kOwnSlots = 3;

struct Sizes {
    uint32_t n_slots = 0;
    size_t slot_floats = 0;
    // Sizes in bytes.
    size_t layers = 0, sequences = 0, checkpoints = 0, stepped = 0, owners = 0, floats = 0;
};

struct StateCache::State {
    Ref<Host> host;
    Config config; // layers: null
    Sizes sizes;
    Layer *layers = nullptr;
    Sequence *sequences = nullptr;
    Checkpoint *checkpoints = nullptr; // [sequence][n_checkpoints]
    uint8_t *stepped = nullptr;        // [sequence][layer]: steps made in the open call
    uint32_t *owners = nullptr;        // [slot]
    uint32_t *free = nullptr;          // slots without owners, n_free of them
    uint32_t n_free = 0;
    float *floats = nullptr; // [slot][slot_floats]

    float *slot(uint32_t index) const { return floats + size_t(index) * sizes.slot_floats; }
    uint8_t *stepped_of(uint32_t sequence) const {
        return stepped + size_t(sequence) * config.n_layers;
    }
};

// Replaces the committed slot of a sequence, and its length. Takes over the caller's reference to
// `slot`.
void set_committed(StateCache::State &state, Sequence &sequence, uint32_t slot, uint64_t n_tokens);
void clear_sequence(StateCache::State &state, Sequence &sequence);

// ---- checkpoints.cpp ----------------------------------------------------------------------------

// Adds a checkpoint of the committed state, if an entry can be freed for it.
void remember(StateCache::State &state, Sequence &sequence, bool marked);
void forget(StateCache::State &state, Sequence &sequence, uint32_t checkpoint);
void forget_after(StateCache::State &state, Sequence &sequence, uint64_t n_tokens);
// Returns the slot of the first n_tokens tokens; kNoSlot if there is none, and for 0.
uint32_t slot_of(const Sequence &sequence, uint64_t n_tokens);

// ---- calls.cpp ----------------------------------------------------------------------------------

uint32_t take_slot(StateCache::State &state); // with one owner
void hold_slot(StateCache::State &state, uint32_t slot);
void drop_slot(StateCache::State &state, uint32_t &slot); // accepts kNoSlot; leaves kNoSlot

// Copies the states of layers without a step to the slots of an open call: to that before its new
// tokens, or also to that at its end.
void complete(StateCache::State &state, uint32_t sequence, Take until);

Status check_sequence(const StateCache::State &state, uint32_t sequence, Failure *failure);
// Also refuses a sequence without an open call.
Status check_open(const StateCache::State &state, uint32_t sequence, Failure *failure);
// Also refuses a sequence with an open call.
Status check_closed(const StateCache::State &state, uint32_t sequence, Failure *failure);
// Range of sequences: one, or with kAllSequences all.
struct SequenceRange {
    uint32_t first, end;
};
Status check_range(const StateCache::State &state, uint32_t sequence, SequenceRange *range,
                   Failure *failure);

} // namespace ggufx::state
