/*
 * The full matrix of sizes on a device: every type with rows and columns as in models, compared
 * with the processor. Prints the number of compared and different results for each type.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TESTS_CROSS_H
#define GGUFX_TESTS_CROSS_H

#include "device_fixture.h"

#include <stdbool.h>

/* Part `part` of `n_parts` of all types, selected by an environment variable. */
typedef struct cross {
    bool all;
    unsigned part, n_parts;
} cross;

/* Parses environment variable `name`: "all", "all:I/N" or empty. Ends the program for other
 * values. */
cross asked_cross(const char *name);
bool in_part(const cross *c, size_t type);

/* Runs the sizes by 1, 2, 3 and 5 columns (1 column for many long rows) for the types of the part.
 * `variant` names the device's variant in the output. Fails at the end if a result differs. */
void run_cross(const cross *c, const ggufx_runtime *rt, const ggufx_device *device,
               const char *variant);

#endif
