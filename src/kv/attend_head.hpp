// One query head over the tokens it sees: the arithmetic of README.md, apart from threads.
// SPDX-License-Identifier: MIT
#pragma once

#include "kv/state.hpp"

namespace ggufx::kv {

struct Head {
    const Cache::State *state;
    const Track *track;
    const float *q;
    uint32_t kv_head;
    uint64_t n_visible; // the first n tokens of the track
    float scale;
};

// Writes head_dim_v floats and the lse. Runs under CanonicalFp.
void attend_head(const Head &head, float *out, float *lse);

} // namespace ggufx::kv
