// A communicator of the host (include/ggufx/group.h) as the core wants it.
// SPDX-License-Identifier: MIT
#pragma once

#include "abi/options.hpp"
#include "model/group/group.hpp"
#include "model/model.hpp"

#include <ggufx/group.h>
#include <new>

namespace ggufx::abi {

// Owns the host's struct: destroy(user) runs when it goes.
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

// Throws argument: of more than kMostRanks, speeds out of their range.
void check_ranks(const model::RankOptions &ranks, const char *where);

// What the options of a model say of a group, until it is the model's; none: nothing. What was given
// is destroyed also where something of it is refused.
class GroupImport {
public:
    explicit GroupImport(const ggufx_group_options *given) : given_(given) {}
    ~GroupImport();
    GroupImport(const GroupImport &) = delete;
    GroupImport &operator=(const GroupImport &) = delete;

    // The group, or null. Throws.
    HostGroup *make(const Host &host);
    model::RankOptions rank_options() const { return rank_options_; }

private:
    const ggufx_group_options *given_;
    bool is_taken_ = false;
    model::RankOptions rank_options_;
};

// What all ranks of a group do and do not talk of, all along or here and there: one that has no memory
// for it ends the group (null: there is none), or the others would wait, or go on without it.
template <class Fn> auto ends_group(model::RankGroup *ranks, const Fn &fn) {
    try {
        return fn();
    } catch (const std::bad_alloc &) {
        Failure why = {};
        (void)set_failure(&why, Status::memory, {}, "a rank has no memory left");
        if (ranks) (void)ranks->give_up(Status::memory, &why);
        throw;
    }
}

} // namespace ggufx::abi
