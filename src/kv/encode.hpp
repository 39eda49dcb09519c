// Filling pages: tokens from an append, and those that a plain page holds already, into a block.
// SPDX-License-Identifier: MIT
#pragma once

#include "kv/state.hpp"

namespace ggufx::kv {

// Slots first .. slot - 1 come from `from` (a plain block), slot .. end - 1 from the source's
// tokens from token0 on. Writes `to`, which may be `from` when it is plain.
struct Fill {
    Block *to;
    const Block *from;
    uint32_t first, slot, end;
    size_t token0;
};

struct Encoder {
    const Cache::State *state;
    const Layer *layer;
    Source source;

    // One head of K and V of a page.
    void fill_head(const Fill &fill, uint32_t head, const Scratch &scratch) const;
    void fill_side(const Fill &fill, Side side, uint32_t head, const Scratch &scratch) const;
    // The value of a slot as a plain page holds it: rounded to F16.
    void load_slot(const Fill &fill, Side side, uint32_t slot, uint32_t head, float *out) const;
};

// Nanoseconds of encoding one token, about.
uint64_t encode_cost(const Cache::State &state, const Layer &layer);

} // namespace ggufx::kv
