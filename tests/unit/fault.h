/*
 * An allocator that counts and fails on demand, and a loop that fails the k-th allocation, for each
 * k until the body succeeds.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TEST_FAULT_H
#define GGUFX_TEST_FAULT_H

#include <ggufx/ggufx.h>

typedef struct fault {
    ggufx_allocator allocator; /* pass to ggufx_runtime_options */
    long calls;                /* number of allocations */
    long fail_at;              /* number of the call that fails, from 1; 0 = none */
    long live;                 /* blocks not freed */
    long long live_bytes;
    long long peak_bytes;
    int destroyed;
} fault;

/* Sets all counters to zero and the hooks. The struct must outlive every object that uses it. */
void fault_init(fault *f);

/* Returns a runtime on this allocator, with the given threads (1: all work on the caller's
 * thread). */
ggufx_runtime *fault_runtime(fault *f, uint32_t threads);

/* Resets the peak and the call counter. */
void fault_reset(fault *f);

/*
 * Runs body(context, rt, error) with the 1st, 2nd, 3rd ... allocation after the runtime's failing,
 * until it returns GGUFX_OK. Asserts that every failure is GGUFX_E_MEMORY with the error filled,
 * and that each run frees all its memory. GGUFX_TEST_STEP (test_step.h) = n, as under sanitizers,
 * runs only every n-th. Returns the number of allocations.
 */
typedef ggufx_status (*fault_body)(void *context, ggufx_runtime *rt, ggufx_error *error);
long fault_run(fault_body body, void *context);

#endif
