/*
 * CPU time at 1 x and 4 x a size: linear work takes 4 times as long, quadratic 16 times.
 * SPDX-License-Identifier: MIT
 */
#ifndef COST_H
#define COST_H

#include "writer_fixture.h"

/* Work on an object of `size`, which prepare() creates and finish() frees; only run() is
 * measured. */
typedef struct cost_case {
    const char *name;
    size_t size; /* the smaller size */
    void *(*prepare)(size_t size);
    void (*run)(void *work);
    void (*finish)(void *work);
    size_t bytes_each; /* memory touched by each of `size` items; 0 = 256 */
} cost_case;

/* Fails if the larger size takes more than 4.6 times as long as the smaller one, and more than
 * random memory access does at these sizes. */
void assert_cost_is_linear(const cost_case *c);

/* Runs a program's tests, one for each of at most 16 cases. */
int run_cost_cases(const cost_case *cases, size_t n);

/* Returns a pseudorandom number for i, a different one for each: names in no order. */
uint64_t scrambled(uint64_t i);

/* Returns the file in `b`, opened from a copy; `b` is freed. */
ggufx_file *open_copy(gb *b);

#endif
