// One query head over the tokens it sees: the arithmetic of README.md, apart from threads.
// SPDX-License-Identifier: MIT
#pragma once

#include "kv/state.hpp"

namespace ggufx::kv {

struct Head {
    const Cache::State *state;
    const Layer *layer;
    const Track *track;
    const float *q;
    uint32_t kv_head;
    int64_t after, until; // positions of visible tokens: after < position <= until
    float scale;
};

// Writes head_dim_v floats and the lse. Runs under CanonicalFp.
void attend_head(const Head &head, float *out, float *lse);

} // namespace ggufx::kv
