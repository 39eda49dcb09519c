/*
 * Shared by the tests of samplers.
 * SPDX-License-Identifier: MIT
 */
#ifndef SAMPLER_FIXTURE_H
#define SAMPLER_FIXTURE_H

#include "model_fixture.h"

enum { N = 8 };

/* Probabilities 0.4 0.3 0.15 0.1 0.05 and three of about 0, shuffled. */
extern const float logits[N];

ggufx_sampler *new_sampler(fixture *f, float temperature, uint32_t top_k, float top_p, float min_p,
                           uint64_t seed);

#endif
