// A session of a group's ranks: the first one, which has the sockets, tells each call before it makes
// it, the others make it after it. Who waits for a call has no other way to see that one is lost, so
// about every second all meet.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/tool.hpp"
#include "serve/rank_step.hpp"

namespace ggufx::cli {

class SessionBackend;

// The group has lost a rank, or has come apart: nothing more can be computed.
struct RanksLost : Failure {
    using Failure::Failure;
};

// All ranks have made their sessions; a call of all.
void meet_at_start(const ggufx_group &group);

// The first rank's.
class RankBroadcaster {
public:
    explicit RankBroadcaster(const ggufx_group &group) : group_(group) {}
    ~RankBroadcaster(); // lets the others end, where it has told them anything
    RankBroadcaster(const RankBroadcaster &) = delete;
    RankBroadcaster &operator=(const RankBroadcaster &) = delete;

    // Throws RanksLost: the same one from the first time on.
    void tell(const RankStep &step);
    void beat(); // where nothing was told for a second
    bool is_lost() const { return lost_.has_value(); }
    // What a call of the session has failed with where the group is dead.
    [[noreturn]] void lose(const ggufx_error &why);

private:
    void send(const RankStep &step);

    const ggufx_group group_;
    StepBytes bytes_;
    double told_ = 0; // when, in seconds
    std::optional<RanksLost> lost_;
};

// Another rank's: makes the calls that it is told of, until there are no more. Throws RanksLost.
void follow(const ggufx_group &group, SessionBackend &machine);

} // namespace ggufx::cli
