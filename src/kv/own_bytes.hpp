// What a snapshot has of a block of which a sequence holds a part: the other slots may hold tokens
// that were cut, or another sequence's, and are written as zeros, which fresh blocks have there.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/snapshot_io.hpp"
#include "kv/state.hpp"

namespace ggufx::kv {

// Slots of a block that pages of the track hold; bit t: slot t.
uint64_t held_slots(const Track &track, const Block &block);

// The bytes of all heads of a block, and its positions, with nothing but those of these slots.
void write_slots(SnapshotOutput &out, const Config &config, const Layer &layer, const Block &block,
                 uint64_t slots);

} // namespace ggufx::kv
