// Finds the rows of tensors that the operations of a rank's graph multiply by, and their positions
// in a rank's file.
// SPDX-License-Identifier: MIT
#pragma once

#include "distributed/rank_file.hpp"
#include "graph/graph.hpp"

namespace ggufx::model {

struct TensorRows {
    size_t tensor = 0;
    RowRange rows;
};

// Returns row ranges by tensor, in order, disjoint and not adjacent: rows of weights that
// operations read, and all rows where read_whole [tensors] is set. An unused tensor keeps its first
// row, since a tensor cannot have none. Throws std::bad_alloc.
Vector<TensorRows> rows_of_rank(const Graph &graph, const gguf::File &file,
                                const Vector<uint8_t> &read_whole);

// Binds the data of all weights that operations read. Throws split: rows are missing in the file.
void bind_rows(Graph &graph, const gguf::File &file, const RankFile &part);

} // namespace ggufx::model
