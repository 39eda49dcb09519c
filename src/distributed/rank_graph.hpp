// Graphs of one rank of a group or of a process alone, from whole files and files of ranks. Throw the
// errors of build_graph, and mismatch.
// SPDX-License-Identifier: MIT
#pragma once

#include "distributed/rank_file.hpp"
#include "run/model.hpp"

namespace ggufx::model {

// The ranks of a file of one rank must be equal, else mismatch.
Graph build_rank_graph(const gguf::File &file, const RankOptions &ranks,
                       const BuildOptions &options);
// Takes the ranks of the file, for inspection.
Graph build_file_graph(const gguf::File &file, const BuildOptions &options);
// Builds the graph of a model; its identity is the same on all ranks.
ModelGraph build_model_graph(const gguf::File &file, const RankOptions &ranks,
                             const BuildOptions &options);

// Returns the role of each tensor in the file's graph. Empty if there is no graph, or it does not
// fit the file: then roles follow from the names. Throws std::bad_alloc.
Roles roles_of(const gguf::File &file);

} // namespace ggufx::model
