// Guard of memory-mapped weights: if their file was truncated or cannot be read, an access reads
// zeros, where SIGBUS would end the process. Linux; elsewhere nothing is guarded.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

namespace ggufx::cli {

class MappingGuard {
public:
    MappingGuard(); // before the files are opened
    ~MappingGuard();
    MappingGuard(const MappingGuard &) = delete;
    MappingGuard &operator=(const MappingGuard &) = delete;

    // Guards the read-only file mappings that were made since the constructor. One guard at a time.
    void begin();
    // Whether an access was out of the file since then. Any thread.
    static bool has_lost_data();

    struct Range {
        uintptr_t begin, end;
    };

private:
    std::vector<Range> ranges_; // until begin(): mappings of others
};

} // namespace ggufx::cli
