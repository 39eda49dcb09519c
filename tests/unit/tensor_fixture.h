/*
 * Wrapped memory and what tensors say of themselves, for the tests of tensors.
 * SPDX-License-Identifier: MIT
 */
#ifndef TENSOR_FIXTURE_H
#define TENSOR_FIXTURE_H

#include "file_fixture.h"

ggufx_tensor_facts facts_of(const ggufx_tensor *t);
/* A destroy callback that adds one to the int at user. */
void count_one(void *user);
/* A float as files hold it: little-endian, on any host. */
void put_le(float *to, float value);
/* f32 [4][3][2], values 100 * i2 + 10 * i1 + i0, rows `stride` floats apart */
void fill(float *x, size_t stride);
/* That as a tensor; adds one to *destroyed when it goes. */
ggufx_tensor *wrap(const float *x, uint64_t stride, int *destroyed);

#endif
