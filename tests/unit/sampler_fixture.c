/*
 * Implementation of sampler_fixture.h.
 * SPDX-License-Identifier: MIT
 */
#include "sampler_fixture.h"

const float logits[N] = {-1.8971200f, -40.0f,      -0.9162907f, -2.3025851f,
                         -41.0f,      -1.2039728f, -2.9957323f, -42.0f};

ggufx_sampler *new_sampler(fixture *f, float temperature, uint32_t top_k, float top_p, float min_p,
                           uint64_t seed) {
    ggufx_sampler *sampler = NULL;
    MUST(f, ggufx_sampler_create(&sampler, f->rt, N, seed, &f->error));
    MUST(f, ggufx_sampler_add_top_k(sampler, top_k, &f->error));
    MUST(f, ggufx_sampler_add_top_p(sampler, top_p, &f->error));
    MUST(f, ggufx_sampler_add_min_p(sampler, min_p, &f->error));
    MUST(f, ggufx_sampler_add_temperature(sampler, temperature, NULL, &f->error));
    return sampler;
}
