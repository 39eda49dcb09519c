// Compares library, file and options of all ranks before they run anything together. The error
// names the difference, on all ranks.
// SPDX-License-Identifier: MIT
#pragma once

#include "distributed/group.hpp"
#include "distributed/rank_file.hpp"
#include "gguf/file.hpp"

namespace ggufx::model {

struct StartFacts {
    const char *version; // library version
    uint32_t abi;
    uint64_t identity;      // model identity
    uint64_t options;       // a checksum
    const uint32_t *speeds; // per rank; null: those of the file, else equal speeds
    bool by_layers;         // pipeline parallelism: whole layers; otherwise rows
};

// Compares the ranks. own: this rank's status; a failure becomes that of all. Returns ok if all
// have the same model, as a whole or their own rows of it; else mismatch. Throws std::bad_alloc.
Status compare_starts(RankGroup &ranks, const gguf::File &file, const StartFacts &facts, Status own,
                      Failure *failure);

} // namespace ggufx::model
