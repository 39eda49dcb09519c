/*
 * An executor that runs the library's tasks one after another in the calling thread. Measures how
 * long each holds a worker of its host, in CPU time of the thread.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_HOST_FRAMES_H
#define GGUFX_HOST_FRAMES_H

#include <ggufx/ggufx.h>

#define kBudgetNs 2000000 /* budget of one task within a frame */

typedef struct frames {
    uint32_t workers;  /* number of workers that the library sees */
    size_t n_tasks;    /* counted in the current run */
    int64_t ns[16384]; /* shortest time of each task over all tries */
} frames;

/* For ggufx_executor.parallel_for; user is a frames. */
ggufx_status frames_run(void *user, uint32_t n_tasks, void (*task)(void *, uint32_t, uint32_t),
                        void *ctx);

/* A call of the library to measure. */
typedef ggufx_status (*frames_work)(void *user);

/* Fills x with numbers in [-1, 1), the same ones for each n. */
void frames_fill(float *x, size_t n);

/* Each exits with 1 when one of its tasks exceeds the budget. */
void frames_of_products(frames *f, const ggufx_runtime *rt);
void frames_of_blocks(frames *f, const ggufx_runtime *rt);
void frames_of_caches(frames *f, const ggufx_runtime *rt);
void frames_of_model(frames *f, const ggufx_runtime *rt, const char *model);

/*
 * Runs the work and exits with 1 if it fails or one of its tasks exceeds the budget. Load on the
 * machine makes tasks longer, never shorter. After an overrun the work is repeated, up to 80 times
 * over ten seconds, and each task's shortest time counts; the tasks are the same each time.
 */
void frames_check(frames *f, const char *name, frames_work work, void *user);

#endif
