/*
 * A program that hosts the library like a game engine: its own job system, memory, log and archive,
 * a foreign floating-point mode, the library loaded as a plugin.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_HOST_H
#define GGUFX_HOST_H

#include "../abi/exercise.h"
#include "../unit/slow.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- jobs.c: worker threads with time slices of 2 ms ---------------------------------------- */

enum { kWorkers = 4, kSliceNs = 2000000 };

typedef struct jobs {
    pthread_t threads[kWorkers]; /* the first is unused: that worker is the caller */
    pthread_mutex_t one_at_a_time, lock;
    pthread_cond_t work, done;
    void (*task)(void *ctx, uint32_t index, uint32_t worker);
    void *ctx;
    uint32_t n_tasks, next, n_done;
    int stop;
    int64_t process; /* owner of the threads */
    /* Counters. */
    atomic_uint busy[kWorkers];
    atomic_ulong n_run, n_slices, n_faults;
} jobs;

void jobs_start(jobs *j);
void jobs_stop(jobs *j); /* ends the program if there were faults */
/* For ggufx_executor.parallel_for; user is a jobs. */
ggufx_status jobs_run(void *user, uint32_t n_tasks, void (*task)(void *, uint32_t, uint32_t),
                      void *ctx);

/* ---- memory.c: a counting allocator with a cap ----------------------------------------------- */

typedef struct memory {
    atomic_size_t used, peak, cap;
    atomic_long live, n_refused, n_destroyed;
} memory;

void memory_init(memory *m, size_t cap);
ggufx_allocator memory_hooks(memory *m);

/* ---- pak.c: an archive with two copies of a model among other data --------------------------- */

enum { kPakAligned = 0, kPakOdd = 1, kPakPart = 2, kPakEntries = 3 };

typedef struct pak {
    char path[64];
    struct {
        uint64_t offset, length;
    } entry[kPakEntries];
} pak;

/* Writes the archive: the model at a multiple of 4096, again at an odd offset, and a split file
 * that is part one of three. */
void pak_build(pak *p, const char *model);
void pak_remove(const pak *p);
/* Opens an entry by descriptor, which is closed before this returns. The odd entry is read, the
 * others may be memory-mapped. */
ggufx_status pak_open(ggufx_file **out, const ggufx_functions *a, const ggufx_runtime *rt,
                      const pak *p, int entry, ggufx_error *error);

/* ---- story.c: a scenario of a game that uses the library ------------------------------------- */

typedef struct story {
    const ggufx_functions *api;
    const pak *archive;
    ggufx_runtime_options options;
    long cancel_at; /* poll of the first decode that cancels; 0 = none */
    int entry;      /* index in the archive */
    /* results */
    uint64_t hash; /* over logits and ids */
    long n_polls, n_cancelled, n_logged;
    ggufx_error error;
} story;

void story_init(story *s, const ggufx_functions *api, const pak *archive);
/* Returns the status of the failed call, or GGUFX_OK; all objects are destroyed. */
ggufx_status story_run(story *s);
/* The same with the host's jobs, memory and log. */
ggufx_status story_play(story *s, jobs *j, memory *m);

/* ---- plugin.c: the library loaded by name ---------------------------------------------------- */

/* RTLD_DEEPBIND, except under sanitizers, which refuse it. */
extern const int kPluginFlags;
void *plugin_load(ggufx_functions *api, const char *path, int flags);
/* Also checks that the library is unloaded. */
void plugin_unload(void *library, const char *path);

#endif
