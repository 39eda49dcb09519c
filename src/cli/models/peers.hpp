// Processes of a group's ranks on the same machine. A failing group kills ranks that are stopped;
// otherwise the launcher would wait for them forever.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"

#include <vector>

namespace ggufx::cli {

class Peers {
public:
    // Collective: all ranks must call it.
    void gather(const ggufx_group &group, uint32_t timeout_ms);
    // Kills ranks on this machine whose processes are stopped; after a failure no rank continues.
    void end_stopped() const;

private:
    // Identifies a process; the start time detects a reused pid.
    struct Place {
        char machine[96]; // boot id and pid namespace
        int64_t pid;
        uint64_t start;
    };
    static Place own_place();

    std::vector<Place> places_; // [size]
    uint32_t rank_ = 0;
};

} // namespace ggufx::cli
