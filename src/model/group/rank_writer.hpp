// The file of one rank of a group: the keys of the model's, and of its tensors the rows that the rank
// reads. docs/file-formats.md, "Files of ranks".
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/writer.hpp"
#include "model/group/rank_file.hpp"

namespace ggufx::model {

// Adds the keys and tensors of a rank's file of `file`, whose data the writer then reads. Throws what
// build_graph does, what Writer does, unsupported (no data, a file of a rank, no language model); then
// it has changed nothing.
void copy_rank(gguf::Writer &writer, const Ref<gguf::File> &file, const RankOptions &ranks);

} // namespace ggufx::model
