// What a rank has of a program whose layers are dealt (layer_deal.hpp). Made of the whole model's program,
// whatever is in its layers: a slot that is used on both sides of a border between two ranks travels, what
// depends on positions alone each rank computes that wants it. All ranks have the same exchanges.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/group/rank_file.hpp"
#include "model/program/program.hpp"

namespace ggufx::model {

// Leaves of a whole program, which is laid out, what a rank has. layer_vectors [n_layers + 1]: where the
// vectors of each layer begin, and end. Throws std::bad_alloc.
void keep_stage(Program &program, const RankOptions &ranks, const Vector<uint64_t> &layer_vectors);

} // namespace ggufx::model
