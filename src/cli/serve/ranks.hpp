// Calls in a group of ranks: the first rank, which has the sockets, broadcasts each call before
// it makes it; the others repeat the call. A rank that waits for a call cannot detect a lost rank.
// All ranks therefore pass a heartbeat barrier about every second.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/tool.hpp"
#include "serve/rank_step.hpp"

namespace ggufx::cli {

class RankSession;

// Error: the group has lost a rank or is out of step, and nothing more can be computed.
struct RanksLost : Failure, DecodeBackend::Lost {
    using Failure::Failure;
};

// Barrier after all ranks have created their sessions; called by all ranks.
void meet_at_start(const ggufx_group &group);

// Broadcasts the calls of the first rank.
class RankBroadcaster {
public:
    explicit RankBroadcaster(const ggufx_group &group) : group_(group) {}
    ~RankBroadcaster(); // sends the end step if any step was sent
    RankBroadcaster(const RankBroadcaster &) = delete;
    RankBroadcaster &operator=(const RankBroadcaster &) = delete;

    // Throws RanksLost; after the first failure always the same one.
    void tell(const RankStep &step);
    void beat(); // sends a heartbeat after a second without a step
    bool is_lost() const { return lost_.has_value(); }
    // Records the loss of the group after a session call failed with `why`, and throws RanksLost.
    [[noreturn]] void lose(const ggufx_error &why);

private:
    void send(const RankStep &step);

    const ggufx_group group_;
    StepBytes bytes_;
    double last_step_ = 0; // time of the last step in seconds
    std::optional<RanksLost> lost_;
};

// Main loop of the other ranks: executes broadcast calls until the end step. Throws RanksLost.
void follow(const ggufx_group &group, RankSession &session);

} // namespace ggufx::cli
