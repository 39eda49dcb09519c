// Adapter from a host's communicator (include/ggufx/group.h) to model::RankGroup.
// SPDX-License-Identifier: MIT
#pragma once

#include "abi/options.hpp"
#include "distributed/group.hpp"
#include "distributed/rank_graph.hpp"

#include <ggufx/group.h>
#include <new>

namespace ggufx::abi {

// Owns the host's communicator: the destructor calls destroy(user).
class HostGroup {
public:
    explicit HostGroup(const ggufx_group &hooks, const ggufx_group_options &options);
    HostGroup(const HostGroup &) = delete;
    HostGroup &operator=(const HostGroup &) = delete;
    model::RankGroup &ranks() { return ranks_; }

private:
    const ggufx_group hooks_;
    model::RankGroup ranks_; // calls hooks_
};

// Throws argument if the rank, the number of ranks or a speed is out of range.
void check_ranks(const model::RankOptions &ranks, const char *where);

// Group options of a model until the model takes the group; null for none. If they are refused, the
// destructor still aborts and destroys the host's group.
class GroupImport {
public:
    explicit GroupImport(const ggufx_group_options *given) : given_(given) {}
    ~GroupImport();
    GroupImport(const GroupImport &) = delete;
    GroupImport &operator=(const GroupImport &) = delete;

    // Returns the group, or null. Throws.
    HostGroup *make(const Host &host);
    model::RankOptions rank_options() const { return rank_options_; }

private:
    const ggufx_group_options *given_;
    bool is_taken_ = false;
    model::RankOptions rank_options_;
};

// Runs local work that all ranks of a group do without messages. A rank without memory for it
// aborts the group, because the others would wait or continue without it. peers null: no group.
template <class Fn> auto ends_group(model::Peers *peers, const Fn &fn) {
    try {
        return fn();
    } catch (const std::bad_alloc &) {
        Failure why = {};
        (void)set_failure(&why, Status::memory, {}, "a rank has no memory left");
        if (peers) (void)peers->give_up(Status::memory, &why);
        throw;
    }
}

} // namespace ggufx::abi
