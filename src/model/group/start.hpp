// Before ranks run anything together they compare what they have: the library, the file, options.
// What differs is named, on all of them.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/file.hpp"
#include "model/group/group.hpp"
#include "model/group/rank_file.hpp"

namespace ggufx::model {

struct StartFacts {
    const char *version; // of the library
    uint32_t abi;
    uint64_t identity;      // of the model
    uint64_t options;       // a checksum
    const uint32_t *speeds; // of the ranks; null: those of the file, else all the same
    bool by_layers;         // what is dealt to them, else rows
};

// own: what this rank has come to; if that is not ok its failure becomes that of all. Ok where all
// have the same model, some whole, some their own rows of it; else mismatch. Throws std::bad_alloc.
Status compare_starts(RankGroup &ranks, const gguf::File &file, const StartFacts &facts, Status own,
                      Failure *failure);

// Numbers that must be the same on all ranks, by name; own as above.
struct Option {
    const char *name;
    uint64_t value;
};
Status compare_options(RankGroup &ranks, const Option *options, size_t n, Status own,
                       Failure *failure);

} // namespace ggufx::model
