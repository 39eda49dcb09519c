// The other processes that run a model together with this one, as models and sessions see them
// (distributed/group.hpp). All make the same calls with the same arguments. If one fails, all fail.
// SPDX-License-Identifier: MIT
#pragma once

#include "run/runner.hpp"

#include <memory>

namespace ggufx::model {

// A batch that is cut into slices.
struct SlicedBatch {
    const Context &whole; // context of the batch
    BatchRows &rows;      // cut into slices
    LayerWatcher *layers;
    uint32_t alone, end; // first group with requested rows only; end of the groups
    Runner::Outputs out;
    bool joins_stream; // moves the stream of all rows to its place in the whole batch
};

// Runs the slices of a session's batches: one is computed while another is exchanged.
class SliceRunner {
public:
    struct Destroy {
        void operator()(SliceRunner *runner) const { runner->destroy(); }
    };
    using Owned = std::unique_ptr<SliceRunner, Destroy>;

    const Slicing &slicing() const { return slicing_; }
    // Returns ok, or a failure of this process, which the others only learn later.
    virtual Status run(const SlicedBatch &batch, Failure *failure) = 0;

protected:
    explicit SliceRunner(const Slicing &slicing) : slicing_(slicing) {}
    ~SliceRunner() = default;

private:
    virtual void destroy() = 0; // frees itself

    const Slicing slicing_;
};

// A named number that must be equal in all processes.
struct Option {
    const char *name;
    uint64_t value;
};

// Arguments `own`: the previous result of this process.
class Peers {
public:
    // Begins a call that all make, with the checksum `what`. Returns ok if all are ok, else the
    // failure of the first one that failed.
    virtual Status begin(uint32_t what, Status own, Failure *failure) = 0;
    // Sends a message with the status only.
    virtual Status agree(Status own, Failure *failure) = 0;
    // Ends a call with the same result in all processes.
    virtual void end(Status all) = 0;
    // Returns whether all know that the call has failed: no more messages follow.
    virtual bool has_failed() const = 0;
    // Fails without a message to report it in: no further call succeeds.
    virtual Status give_up(Status own, Failure *failure) = 0;
    // Multiplies the timeout of the following messages; 1: as in the options.
    virtual void be_patient(uint32_t times) = 0;

    // Begins a call that compares numbers.
    virtual Status compare(const Option *options, size_t n, Status own, Failure *failure) = 0;
    // Replaces *n by the least of all; *agreed: all have it.
    virtual Status find_least(uint64_t *n, bool *agreed, Failure *failure) = 0;

    // Completes the columns of rows.
    virtual Status exchange(const Context &c, const op::AllGather &s, Failure *failure) = 0;
    // Replaces it when this process has failed and still owes the others a message.
    virtual Status exchange_failure(const Context &c, const op::AllGather &s, Status own,
                                    Failure *failure) = 0;

    // Returns null if batches of at most n_batch rows are never cut. Throws std::bad_alloc.
    virtual SliceRunner::Owned make_slice_runner(const Ref<Host> &host, const Graph &graph,
                                                 uint32_t n_batch) = 0;

protected:
    ~Peers() = default;
};

} // namespace ggufx::model
