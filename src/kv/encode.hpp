// Filling pages: tokens of an append into float pages, plain pages into encoded ones.
// SPDX-License-Identifier: MIT
#pragma once

#include "kv/state.hpp"

namespace ggufx::kv {

struct Encoder {
    const Cache::State *state;
    const Layer *layer;
    float *calibration; // of the track, or null

    // Slots slot .. end - 1 of one head of a float page, from the source's tokens from token0 on.
    void store_head(Block &to, const Source &source, uint32_t slot, uint32_t end, size_t token0,
                    uint32_t head) const;
    // Slots first .. end - 1 of one head of an encoded block, as a plain one holds them.
    void encode_head(Block &to, const Block &plain, uint32_t first, uint32_t end, uint32_t head,
                     const Scratch &scratch) const;
    void encode_side(Block &to, const Block &plain, uint32_t first, uint32_t end, Side side,
                     uint32_t head, const Scratch &scratch) const;
};

// Nanoseconds of encoding one token, about.
uint64_t encode_cost(const Cache::State &state, const Layer &layer);

} // namespace ggufx::kv
