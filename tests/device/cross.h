/*
 * The whole cross of sizes on a device: every type with rows and columns as in models, each result beside
 * the processor's; a line of the numbers that were compared, and were different, for each type.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TESTS_CROSS_H
#define GGUFX_TESTS_CROSS_H

#include "device_fixture.h"

#include <stdbool.h>

/* Part `part` of `n_parts` of all types; asked for by the environment. */
typedef struct cross {
    bool all;
    unsigned part, n_parts;
} cross;

/* Of variable `name`: "all" or "all:I/N", or nothing. It ends the program where it is neither. */
cross asked_cross(const char *name);
bool in_part(const cross *c, size_t type);

/* The sizes of the cross by 1, 2, 3 and 5 columns (by 1 where rows are many and long), of the types of the
 * part; `variant` is what the lines call the device's way. Fails at the end where one is different. */
void run_cross(const cross *c, const ggufx_runtime *rt, const ggufx_device *device,
               const char *variant);

#endif
