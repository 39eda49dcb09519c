// The memory of recurrent layers (gated delta net, Mamba, short convolutions): per layer and
// sequence a state and the tail of a convolution, both f32. It has the size of its shapes however
// long a sequence is, so it cannot be cut anywhere: only back to checkpoints, and to where the new
// tokens of the last call began.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "base/snapshot_io.hpp"

namespace ggufx::state {

struct LayerShape { // zeros: the layer has none of it
    uint32_t tail_rows;
    uint64_t tail_values;  // of a row
    uint64_t state_values; // of the whole state; the layer knows their order
};

struct Config {
    const LayerShape *layers = nullptr; // [n_layers], read at create only
    uint32_t n_layers = 0;              // >= 1
    uint32_t n_sequences = 1;           // >= 1
    uint32_t n_checkpoints = 0;         // of each sequence, at most 4096
    uint64_t model = 0;                 // told apart by snapshots
};

constexpr uint32_t kAllSequences = UINT32_MAX;

// Where a layer finds what it remembers, and where it leaves that: [tail_rows][tail_values] and
// [state_values] floats, aligned to 64 bytes, null for what the layer has none of. All of `out` is
// to be written, from all of `in`; both are the same memory from the second step of a call on, and
// in the first one of an empty sequence, where it is zeros.
struct Step {
    const float *tail_in, *state_in;
    float *tail_out, *state_out;
    // Of a step over tokens that are computed again and new ones: where it leaves what it has
    // between them, from the same `in`. May be `in`, and never is `out`. Else null.
    float *tail_kept = nullptr, *state_kept = nullptr;
};

// Which tokens of its call a step takes.
enum class Take : uint8_t { fresh, again, both };

// Everything is allocated at create. No call throws but create and estimate. A failed call changes
// nothing. Threads: exclusive on the cache, except for const calls.
class StateCache {
public:
    struct State; // state.hpp: for the files of this folder

    // Throws Error (ARGUMENT, LIMIT), std::bad_alloc.
    static StateCache *create(Ref<Host> host, const Config &config);
    static void destroy(StateCache *cache); // null is fine
    // Bytes that such a cache takes from the allocator, its object included. Throws Error.
    static uint64_t estimate(const Host &host, const Config &config);

    // A call on a sequence: steps of its layers are provisional until commit says how many tokens
    // they were, and rollback leaves the sequence as it was, bit for bit, at no cost.
    // The first n_again of them stood in the sequence before it was cut: steps take them before the
    // new ones. What is behind them, or without them behind the last call, stays a place to come
    // back to until the next call or cut, at no cost: it is a slot that was written anyway.
    // Errors: ARGUMENT (no such sequence; a commit of 0 tokens with steps, or of no new ones),
    // STATE (begin: a call is open; commit, rollback: none is), CAPACITY (commit of more than 2^40
    // tokens in all).
    Status begin(uint32_t sequence, uint64_t n_again, Failure *failure);
    Status begin(uint32_t sequence, Failure *failure) { return begin(sequence, 0, failure); }
    Status commit(uint32_t sequence, uint64_t n_tokens, Failure *failure);
    Status rollback(uint32_t sequence, Failure *failure);
    // One step of a layer in the open call of a sequence. A layer that makes none in a call keeps
    // what it had. Nulls without a call, or for numbers that the cache does not have.
    Step step(uint32_t layer, uint32_t sequence, Take take = Take::fresh);
    // Tokens of a sequence before the new ones of its open call, or of all where none is open.
    uint64_t fresh_from(uint32_t sequence) const;

    // Remember the states after the first n_tokens tokens of the open call as commit does its end,
    // once it commits; a rollback forgets them. Where slots are wanting, those of the call alone
    // make room. Costs a copy of the states where another page of 64 tokens was reached. Errors:
    // ARGUMENT, STATE (no call is open).
    Status keep(uint32_t sequence, uint64_t n_tokens, Failure *failure);

    uint64_t bytes() const;                   // of all states
    uint64_t length(uint32_t sequence) const; // committed tokens; 0 for a sequence it does not have
    // Forget everything of a sequence, an open call included. Errors: ARGUMENT.
    Status clear(uint32_t sequence, Failure *failure);

    // Remember what is committed, as a place to come back to: the end of a system prompt, of a
    // turn. Costs nothing. Commits that reach another page of 64 tokens are remembered by
    // themselves. Where slots are wanting, unmarked checkpoints go first, the newest two of them
    // last, and what stays has distances from the end that double; of marked ones the first stays.
    // Without checkpoints nothing happens. Errors: ARGUMENT, STATE (a call is open).
    Status mark(uint32_t sequence, Failure *failure);
    // The longest part of the first n_tokens tokens to which truncate goes back.
    uint64_t nearest(uint32_t sequence, uint64_t n_tokens) const;
    // Go back to the first n_tokens tokens: 0, the length, those before the last call, or those of
    // a checkpoint; later ones are forgotten. Errors: ARGUMENT (longer than the sequence), STATE (a call is open; no checkpoint
    // there: index is the nearest one below).
    Status truncate(uint32_t sequence, uint64_t n_tokens, Failure *failure);
    // Let an empty sequence begin with the first n_tokens tokens of another one: its length, or
    // what truncate takes. Both share what they hold: no state is copied.
    // Errors: ARGUMENT (longer than the sequence), STATE (a call is open; `to` is not empty, or
    // `from` itself; no checkpoint there).
    Status copy(uint32_t from, uint32_t to, uint64_t n_tokens, Failure *failure);
    Status copy(uint32_t from, uint32_t to, Failure *failure) {
        return copy(from, to, length(from), failure);
    }

    // Write what is committed of a sequence, or of all; checkpoints are not written.
    // Errors: ARGUMENT, VALUE (a state holds NaN or an infinity), what the writer returns.
    Status save(uint32_t sequence, WriteFn write, void *user, Failure *failure) const;
    // Replace a sequence, or all, by a snapshot of one, or of all; the end of it is marked. What
    // reader.ended does, another load perhaps, happens when this one can no longer fail.
    // Errors: ARGUMENT, STATE (a call is open), MAGIC, VERSION, MISMATCH, MALFORMED, CHECKSUM, what
    // the reader returns. expected (may be null): the tokens that each has, else MALFORMED.
    Status load(uint32_t sequence, const Reader &reader, Failure *failure,
                const ExpectedTokens *expected = nullptr);

private:
    StateCache() = default;
    ~StateCache() = default;
    State *state_ = nullptr;
};

} // namespace ggufx::state
