// Which rows of which tensors the steps of a rank's graph multiply by; where they stand in a file that
// has no others.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/graph/graph.hpp"
#include "model/group/rank_file.hpp"

namespace ggufx::model {

struct TensorRows {
    size_t tensor = 0;
    RowRange rows;
};

// By tensors, in order, ranges of one apart from each other: of weights that steps read, and all rows
// where read_whole [tensors] says so. Of a tensor that the rank reads nothing of the first row, since
// one without rows is none. Throws std::bad_alloc.
Vector<TensorRows> rows_of_rank(const Graph &graph, const gguf::File &file,
                                const Vector<uint8_t> &read_whole);

// The data of all weights that steps read. Throws split: one has rows that the file has not.
void bind_rows(Graph &graph, const gguf::File &file, const RankFile &part);

} // namespace ggufx::model
