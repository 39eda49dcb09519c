/*
 * The job system. Its threads have a foreign floating-point mode, which every task must keep. After
 * 2 ms of tasks a worker does frame work, as in engines, before it takes another task.
 * SPDX-License-Identifier: MIT
 */
#include "host.h"

#include "../abi/fp_mode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int64_t thread_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void fault(jobs *j, const char *what) {
    fprintf(stderr, "job system: %s\n", what);
    atomic_fetch_add(&j->n_faults, 1);
}

/* A piece of frame work: with DAZ and FTZ a subnormal number is zero. */
static void work_on_frame(jobs *j, uint64_t mode) {
    volatile float tiny = 0x1p-140f, one = 1.0f;
    if (FP_MODE_KNOWN && mode == kForeignMode && tiny * one != 0.0f)
        fault(j, "the frame lost its floating-point mode");
    atomic_fetch_add(&j->n_slices, 1);
}

static void run_task(jobs *j, uint32_t index, uint32_t worker) {
    const uint64_t mode = get_mode();
    if (atomic_fetch_add(&j->busy[worker], 1) != 0) fault(j, "two tasks with one worker");
    j->task(j->ctx, index, worker);
    atomic_fetch_sub(&j->busy[worker], 1);
    if (get_mode() != mode) fault(j, "a task changed the floating-point mode");
    atomic_fetch_add(&j->n_run, 1);
}

/* Runs tasks in time slices until none is left. Called and left with the lock held. */
static void work(jobs *j, uint32_t worker) {
    int64_t slice_end = thread_ns() + kSliceNs;
    while (j->next < j->n_tasks) {
        const uint32_t index = j->next++;
        pthread_mutex_unlock(&j->lock);
        run_task(j, index, worker);
        if (thread_ns() >= slice_end) {
            work_on_frame(j, get_mode());
            slice_end = thread_ns() + kSliceNs;
        }
        pthread_mutex_lock(&j->lock);
        if (++j->n_done == j->n_tasks) pthread_cond_signal(&j->done);
    }
}

typedef struct worker_start {
    jobs *j;
    uint32_t worker;
} worker_start;

static void *worker_main(void *user) {
    const worker_start start = *(worker_start *)user;
    jobs *j = start.j;
    free(user);
    set_mode(kForeignMode);
    pthread_mutex_lock(&j->lock);
    while (!j->stop) {
        work(j, start.worker);
        work_on_frame(j, get_mode());
        pthread_cond_wait(&j->work, &j->lock);
    }
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

void jobs_start(jobs *j) {
    memset(j, 0, sizeof *j);
    j->process = getpid();
    pthread_mutex_init(&j->one_at_a_time, NULL);
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->work, NULL);
    pthread_cond_init(&j->done, NULL);
    for (uint32_t i = 1; i < kWorkers; i++) {
        worker_start *start = malloc(sizeof *start);
        MUST(start != NULL);
        *start = (worker_start){j, i};
        MUST(pthread_create(&j->threads[i], NULL, worker_main, start) == 0);
    }
}

void jobs_stop(jobs *j) {
    pthread_mutex_lock(&j->lock);
    j->stop = 1;
    pthread_cond_broadcast(&j->work);
    pthread_mutex_unlock(&j->lock);
    for (int i = 1; i < kWorkers; i++) pthread_join(j->threads[i], NULL);
    MUST(j->n_faults == 0);
}

ggufx_status jobs_run(void *user, uint32_t n_tasks, void (*task)(void *, uint32_t, uint32_t),
                      void *ctx) {
    jobs *j = user;
    if (getpid() != j->process) { /* a forked child has no threads: runs serially */
        for (uint32_t i = 0; i < n_tasks; i++) task(ctx, i, 0);
        return GGUFX_OK;
    }
    pthread_mutex_lock(&j->one_at_a_time);
    pthread_mutex_lock(&j->lock);
    j->task = task;
    j->ctx = ctx;
    j->next = j->n_done = 0;
    j->n_tasks = n_tasks;
    pthread_cond_broadcast(&j->work);
    work(j, 0);
    while (j->n_done < j->n_tasks) pthread_cond_wait(&j->done, &j->lock);
    j->n_tasks = j->next = 0;
    pthread_mutex_unlock(&j->lock);
    pthread_mutex_unlock(&j->one_at_a_time);
    return GGUFX_OK;
}
