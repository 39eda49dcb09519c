// The processes of a group's ranks, as far as one of them can see the others: who is stopped where the
// others go down is ended, or what started them would wait for it for ever.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/api.hpp"

#include <vector>

namespace ggufx::cli {

class Peers {
public:
    // A call of all ranks.
    void gather(const ggufx_group &group, uint32_t timeout_ms);
    // Ranks whose processes stand still on this machine: whoever of them is to blame, none goes on.
    void end_stopped() const;

private:
    // Where a process is, and which one of those that had its number.
    struct Place {
        char machine[96]; // since when it runs, and the numbers of whose processes
        int64_t pid;
        uint64_t start;
    };
    static Place own_place();

    std::vector<Place> places_; // [size]
    uint32_t rank_ = 0;
};

} // namespace ggufx::cli
