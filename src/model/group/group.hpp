// The ranks that run one model together, by a communicator of the host (include/ggufx/group.h). All
// make the same calls with the same arguments; a rank that fails on its own says so in the next
// message that it owes the others, and all of them fail with its text. When the communicator fails
// the group is dead: nothing is known of the others any more.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

namespace ggufx::model {

// Internal mirror of ggufx_group. A failure is filled in when there is one, else left as it was.
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
    uint32_t timeout_ms = 8000;         // of a message
    uint32_t start_timeout_ms = 600000; // until the first call has ended: files may be cold
    bool is_one_machine = false;        // messages cost next to nothing
};

class RankGroup {
public:
    // What each message begins with.
    struct Header {
        uint32_t call, step; // of the group's life; of the call
        int32_t status;      // of the rank: not ok where it owes the message and nothing else
        uint32_t what;       // a checksum of what the call is about
    };

    // Takes over the hooks: destroy runs when it goes.
    explicit RankGroup(const GroupOptions &options) : options_(options) {}
    ~RankGroup();
    RankGroup(const RankGroup &) = delete;
    RankGroup &operator=(const RankGroup &) = delete;

    uint32_t rank() const { return options_.hooks.rank; }
    uint32_t size() const { return options_.hooks.size; }
    const GroupHooks &hooks() const { return options_.hooks; }
    bool is_one_machine() const { return options_.is_one_machine; }

    // Begin a call that all ranks make, about `what`; own: what this rank has come to before.
    // Ok where all are, else the failure of the first rank that failed.
    Status begin(uint32_t what, Status own, Failure *failure);
    // A message in a call: [size] segments of out, n_bytes each, at offsets; `in` is the own one.
    // Both begin with room for a header.
    Status all_gather(void *out, void *in, const size_t *n_bytes, const size_t *offsets, Status own,
                      Failure *failure);
    // Whether all ranks know that the call has failed: no message is owed any more.
    bool has_failed() const { return has_failed_; }
    // A message about nothing but what each has come to.
    Status agree(Status own, Failure *failure);
    // The end of a call that all have ended alike.
    void end(Status all);
    // How many times as long a message may take from here on; 1: as the options say.
    void be_patient(uint32_t times) { patience_ = times; }
    // This rank has failed where it owes no message that could say so: the group is dead.
    Status give_up(Status own, Failure *failure) { return died(own, failure); }

    // Every rank's n bytes to all, outside of calls.
    Status allgather(void *out, const void *in, size_t n, Failure *failure);
    // A rank has failed, which all know: all get its text. own: what this one has come to.
    Status share_failure(uint32_t rank, Status own, Failure *failure);

private:
    Status look(const Header &theirs, const Header &first, uint32_t rank, Failure *failure);
    Status died(Status status, Failure *failure);
    Header header(Status own) const;
    uint32_t timeout() const;

    const GroupOptions options_;
    bool is_dead_ = false, is_warm_ = false, has_failed_ = false;
    uint32_t call_ = 0, step_ = 0, what_ = 0, patience_ = 1;
};

} // namespace ggufx::model
