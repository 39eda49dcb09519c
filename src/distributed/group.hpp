// The ranks that run one model together, by a communicator of the host (include/ggufx/group.h). All
// make the same calls with the same arguments. A rank that fails alone reports it in its next
// message to the others, and all fail with its message. If the communicator fails, the group is
// dead: the state of other ranks is unknown.
// SPDX-License-Identifier: MIT
#pragma once

#include "distributed/all_gather.hpp"
#include "run/peers.hpp"

namespace ggufx::model {

// Internal mirror of ggufx_group. Hooks fill in a failure when there is one, else leave it
// unchanged.
struct GroupHooks {
    void *user = nullptr;
    uint32_t rank = 0, size = 1;
    Status (*allgather)(void *user, void *out, const void *in, size_t n_bytes, uint32_t timeout_ms,
                        Failure *failure) = nullptr;
    Status (*allgatherv)(void *user, void *out, const void *in, const size_t *n_bytes,
                         const size_t *offsets, uint32_t timeout_ms, Failure *failure) = nullptr;
    Status (*broadcast)(void *user, void *data, size_t n_bytes, uint32_t root, uint32_t timeout_ms,
                        Failure *failure) = nullptr;
    Status (*barrier)(void *user, uint32_t timeout_ms, Failure *failure) = nullptr;
    void (*abort)(void *user, const Failure &why) = nullptr;
    void (*destroy)(void *user) = nullptr; // may be null
};

struct GroupOptions {
    GroupHooks hooks;
    uint32_t timeout_ms = 8000; // per message
    // until the first call has ended: files may not be in the page cache
    uint32_t start_timeout_ms = 600000;
    bool is_one_machine = false; // messages cost almost nothing
};

class RankGroup final : public Peers {
public:
    // Header of each message.
    struct Header {
        uint32_t call, step; // index of the call in the group; index of the message in the call
        int32_t status;      // status of the rank: not ok if it fails, then without data
        uint32_t what;       // a checksum of the call's arguments
    };

    // Takes ownership of the hooks: the destructor calls destroy.
    explicit RankGroup(const GroupOptions &options) : options_(options) {}
    ~RankGroup();
    RankGroup(const RankGroup &) = delete;
    RankGroup &operator=(const RankGroup &) = delete;

    uint32_t rank() const { return options_.hooks.rank; }
    uint32_t size() const { return options_.hooks.size; }
    const GroupHooks &hooks() const { return options_.hooks; }
    bool is_one_machine() const { return options_.is_one_machine; }

    // Allocates memory for the all-gathers of a graph that the ranks run. Throws std::bad_alloc.
    void prepare(const Ref<Host> &host, const Graph &graph) {
        memory_ = AllGatherMemory(host, graph, size());
    }
    const AllGatherMemory &memory() const { return memory_; }

    Status begin(uint32_t what, Status own, Failure *failure) override;
    Status agree(Status own, Failure *failure) override;
    void end(Status all) override;
    bool has_failed() const override { return has_failed_; }
    Status give_up(Status own, Failure *failure) override { return died(own, failure); }
    void be_patient(uint32_t times) override { patience_ = times; }

    Status compare(const Option *options, size_t n, Status own, Failure *failure) override;
    Status find_least(uint64_t *n, bool *agreed, Failure *failure) override;

    Status exchange(const Context &c, const op::AllGather &s, Failure *failure) override;
    Status exchange_failure(const Context &c, const op::AllGather &s, Status own,
                            Failure *failure) override;
    // Exchanges on a thread outside the executor, which may be busy.
    Status exchange_aside(const Context &c, const op::AllGather &s, Failure *failure);

    SliceRunner::Owned make_slice_runner(const Ref<Host> &host, const Graph &graph,
                                         uint32_t n_batch) override;

    // Sends a message in a call: [size] segments of out, n_bytes each, at offsets; `in` is the own
    // one. Both begin with space for a header.
    Status all_gather(void *out, void *in, const size_t *n_bytes, const size_t *offsets, Status own,
                      Failure *failure);
    // Sends n bytes from every rank to all, outside of calls.
    Status allgather(void *out, const void *in, size_t n, Failure *failure);
    // Broadcasts the message of a failed rank, after all know that it failed. own: this rank's
    // status.
    Status share_failure(uint32_t rank, Status own, Failure *failure);

private:
    Status look(const Header &theirs, const Header &first, uint32_t rank, Failure *failure);
    Status died(Status status, Failure *failure);
    Header header(Status own) const;
    uint32_t timeout() const;

    const GroupOptions options_;
    AllGatherMemory memory_;
    bool is_dead_ = false, is_warm_ = false, has_failed_ = false;
    uint32_t call_ = 0, step_ = 0, what_ = 0, patience_ = 1;
};

} // namespace ggufx::model
