// A communicator of the host (include/ggufx/group.h) as the core wants it.
// SPDX-License-Identifier: MIT
#pragma once

#include "abi/options.hpp"
#include "model/group/group.hpp"
#include "model/model.hpp"

#include <ggufx/group.h>

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
    uint64_t checksum() const; // of what all ranks must have been given

private:
    const ggufx_group_options *given_;
    bool is_taken_ = false;
    model::RankOptions rank_options_;
};

} // namespace ggufx::abi
