/*
 * Implementation of sampler_fixture.h.
 * SPDX-License-Identifier: MIT
 */
#include "sampler_fixture.h"

const float logits[N] = {-1.8971200f, -40.0f,      -0.9162907f, -2.3025851f,
                         -41.0f,      -1.2039728f, -2.9957323f, -42.0f};

ggufx_sampler *new_sampler(fixture *f, float temperature, uint32_t top_k, float top_p, float min_p,
                           uint64_t seed) {
    ggufx_sampler_options options = {.struct_size = sizeof options};
    ggufx_sampler *sampler = NULL;
    options.temperature = temperature;
    options.top_k = top_k;
    options.top_p = top_p;
    options.min_p = min_p;
    options.seed = seed;
    MUST(f, ggufx_sampler_create(&sampler, f->rt, N, &options, &f->error));
    return sampler;
}
