/*
 * An executor that runs the library's tasks one after another in the calling thread and times each
 * by the thread's own processor time: how long does the library hold a worker of its host?
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_HOST_FRAMES_H
#define GGUFX_HOST_FRAMES_H

#include <ggufx/ggufx.h>

#define kBudgetNs 2000000 /* of a frame, for one task */

typedef struct frames {
    uint32_t workers;  /* the library cuts its work for so many */
    size_t n_tasks;    /* of the work so far */
    int64_t ns[16384]; /* of each task, the shortest of all tries */
} frames;

/* For ggufx_executor.parallel_for; user is a frames. */
ggufx_status frames_run(void *user, uint32_t n_tasks, void (*task)(void *, uint32_t, uint32_t),
                        void *ctx);

/* One piece of work for the library. */
typedef ggufx_status (*frames_work)(void *user);

/* Numbers in [-1, 1), the same ones for each n. */
void frames_fill(float *x, size_t n);

/* Each exits with 1 when a task of it is over the budget. */
void frames_of_products(frames *f, const ggufx_runtime *rt);
void frames_of_blocks(frames *f, const ggufx_runtime *rt);
void frames_of_caches(frames *f, const ggufx_runtime *rt);
void frames_of_model(frames *f, const ggufx_runtime *rt, const char *model);

/*
 * Does the work and exits with 1 when it fails or one of its tasks is over the budget. A busy
 * machine makes tasks longer and never shorter: where one was too long the work is done again, up
 * to 80 times over ten seconds, and the shortest time of each task counts; work is cut alike each
 * time.
 */
void frames_check(frames *f, const char *name, frames_work work, void *user);

#endif
