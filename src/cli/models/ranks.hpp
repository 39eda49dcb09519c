// The tool as one rank of a group: what --group names, by a plug-in that is loaded then.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/api.hpp"
#include "floor/command_line.hpp"

namespace ggufx::cli {

// ms for a message of another rank: with what mpirun takes to end, all are gone within 10 s.
constexpr uint32_t kAnswerWithin = 7000;

// What --group says, and in a rank the group.
struct GroupChoice {
    std::string name;    // "mpi"; empty: none
    std::string weights; // "auto", "3,1"; empty: all the same
    bool by_layers = false;
    ggufx_group group = {};
    std::vector<uint32_t> speeds; // of the ranks; empty: all the same

    bool is_set() const { return !name.empty(); }
    bool is_first() const { return group.rank == 0; } // or the only one
    uint32_t n_ranks() const { return is_set() ? group.size : 1; }
};

// --group, --weights and --pipeline.
void add_group_options(Command &sub, GroupChoice &choice);

// Runs a verb on `model`, with --group as a rank, which may be given other globals: the first one writes
// what the verb writes, the others nothing. A model named as a file of one of so many ranks becomes the
// rank's own. A failure of one rank ends all of them, told by the first rank that is left; does not
// return then.
using RankVerb = std::function<int(const Globals &)>;
int run_as_rank(const Globals &globals, GroupChoice &choice, std::string &model,
                const RankVerb &verb);

// Whether it is this rank that tells of a failure: the first one that is left.
bool tells_of(const GroupChoice &choice, const Failure &failure);

// Standard input is one rank's: `path` must not be "-" in a group.
void refuse_stdin(const GroupChoice &choice, const std::string &path);

} // namespace ggufx::cli
