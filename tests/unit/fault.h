/*
 * An allocator that counts and fails on demand, and the loop "the k-th allocation fails, for each
 * k until the body succeeds".
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TEST_FAULT_H
#define GGUFX_TEST_FAULT_H

#include <ggufx/ggufx.h>

typedef struct fault {
    ggufx_allocator allocator; /* pass to ggufx_runtime_options */
    long calls;                /* allocations asked for */
    long fail_at;              /* number of the call that fails, from 1; 0 = none */
    long live;                 /* blocks not freed */
    long long live_bytes;
    long long peak_bytes;
    int destroyed;
} fault;

/* All zero, hooks set. The struct must outlive every object that uses it. */
void fault_init(fault *f);

/* A runtime on this allocator, with threads as given (1: all on the caller's thread). */
ggufx_runtime *fault_runtime(fault *f, uint32_t threads);

/* Forget the peak and start counting calls from 0. */
void fault_reset(fault *f);

/*
 * Run body(context, rt, error) with the 1st, 2nd, 3rd ... allocation after the runtime's failing,
 * until it returns GGUFX_OK. Asserts that every failure is GGUFX_E_MEMORY with the error filled and
 * that each run gives back everything it took. Under sanitizers every n-th alone, where
 * GGUFX_TEST_STEP is n (test_step.h). Returns the number of allocations.
 */
typedef ggufx_status (*fault_body)(void *context, ggufx_runtime *rt, ggufx_error *error);
long fault_run(fault_body body, void *context);

#endif
