// Graphs of one rank of a group or of a process alone, from whole files and files of ranks. Throw the
// errors of build_graph, and mismatch.
// SPDX-License-Identifier: MIT
#pragma once

#include "distributed/rank_file.hpp"
#include "run/model.hpp"

namespace ggufx::model {

// Ranks for a file with the rows of one rank.
// - given: the ranks must match the file, else mismatch;
// - of_file: takes the ranks of the file, for inspection;
// - of_whole: the graph of the whole model, without weights that could run.
enum class RankChoice : uint8_t { given, of_file, of_whole };

Graph build_rank_graph(const gguf::File &file, const RankOptions &ranks,
                       const BuildOptions &options, RankChoice choice = RankChoice::given);

// Builds the graph of a model; its identity is the same on all ranks.
ModelGraph build_model_graph(const gguf::File &file, const RankOptions &ranks,
                             const BuildOptions &options);

// Returns the role of each tensor in the file's graph. Empty if there is no graph, or it does not
// fit the file: then roles follow from the names. Throws std::bad_alloc.
Roles roles_of(const gguf::File &file);

} // namespace ggufx::model
