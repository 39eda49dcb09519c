// Encoder: checks appended tokens, stores them in float pages, and encodes plain pages.
// SPDX-License-Identifier: MIT
#pragma once

#include "kv/state.hpp"

namespace ggufx::kv {

struct Encoder {
    const Cache::State *state;
    const Layer *layer;
    float *calibration; // calibration of the track, or null

    // Stores source tokens from token0 on in slots slot .. end - 1 of one head of a float page.
    void store_head(Block &to, const Source &source, uint32_t slot, uint32_t end, size_t token0,
                    uint32_t head) const;
    // Encodes slots first .. end - 1 of one head of a plain block, after set_origin() of `to`.
    void encode_head(Block &to, const Block &plain, uint32_t first, uint32_t end, uint32_t head,
                     const Scratch &scratch) const;
    void encode_side(Block &to, const Block &plain, uint32_t first, uint32_t end, Side side,
                     uint32_t head, const Scratch &scratch) const;
};

// Checks that the streams of a layer can hold all values of n source tokens. Error: VALUE.
Status check_all_values(const Cache::State &state, const Layer &layer, const Source &source,
                        size_t n_tokens, Failure *failure);
// Returns where values from index n on begin; null stays null.
const void *advance(const void *data, SourceType type, size_t n);
// Returns the approximate time to encode one token, in nanoseconds.
uint64_t encode_cost(const Cache::State &state, const Layer &layer);

} // namespace ggufx::kv
