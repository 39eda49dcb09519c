/*
 * What the tests of devices share: the fake one and its control, weights there and here, products of
 * both side by side.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TESTS_DEVICE_FIXTURE_H
#define GGUFX_TESTS_DEVICE_FIXTURE_H

#include "../unit/matmul_fixture.h"
#include "fake.h"

#include <stdlib.h>
#include <string.h>

/* The plug-in of this program's first argument (libggufx-fake.so); its control as at the start. */
void use_fake(const char *path);
extern fake_control *fake;
extern const char *fake_path;
void reset_fake(void);

ggufx_device_options fake_options(uint32_t flags);
ggufx_device *open_fake(const ggufx_runtime *rt, uint32_t flags);

/* Weights that an encoder made of random values, so that results are numbers; of types without one
 * random bytes. */
matrix quantized_matrix(const ggufx_runtime *rt, uint32_t type, uint64_t n_rows, uint64_t n_cols,
                        uint64_t stride);

/* Types that can be multiplied, ascending. */
extern uint32_t multiplied_types[64];
extern size_t n_multiplied_types;

ggufx_tensor *upload(const ggufx_device *device, const ggufx_tensor *w);

/* Columns `n` at once under `flags`: the bits of `there` are those of `here`, and the device has
 * launched something for them. */
void assert_same_product(const ggufx_runtime *rt, const ggufx_device *device,
                         const ggufx_tensor *there, const ggufx_tensor *here, size_t n,
                         uint32_t flags);

uint64_t launches_of(const ggufx_device *device);

/* A runtime with a fake device; everything is given back when it ends. */
typedef struct fake_host {
    ggufx_runtime *rt;
    ggufx_device *device;
} fake_host;
fake_host begin_fake(uint32_t flags);
void end_fake(fake_host *host);

#endif
