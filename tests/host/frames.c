/*
 * The frame budget of a game: no task of the library holds a worker of the host for longer than 2
 * ms, for any call. The calls are those with the longest tasks.
 * usage: frames MODEL
 * SPDX-License-Identifier: MIT
 */
#include "frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kTries = 80, kAtOnce = 16 }; /* later tries pause until other load has ended */

static int64_t thread_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

ggufx_status frames_run(void *user, uint32_t n_tasks, void (*task)(void *, uint32_t, uint32_t),
                        void *ctx) {
    frames *f = user;
    for (uint32_t i = 0; i < n_tasks; i++) {
        const int64_t begin = thread_ns();
        task(ctx, i, i % f->workers);
        const int64_t took = thread_ns() - begin;
        if (f->n_tasks == sizeof f->ns / sizeof *f->ns) return GGUFX_E_LIMIT;
        if (took < f->ns[f->n_tasks]) f->ns[f->n_tasks] = took;
        f->n_tasks++;
    }
    return GGUFX_OK;
}

void frames_fill(float *x, size_t n) {
    uint32_t state = 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)((int32_t)state >> 8) * 0x1p-23f;
    }
}

/* Returns the longest task of the work, in ns. */
static int64_t measure(frames *f, const char *name, frames_work work, void *user) {
    int64_t longest = INT64_MAX;
    for (size_t i = 0; i < sizeof f->ns / sizeof *f->ns; i++) f->ns[i] = INT64_MAX;
    for (int i = 0; i < kTries && longest > kBudgetNs; i++) {
        if (i >= kAtOnce) nanosleep(&(struct timespec){0, 150000000}, NULL);
        f->n_tasks = 0;
        const ggufx_status status = work(user);
        if (status != GGUFX_OK) {
            fprintf(stderr, "%s: %s\n", name, ggufx_status_name(status));
            exit(1);
        }
        longest = 0;
        for (size_t t = 0; t < f->n_tasks; t++)
            if (f->ns[t] > longest) longest = f->ns[t];
    }
    return longest;
}

void frames_check(frames *f, const char *name, frames_work work, void *user) {
    static int64_t longest; /* over all checks */
    const int64_t took = measure(f, name, work, user);
    if (took > longest || getenv("GGUFX_TEST_VERBOSE")) {
        printf("%-28s %5zu tasks, the longest %.3f ms\n", name, f->n_tasks, (double)took * 1e-6);
    }
    if (took > longest) longest = took;
    if (took <= kBudgetNs) return;
    fprintf(stderr, "%s: a task of %.2f ms, the budget is %.1f\n", name, (double)took * 1e-6,
            kBudgetNs * 1e-6);
    if (!getenv("GGUFX_TEST_VERBOSE")) exit(1);
}

static ggufx_runtime *runtime_with(frames *f, int32_t isa) {
    ggufx_runtime *rt = NULL;
    const ggufx_executor executor = {.struct_size = sizeof executor,
                                     .max_workers = f->workers,
                                     .user = f,
                                     .parallel_for = frames_run};
    ggufx_runtime_options options = {.struct_size = sizeof options};
    options.executor = &executor;
    options.isa = isa;
    if (ggufx_runtime_create(&rt, &options, NULL) != GGUFX_OK) exit(1);
    return rt;
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    for (uint32_t workers = 2; workers <= 16; workers *= 8) {
        static frames f;
        f.workers = workers;
        ggufx_runtime *rt = runtime_with(&f, argc > 2 ? atoi(argv[2]) : GGUFX_ISA_BEST);
        if (workers == 2) frames_of_products(&f, rt); /* split by work: the longest tasks */
        if (workers == 2) frames_of_blocks(&f, rt);
        frames_of_caches(&f, rt);
        frames_of_model(&f, rt, argv[1]);
        ggufx_runtime_destroy(rt);
    }
    return 0;
}
