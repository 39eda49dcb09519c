/*
 * Shared by the tests of tensors: wrapped memory and the facts of tensors.
 * SPDX-License-Identifier: MIT
 */
#ifndef TENSOR_FIXTURE_H
#define TENSOR_FIXTURE_H

#include "file_fixture.h"

ggufx_tensor_facts facts_of(const ggufx_tensor *t);
/* A destroy callback that adds one to the int at user. */
void count_one(void *user);
/* Stores a float as in files: little-endian, on any host. */
void put_le(float *to, float value);
/* Fills f32 [4][3][2], values 100 * i2 + 10 * i1 + i0, rows `stride` floats apart. */
void fill(float *x, size_t stride);
/* Wraps it as a tensor; the destroy callback adds one to *destroyed. */
ggufx_tensor *wrap(const float *x, uint64_t stride, int *destroyed);

#endif
