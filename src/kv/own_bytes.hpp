// Snapshot bytes of a block of which a sequence holds a part. Other slots may hold tokens that were
// cut, or those of another sequence; they are written as zeros, as in new blocks.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/snapshot_io.hpp"
#include "kv/state.hpp"

namespace ggufx::kv {

// Returns the slots of a block that pages of the track hold; bit t: slot t.
uint64_t held_slots(const Track &track, const Block &block);

// Writes the positions and all heads of a block, with zeros for all other slots.
void write_slots(SnapshotOutput &out, const Config &config, const Layer &layer, const Block &block,
                 uint64_t slots);

} // namespace ggufx::kv
