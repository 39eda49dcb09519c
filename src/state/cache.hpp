// Memory of recurrent layers (gated delta net, Mamba, short convolutions): per layer and sequence a
// state and the tail of a convolution, both f32. Its size does not depend on the length of a
// sequence. So a sequence can only be cut back to a checkpoint, or to the start of the last call's
// new tokens.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "base/snapshot_io.hpp"

namespace ggufx::state {

struct LayerShape { // 0: the layer does not have that part
    uint32_t tail_rows;
    uint64_t tail_values;  // per row
    uint64_t state_values; // the whole state; the layer defines their order
};

struct Config {
    const LayerShape *layers = nullptr; // [n_layers], read at create only
    uint32_t n_layers = 0;              // >= 1
    uint32_t n_sequences = 1;           // >= 1
    uint32_t n_checkpoints = 0;         // per sequence, at most 4096
    uint64_t model = 0; // identity of the model; snapshots of another one are refused
};

constexpr uint32_t kAllSequences = UINT32_MAX;

// Memory for one operation of a recurrent layer: [tail_rows][tail_values] and [state_values]
// floats, aligned to 64 bytes, null for parts that the layer does not have. The layer writes all of
// `out`, computed from all of `in`. Both are the same memory from the second step of a call on.
// They are also the same in the first step of an empty sequence, where they hold zeros.
struct Step {
    const float *tail_in, *state_in;
    float *tail_out, *state_out;
    // For a step over recomputed and new tokens: the layer also writes its state between them here,
    // from the same `in`. May be `in`, never `out`. Else null.
    float *tail_kept = nullptr, *state_kept = nullptr;
};

// Tokens of the call that a step covers: new ones, recomputed ones, or both.
enum class Take : uint8_t { fresh, again, both };

// All memory is allocated at create. Only create and estimate throw. A failed call changes nothing.
// Threads: exclusive on the cache, except for const calls.
class StateCache {
public:
    struct State; // state.hpp: internal to this folder

    // Throws Error (ARGUMENT, LIMIT), std::bad_alloc.
    static StateCache *create(Ref<Host> host, const Config &config);
    static void destroy(StateCache *cache); // accepts null
    // Returns the bytes that such a cache takes from the allocator, its object included. Throws
    // Error.
    static uint64_t estimate(const Host &host, const Config &config);

    // Begins a call on a sequence. Steps of its layers are provisional until commit, which gets
    // their number of tokens. rollback restores the sequence bit-identically, at no cost.
    // The first n_again tokens are recomputed: they were in the sequence before it was cut, and
    // steps take them before the new ones. The state after them (without them, that before the
    // call) can be truncated to until the next call or cut. It costs nothing, because its slot was
    // written anyway.
    // Errors: ARGUMENT (no such sequence; a commit of 0 tokens with steps, or of no new ones),
    // STATE (begin: a call is open; commit, rollback: none is), CAPACITY (commit of more than 2^40
    // tokens in all).
    Status begin(uint32_t sequence, uint64_t n_again, Failure *failure);
    Status begin(uint32_t sequence, Failure *failure) { return begin(sequence, 0, failure); }
    Status commit(uint32_t sequence, uint64_t n_tokens, Failure *failure);
    Status rollback(uint32_t sequence, Failure *failure);
    // Returns the memory for one step of a layer in the open call of a sequence. A layer without a
    // step in a call keeps its state. Nulls without a call, or for indices that the cache does not
    // have.
    Step step(uint32_t layer, uint32_t sequence, Take take = Take::fresh);
    // Returns the tokens of a sequence before the new ones of its open call, or all tokens if none
    // is open.
    uint64_t fresh_from(uint32_t sequence) const;

    // Adds a checkpoint after the first n_tokens tokens of the open call, if they reach another
    // page of 64 tokens. It takes effect with commit; rollback drops it. Without free slots, only
    // checkpoints of this call are replaced. Costs a copy of the states. Errors: ARGUMENT, STATE
    // (no call is open).
    Status keep(uint32_t sequence, uint64_t n_tokens, Failure *failure);

    uint64_t bytes() const;                   // all states
    uint64_t length(uint32_t sequence) const; // committed tokens; 0 for an unknown sequence
    // Forgets everything of a sequence, including an open call. Errors: ARGUMENT.
    Status clear(uint32_t sequence, Failure *failure);

    // Marks the committed state as a checkpoint, such as the end of a system prompt or a turn.
    // Costs nothing. Commits that reach another page of 64 tokens add unmarked checkpoints
    // themselves. If slots run out, unmarked checkpoints are dropped first, the newest two of them
    // last. The remaining ones have distances from the end that double. The first marked checkpoint
    // stays. Without checkpoints nothing happens. Errors: ARGUMENT, STATE (a call is open).
    Status mark(uint32_t sequence, Failure *failure);
    // Returns the largest length <= n_tokens that truncate accepts.
    uint64_t nearest(uint32_t sequence, uint64_t n_tokens) const;
    // Truncates to the first n_tokens tokens: 0, the length, the start of the last call's new
    // tokens, or a checkpoint. Later checkpoints are dropped. Errors: ARGUMENT (longer than the
    // sequence), STATE (a call is open; no checkpoint there: index is the nearest one below).
    Status truncate(uint32_t sequence, uint64_t n_tokens, Failure *failure);
    // Starts an empty sequence with the first n_tokens tokens of another one: its length, or a
    // length that truncate accepts. Both share slots: no state is copied.
    // Errors: ARGUMENT (longer than the sequence), STATE (a call is open; `to` is not empty, or
    // `from` itself; no checkpoint there).
    Status copy(uint32_t from, uint32_t to, uint64_t n_tokens, Failure *failure);
    Status copy(uint32_t from, uint32_t to, Failure *failure) {
        return copy(from, to, length(from), failure);
    }

    // Writes the committed state of a sequence, or of all; checkpoints are not written.
    // Errors: ARGUMENT, VALUE (a state holds NaN or an infinity), the writer's status.
    Status save(uint32_t sequence, WriteFn write, void *user, Failure *failure) const;
    // Replaces a sequence, or all, by a snapshot of one, or of all, and marks its end. Calls
    // reader.ended, perhaps another load, when this one can no longer fail.
    // Errors: ARGUMENT, STATE (a call is open), MAGIC, VERSION, MISMATCH, MALFORMED, CHECKSUM, the
    // reader's status. expected (may be null): number of tokens of each sequence, else MALFORMED.
    Status load(uint32_t sequence, const Reader &reader, Failure *failure,
                const ExpectedTokens *expected = nullptr);

private:
    StateCache() = default;
    ~StateCache() = default;
    State *state_ = nullptr;
};

} // namespace ggufx::state
