/*
 * Processor time at 1 x and 4 x a size: linear work takes 4 times as long, quadratic 16 times.
 * SPDX-License-Identifier: MIT
 */
#ifndef COST_H
#define COST_H

#include "writer_fixture.h"

/* Work on something of `size`, which prepare() makes and finish() frees; only run() is measured. */
typedef struct cost_case {
    const char *name;
    size_t size; /* of the smaller one */
    void *(*prepare)(size_t size);
    void (*run)(void *work);
    void (*finish)(void *work);
    size_t bytes_each; /* of memory that one of `size` things touches; 0 = 256 */
} cost_case;

/* Fails where the larger one takes more than 4.6 times the time of the smaller one, and more than
 * memory that is read in no order does at these sizes. */
void assert_cost_is_linear(const cost_case *c);

/* A program's tests, one for each of at most 16 cases. */
int run_cost_cases(const cost_case *cases, size_t n);

/* A number that looks random, another one for every i: names that come in no order. */
uint64_t scrambled(uint64_t i);

/* The file that `b` holds, opened from a copy; `b` is freed. */
ggufx_file *open_copy(gb *b);

#endif
