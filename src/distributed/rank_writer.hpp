// Writes the file of one rank of a group: the keys of the model file, and the rows of its tensors
// that the rank reads. docs/file-formats.md, "Files of ranks".
// SPDX-License-Identifier: MIT
#pragma once

#include "distributed/rank_file.hpp"
#include "gguf/writer.hpp"

namespace ggufx::model {

// Adds the keys and tensors of a rank's file, whose data the writer reads from `file` later. Throws
// the errors of build_graph and Writer, and unsupported (no data, a rank's file, no language
// model); then nothing has changed.
void copy_rank(gguf::Writer &writer, const Ref<gguf::File> &file, const RankOptions &ranks);

} // namespace ggufx::model
