// Memory-related properties of a model with any architecture: its graph, if there is one. Otherwise
// an estimate as a llama model of that shape, by the standard keys.
// SPDX-License-Identifier: MIT
#pragma once

#include "distributed/rank_graph.hpp"

namespace ggufx::model {

struct Outline {
    Graph graph;    // without operations if there is no graph
    bool has_graph; // this library can run it
    uint64_t model_bytes;
    Roles roles; // for the file's tensors; empty without a graph
};

// Reads the outline; with `ranks`, of one rank's part. Throws Error: the errors of
// build_rank_graph without data; shape (no vocabulary); unsupported (a rank of a model without a
// graph).
Outline read_outline(const gguf::File &file, const RankOptions &ranks = {});

} // namespace ggufx::model
