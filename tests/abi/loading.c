/*
 * The library as a plugin: dlopen, use from 4 host threads, dlclose, a hundred times. The library
 * is unloaded after each cycle, and mappings, threads and memory do not grow. Symbols are resolved
 * by dlsym only (ggufx/loader.h).
 * usage: loading now|deepbind|copies|older LIBRARY MODEL [SECOND_COPY]
 * SPDX-License-Identifier: MIT
 */
#include "exercise.h"

#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kThreads = 4, kCycles = 100, kWarm = 20 };

/* Slack of the comparison. The bytes that malloc has handed out and the mappings are exact: the
 * environment of the test turns malloc's thread caches off. mimalloc would keep freed pages for a while, and RSS would vary between 10 and
 * 35 MiB. main makes it release them at once; then the minima of both halves differ by 50 KiB. */
/* A build with libcpuinfo (unloaded too) leaks libcpuinfo's tables each time: 0.8 KiB a cycle on 2
 * processors. Builds without it leak nothing. */
static long cpuinfo_kib;
/* Without mimalloc all memory comes from malloc. Free memory in its arenas is no leak. */
static int mimalloc;
static const long kRssSlackKib = 512, kHeapSlackKib = 64, kMappingSlack = 2 * kThreads;

static const char *model_path;

static void *get_symbol(void *library, const char *name) {
    return dlsym(library, name);
}

static void load_api(ggufx_functions *api, void *library) {
    MUST(ggufx_load(api, get_symbol, library) == NULL);
}

static void *open_library(const char *path, int flags) {
    void *library = dlopen(path, RTLD_NOW | flags);
    if (!library) fprintf(stderr, "%s\n", dlerror());
    MUST(library != NULL);
    return library;
}

/* ---- host threads, the same ones over all cycles --------------------------------------------- */

static struct {
    ggufx_functions api;
    uint32_t parts;
    int done;
    pthread_barrier_t begin, end;
    uint64_t hash[kThreads];
} host;

static void *host_thread(void *user) {
    const size_t me = (size_t)user;
    for (;;) {
        exercise e;
        pthread_barrier_wait(&host.begin);
        if (host.done) return NULL; /* the thread exits after the last dlclose */
        exercise_init(&e, &host.api, model_path);
        e.parts = host.parts;
        e.options.threads = 1 + (uint32_t)me % 2;
        const ggufx_status status = exercise_run(&e);
        if (status != GGUFX_OK) fprintf(stderr, "%s: %s\n", e.where, e.error.message);
        MUST(status == GGUFX_OK);
        host.hash[me] = e.hash;
        pthread_barrier_wait(&host.end);
    }
}

static void use_from_all_threads(uint32_t parts) {
    host.parts = parts;
    pthread_barrier_wait(&host.begin);
    pthread_barrier_wait(&host.end);
    for (int i = 1; i < kThreads; i++) MUST(host.hash[i] == host.hash[0]);
}

/* ---- process resources ----------------------------------------------------------------------- */

typedef struct footprint {
    long mappings, threads, rss_kib, heap_kib;
} footprint;

static footprint measure(void) {
    malloc_trim(0); /* malloc keeps free memory, which is no leak: up to 70 MiB measured */
    footprint f = {0, 0, 0, (long)(mallinfo2().uordblks / 1024)};
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r"), *status = fopen("/proc/self/status", "r");
    MUST(maps && status);
    while (fgets(line, sizeof line, maps)) f.mappings++;
    while (fgets(line, sizeof line, status)) {
        sscanf(line, "Threads: %ld", &f.threads);
        sscanf(line, "VmRSS: %ld", &f.rss_kib);
    }
    fclose(maps);
    fclose(status);
    return f;
}

static int is_mapped(const char *name) {
    char line[512];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    MUST(maps);
    while (fgets(line, sizeof line, maps)) found = found || strstr(line, name) != NULL;
    fclose(maps);
    return found;
}

static void load_use_unload(const char *path, int flags, uint32_t parts) {
    void *library = open_library(path, flags);
    load_api(&host.api, library);
    if (host.api.has("cpuinfo")) cpuinfo_kib = kCycles * sysconf(_SC_NPROCESSORS_CONF);
    use_from_all_threads(parts);
    mimalloc = mimalloc || is_mapped("libmimalloc");
    MUST(dlclose(library) == 0);
    MUST(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == NULL);
}

static void test_cycles_leave_nothing(const char *path, int flags) {
    footprint second = {0, 0, 0, 0}, last = {0, 0, 0, 0};
    long early_kib = LONG_MAX, late_kib = LONG_MAX;
    uint64_t hash = 0;
    for (int cycle = 1; cycle <= kCycles; cycle++) {
        /* The model part takes longest; a few cycles suffice for it. */
        const int all = cycle <= 2 || cycle == kCycles;
        load_use_unload(path, flags, all ? EXERCISE_ALL : EXERCISE_ALL & ~EXERCISE_MODEL);
        if (cycle == 1) hash = host.hash[0];
        if (cycle == kCycles) MUST(host.hash[0] == hash);
        last = measure();
        if (cycle == 2) second = last;
        /* All cycles are alike, except that the allocator takes memory in the first ones and keeps
         * it. */
        long *half = cycle <= (kCycles + kWarm) / 2 ? &early_kib : &late_kib;
        if (!all && cycle > kWarm && last.rss_kib < *half) *half = last.rss_kib;
    }
    printf("cycle 2 and %d: mappings %ld %ld, threads %ld %ld, heap %ld %ld KiB; least RSS "
           "early and late: %ld %ld KiB%s\n",
           kCycles, second.mappings, last.mappings, second.threads, last.threads, second.heap_kib,
           last.heap_kib, early_kib, late_kib, mimalloc ? ", mimalloc" : "");
    MUST(last.threads == second.threads);
    MUST(last.mappings <= second.mappings + kMappingSlack);
    MUST(last.heap_kib <= second.heap_kib + kHeapSlackKib + cpuinfo_kib);
    MUST(!mimalloc || late_kib <= early_kib + kRssSlackKib);
}

static void test_two_copies_work_side_by_side(const char *path, const char *copy) {
    void *first = open_library(path, RTLD_LOCAL), *second = open_library(copy, RTLD_LOCAL);
    ggufx_functions apis[2];
    exercise e[2];
    load_api(&apis[0], first);
    load_api(&apis[1], second);
    MUST(apis[0].open != apis[1].open);
    for (int i = 0; i < 2; i++) {
        exercise_init(&e[i], &apis[i], model_path);
        MUST(exercise_run(&e[i]) == GGUFX_OK);
    }
    MUST(e[0].hash == e[1].hash);
    MUST(dlclose(first) == 0);
    MUST(exercise_run(&e[1]) == GGUFX_OK && e[1].hash == e[0].hash);
    MUST(dlclose(second) == 0);
}

/* ---- a library that lacks functions ----------------------------------------------------------- */

static void *get_older_symbol(void *library, const char *name) {
    const int newer =
        strcmp(name, "ggufx_open_io") == 0 || strcmp(name, "ggufx_writer_create") == 0;
    return newer ? NULL : dlsym(library, name);
}

static void *get_nothing(void *user, const char *name) {
    (void)user, (void)name;
    return NULL;
}

static void test_missing_functions_are_null_and_named(const char *path) {
    void *library = open_library(path, RTLD_LOCAL);
    ggufx_functions api;
    ggufx_runtime *rt = NULL;
    size_t n_missing = 0;
    memset(&api, 0xff, sizeof api);
    MUST(strcmp(ggufx_load(&api, get_older_symbol, library), "ggufx_open_io") == 0);
    MUST(api.open_io == NULL && api.writer_create == NULL);
#define COUNT_MISSING(name) n_missing += api.name == NULL;
    GGUFX_FUNCTIONS(COUNT_MISSING)
    MUST(n_missing == 2);
    MUST(api.abi_version() == GGUFX_ABI_VERSION);
    MUST(api.runtime_create(&rt, NULL, NULL) == GGUFX_OK);
    api.runtime_destroy(rt);
    MUST(ggufx_load(&api, get_nothing, NULL) != NULL && api.version == NULL);
    MUST(dlclose(library) == 0);
}

int main(int argc, char **argv) {
    pthread_t threads[kThreads];
    if (argc < 4) return 2;
    model_path = argv[3];
    MUST(setenv("MIMALLOC_RESET_DELAY", "0", 1) == 0); /* mimalloc 2.0 */
    MUST(setenv("MIMALLOC_PURGE_DELAY", "0", 1) == 0); /* mimalloc 2.1 */
    if (strcmp(argv[1], "older") == 0) {
        test_missing_functions_are_null_and_named(argv[2]);
        return 0;
    }
    if (strcmp(argv[1], "copies") == 0) {
        if (argc < 5) return 2;
        test_two_copies_work_side_by_side(argv[2], argv[4]);
        return 0;
    }
    pthread_barrier_init(&host.begin, NULL, kThreads + 1);
    pthread_barrier_init(&host.end, NULL, kThreads + 1);
    exercise_prepare(); /* before the threads share it */
    for (size_t i = 0; i < kThreads; i++)
        MUST(pthread_create(&threads[i], NULL, host_thread, (void *)i) == 0);
    test_cycles_leave_nothing(argv[2],
                              strcmp(argv[1], "deepbind") == 0 ? RTLD_DEEPBIND : RTLD_LOCAL);
    host.done = 1;
    pthread_barrier_wait(&host.begin);
    for (int i = 0; i < kThreads; i++) pthread_join(threads[i], NULL);
    return 0;
}
