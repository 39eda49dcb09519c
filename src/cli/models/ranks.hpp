// The tool as one rank of a group (--group), with a plugin that is loaded on demand.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"
#include "common/command_line.hpp"

namespace ggufx::cli {

// Timeout in ms for a message of another rank. With the time that mpirun takes to end, all ranks
// are gone within 10 s.
constexpr uint32_t kAnswerWithin = 7000;

// Memory of the weights: words of --weights. automatic: a copy in huge pages where that pays.
enum class Loading { map, copy, huge, automatic, reread };

// The options of --group, and the group itself in a rank.
struct GroupChoice {
    std::string name;    // "mpi"; empty: none
    std::string weights; // "auto", "3,1"; empty: equal
    Loading loading = Loading::map;
    bool by_layers = false;
    ggufx_group group = {};
    std::vector<uint32_t> speeds; // one per rank; empty: equal

    bool is_set() const { return !name.empty(); }
    bool is_first() const { return group.rank == 0; } // or the only rank
    uint32_t n_ranks() const { return is_set() ? group.size : 1; }
    // --weights also has words for loading, which say nothing about shares: moves such a word to
    // `loading`. Throws Failure for shares without --group.
    void take_loading();
    int32_t io() const { return loading == Loading::copy ? GGUFX_IO_READ : GGUFX_IO_AUTO; }
};

// --group and --pipeline; --weights is one of the model options.
void add_group_options(Command &sub, GroupChoice &choice);

// Runs a command on `model`, with --group as one rank.
// - The first rank writes the output of the command; the others get globals that discard it.
// - If `model` is named like the file of one rank, each rank opens its own file.
// - If a rank fails, all ranks end and the first remaining rank reports it; does not return then.
using RankVerb = std::function<int(const Globals &)>;
int run_as_rank(const Globals &globals, GroupChoice &choice, std::string &model,
                const RankVerb &verb);

// Returns whether this rank reports the failure: the first remaining rank does.
bool tells_of(const GroupChoice &choice, const Failure &failure);

// Throws Failure if `path` is "-" in a group: only one rank has standard input.
void refuse_stdin(const GroupChoice &choice, const std::string &path);

} // namespace ggufx::cli
