// Steps of the generators of a session (continuous batching): one pass over the weights for a part
// of the prompt of some, or a token of others. All or nothing: tokens are sampled before the
// session commits the pass.
// SPDX-License-Identifier: MIT
#pragma once

#include "run/session.hpp"

namespace ggufx::generate {

class Generator;

class Steps {
public:
    // session must outlive it. Throws std::bad_alloc.
    explicit Steps(model::Session &session);
    Steps(const Steps &) = delete;

    struct Item {
        Generator *generator;
        size_t n_tokens; // most tokens of its prompt; 0: as many as fit
    };
    struct Options {
        Progress progress;
        uint64_t budget_us = 0; // 0: until the step is complete
        model::Clock clock;
    };
    // Runs a step, or goes on with the one in flight. Items have been checked: each is a generator
    // of this session, once. Throws nothing; after a failure no generator has changed and no step
    // is in flight.
    Status step(const Item *items, size_t n_items, const Options &options, bool *complete,
                Failure *failure);
    bool is_in_flight() const { return !items_.empty(); }
    uint64_t bytes() const { return logits_.capacity() * sizeof(float); }

    // Owners of sequences. claim throws Error (argument: no such sequence; state: it has another
    // generator).
    void claim(uint32_t sequence, Generator *generator);
    void release(uint32_t sequence) { owners_[sequence] = nullptr; }
    void forget(const Generator *generator); // also in the step in flight

private:
    struct Taken : Item { // an item of the step in flight; generator null: destroyed
        size_t index;     // index in the caller's list
        model::BatchItem batch;
        bool is_used; // its rows were used
    };
    void begin(const Item *items, size_t n_items);
    void end_cancelled(const Item *items, size_t n_items);
    bool choose_mode(const Item *items, size_t n_items);
    bool takes_part(const Generator &generator) const;
    Status draft(const Options &options, bool *complete, Failure *failure);
    void plan();
    Status open(Failure *failure);
    Status advance(const Options &options, bool *complete, Failure *failure);
    Status run(const Options &options, bool *complete, Failure *failure);
    Status isolate(const Options &options, bool *complete, Failure *failure);
    Status use_outputs(Failure *failure);
    void keep();
    void end(); // the step in flight
    bool all_cancelled() const;
    void name_item(Status status, Failure *failure) const;
    static int32_t report(void *self, uint64_t done, uint64_t total);

    model::Session &session_;
    Vector<Generator *> owners_; // for each sequence
    Vector<Taken> items_;        // those of the step in flight
    bool is_open_ = false;       // the session computes it; else it is drafted
    Vector<model::BatchItem> batch_;
    Vector<float> logits_;
    matmul::Options products_; // products of the step
    uint8_t mode_ = 0;         // mode of the latest step
    size_t n_isolated_ = 0;    // items that ran alone after a failure
    Progress progress_;        // the caller's
};

} // namespace ggufx::generate
