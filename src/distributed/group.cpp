// SPDX-License-Identifier: MIT
#include "distributed/group.hpp"

#include "graph/partition.hpp"

#include <algorithm>
#include <inttypes.h>
#include <string.h>

namespace ggufx::model {

RankGroup::~RankGroup() {
    if (options_.hooks.destroy) options_.hooks.destroy(options_.hooks.user);
}

uint32_t RankGroup::timeout() const {
    const uint64_t ms = is_warm_ ? options_.timeout_ms : options_.start_timeout_ms;
    return static_cast<uint32_t>(std::min<uint64_t>(ms * patience_, UINT32_MAX));
}

RankGroup::Header RankGroup::header(Status own) const {
    return {call_, step_, static_cast<int32_t>(own), what_};
}

// Aborts the communicator: other ranks may still wait for this one.
Status RankGroup::died(Status status, Failure *failure) {
    Failure why = {};
    (void)set_failure(&why, status, {}, "it failed without a message");
    if (!is_dead_) options_.hooks.abort(options_.hooks.user, failure ? *failure : why);
    is_dead_ = has_failed_ = true;
    return status;
}

// Checks that all but the status of a header equals rank 0's. All ranks see the same headers, so no
// message is needed.
Status RankGroup::look(const Header &theirs, const Header &first, uint32_t rank, Failure *failure) {
    const bool same_place = theirs.call == first.call && theirs.step == first.step;
    if (same_place && theirs.what == first.what) return Status::ok;
    is_dead_ = has_failed_ = true;
    if (same_place)
        return set_failure(failure, Status::mismatch, {.index = rank},
                           "rank %" PRIu32
                           " makes another call than rank 0: other tokens, options or order",
                           rank);
    return set_failure(failure, Status::mismatch, {.index = rank},
                       "rank %" PRIu32 " is at message %" PRIu32 " of call %" PRIu32
                       ", rank 0 at %" PRIu32 " of %" PRIu32,
                       rank, theirs.step, theirs.call, first.step, first.call);
}

// Broadcasts the failure of a rank to all, including itself. That rank sends its own message if it
// has one for this status.
Status RankGroup::share_failure(uint32_t rank, Status own, Failure *failure) {
    Failure shared = {};
    const bool is_own = rank == this->rank();
    if (is_own) (void)set_failure(&shared, own, {}, "it failed without a message");
    if (is_own && failure && failure->status == static_cast<int32_t>(own)) shared = *failure;
    const GroupHooks &hooks = options_.hooks;
    const Status status =
        hooks.broadcast(hooks.user, &shared, sizeof shared, rank, timeout(), failure);
    if (status != Status::ok) return died(status, failure);
    has_failed_ = true;
    if (is_own) return own;
    shared.message[sizeof shared.message - 1] = 0;
    // Untrusted data of another machine: a failure must have a code below 0.
    const auto said = shared.status < 0 ? static_cast<Status>(shared.status) : Status::internal;
    return set_failure(failure, said, at_of(shared), "rank %" PRIu32 ": %s", rank, shared.message);
}

Status RankGroup::all_gather(void *out, void *in, const size_t *n_bytes, const size_t *offsets,
                             Status own, Failure *failure) {
    if (is_dead_)
        return set_failure(failure, Status::state, {}, "the group lost a rank in an earlier call");
    const Header mine = header(own);
    memcpy(in, &mine, sizeof mine);
    const GroupHooks &hooks = options_.hooks;
    Status status = hooks.allgatherv(hooks.user, out, in, n_bytes, offsets, timeout(), failure);
    if (status != Status::ok) return died(status, failure);
    uint32_t failed = size();
    Header first;
    memcpy(&first, static_cast<const uint8_t *>(out) + offsets[0], sizeof first);
    for (uint32_t i = 0; i < size(); i++) {
        Header theirs;
        memcpy(&theirs, static_cast<const uint8_t *>(out) + offsets[i], sizeof theirs);
        status = look(theirs, first, i, failure);
        if (status != Status::ok) return status;
        if (failed == size() && theirs.status != 0) failed = i;
    }
    step_++;
    return failed == size() ? Status::ok : share_failure(failed, own, failure);
}

Status RankGroup::agree(Status own, Failure *failure) {
    Header mine, all[kMostRanks];
    size_t n_bytes[kMostRanks], offsets[kMostRanks];
    for (uint32_t i = 0; i < size(); i++) {
        n_bytes[i] = sizeof(Header);
        offsets[i] = i * sizeof(Header);
    }
    return all_gather(all, &mine, n_bytes, offsets, own, failure);
}

Status RankGroup::begin(uint32_t what, Status own, Failure *failure) {
    call_++;
    step_ = 0;
    what_ = what;
    has_failed_ = false;
    return agree(own, failure);
}

void RankGroup::end(Status all) {
    is_warm_ |= all == Status::ok;
}

Status RankGroup::allgather(void *out, const void *in, size_t n, Failure *failure) {
    if (is_dead_)
        return set_failure(failure, Status::state, {}, "the group lost a rank in an earlier call");
    const GroupHooks &hooks = options_.hooks;
    const Status status = hooks.allgather(hooks.user, out, in, n, timeout(), failure);
    return status == Status::ok ? status : died(status, failure);
}

Status RankGroup::find_least(uint64_t *n, bool *agreed, Failure *failure) {
    uint64_t all[kMostRanks];
    const Status status = allgather(all, n, sizeof *n, failure);
    if (status != Status::ok) return status;
    uint64_t *const end = all + size();
    *n = *std::min_element(all, end);
    *agreed = std::all_of(all, end, [&](uint64_t other) { return other == *n; });
    return status;
}

} // namespace ggufx::model
