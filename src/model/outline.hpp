// A model of any architecture, as far as memory depends on it: the graph, where there is one;
// else what a llama of that shape takes, by the names of the format's keys.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/model.hpp"

namespace ggufx::model {

struct Outline {
    Graph graph;    // without operations where there is no graph
    bool has_graph; // this library can run it
    uint64_t model_bytes;
    Roles roles; // of the file's tensors; empty without a graph
};

// Of a rank of a group: its part. Throws Error: what build_graph does, without data; shape (no
// vocabulary); unsupported (a rank of what has no graph).
Outline read_outline(const gguf::File &file, const RankOptions &ranks = {});

} // namespace ggufx::model
