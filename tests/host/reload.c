/*
 * An editor that reloads the plugin after each build, 200 times, while its threads stay alive; and
 * processes that fork. Cases: reload, fork.
 * usage: reload CASE LIBRARY MODEL
 * SPDX-License-Identifier: MIT
 */
#include "../unit/weight_calls.h"
#include "host.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kCycles = SANITIZED ? 40 : 200, kRows = 512, kColumns = 256, kVectors = SANITIZED ? 1 : 64 };

static pak archive;
static const char *library_path;

/* ---- use of the plugin in a cycle ------------------------------------------------------------ */

typedef struct objects {
    ggufx_runtime *rt;
    ggufx_file *file;
    ggufx_tensor *w;
    float x[kColumns * kVectors], y[kRows * kVectors];
} objects;

/* A product that is split into tasks. executor may be NULL: the library's own threads. */
static void begin_use(objects *o, const ggufx_functions *a, const ggufx_executor *executor,
                      const ggufx_allocator *allocator) {
    ggufx_runtime_options options = {.struct_size = sizeof options};
    size_t at = 0;
    memset(o, 0, sizeof *o);
    for (int i = 0; i < kColumns * kVectors; i++) o->x[i] = (float)(i % 17) - 8;
    options.executor = executor;
    options.allocator = allocator;
    options.threads = 3;
    MUST(a->runtime_create(&o->rt, &options, NULL) == GGUFX_OK);
    MUST(pak_open(&o->file, a, o->rt, &archive, kPakOdd, NULL) == GGUFX_OK);
    MUST(a->file_tensor_find(&at, o->file, "token_embd.weight", 17, NULL) == GGUFX_OK);
    MUST(a->tensor_slice(&o->w, a->file_tensor(o->file, at), 1, 0, kRows, NULL) == GGUFX_OK);
}

static void use(objects *o, const ggufx_functions *a) {
    const ggufx_product product = {.struct_size = sizeof product,
                                   .w = o->w,
                                   .x = o->x,
                                   .n_x = kColumns * kVectors,
                                   .n = kVectors,
                                   .y = o->y,
                                   .n_y = kRows * kVectors};
    MUST(a->matmul(o->rt, &product, 1, NULL, NULL) == GGUFX_OK);
}

static void end_use(objects *o, const ggufx_functions *a) {
    a->file_destroy(o->file);
    a->runtime_destroy(o->rt);
    a->tensor_destroy(o->w);
}

/* ---- reload ---------------------------------------------------------------------------------- */

typedef struct footprint {
    long threads, descriptors, mappings, heap_kib;
    pthread_key_t key; /* the lowest free key; a leaked key means a leaked destructor */
} footprint;

static long entries(const char *folder) {
    long n = 0;
    DIR *d = opendir(folder);
    MUST(d != NULL);
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

/* Returns the number of threads once finished ones are gone: a joined thread stays listed until the
 * kernel removes it. */
static long threads_settled(long expected) {
    const struct timespec moment = {.tv_nsec = 1000000};
    long n = entries("/proc/self/task");
    for (int i = 0; i < 10000 && n > expected; i++) {
        nanosleep(&moment, NULL);
        n = entries("/proc/self/task");
    }
    return n;
}

static footprint measure(long n_threads) {
    footprint f = {threads_settled(n_threads), entries("/proc/self/fd"), 0, 0, 0};
    int c;
    FILE *maps = fopen("/proc/self/maps", "r");
    MUST(maps != NULL);
    while ((c = fgetc(maps)) != EOF) f.mappings += c == '\n';
    fclose(maps);
    malloc_trim(0);
    f.heap_kib = (long)(mallinfo2().uordblks / 1024);
    MUST(pthread_key_create(&f.key, NULL) == 0 && pthread_key_delete(f.key) == 0);
    return f;
}

static void must_be_level(footprint early, footprint late) {
    printf("after 20 and %d cycles: threads %ld %ld, descriptors %ld %ld, mappings %ld %ld, heap "
           "%ld %ld KiB, keys %u %u\n",
           kCycles, early.threads, late.threads, early.descriptors, late.descriptors,
           early.mappings, late.mappings, early.heap_kib, late.heap_kib, early.key, late.key);
    MUST(late.threads == early.threads);
    MUST(late.descriptors == early.descriptors);
    MUST(late.key == early.key);
#if !SANITIZED                                            /* sanitizers' mappings grow */
    MUST(late.mappings <= early.mappings + 2 * kWorkers); /* arenas of threads */
    /* A build with libcpuinfo (unloaded too) leaks libcpuinfo's tables. */
    MUST(late.heap_kib <= early.heap_kib + 64 + (kCycles - 20) * sysconf(_SC_NPROCESSORS_CONF));
#endif
}

static void cycle(jobs *j, memory *m, float *first) {
    ggufx_functions api;
    objects with_jobs, with_threads;
    const ggufx_allocator allocator = memory_hooks(m);
    const ggufx_executor executor = {.struct_size = sizeof executor,
                                     .max_workers = kWorkers,
                                     .user = j,
                                     .parallel_for = jobs_run};
    void *library = plugin_load(&api, library_path, kPluginFlags);
    begin_use(&with_jobs, &api, &executor, &allocator);
    begin_use(&with_threads, &api, NULL, &allocator);
    use(&with_jobs, &api);
    use(&with_threads, &api);
    end_use(&with_jobs, &api);
    end_use(&with_threads, &api);
    plugin_unload(library, library_path);
    MUST(memcmp(with_jobs.y, with_threads.y, sizeof with_jobs.y) == 0);
    if (first[0] == 0.0f) memcpy(first, with_jobs.y, sizeof with_jobs.y);
    MUST(memcmp(first, with_jobs.y, sizeof with_jobs.y) == 0);
}

static void test_reloads_leave_nothing(void) {
    jobs j;
    memory m;
    footprint early = {0}, late;
    float first[kRows * kVectors] = {0};
    long n_threads;
    jobs_start(&j);
    n_threads = entries("/proc/self/task"); /* the host's own, counted before others start */
    memory_init(&m, SIZE_MAX);
    for (int i = 1; i <= kCycles; i++) {
        cycle(&j, &m, first);
        MUST(m.live == 0 && m.used == 0 && m.n_destroyed == 2 * i);
        if (i == 20) early = measure(n_threads);
    }
    late = measure(n_threads);
    MUST(early.threads == n_threads);
    must_be_level(early, late);
    MUST(SANITIZED || j.n_run >= kCycles);
    jobs_stop(&j); /* the threads exit after the last dlclose, with their destructors */
}

/* ---- fork ------------------------------------------------------------------------------------ */

static const ggufx_functions *forked_api;
static atomic_int stop_decoding;

/* A thread that is inside the library whenever a fork happens. */
static void *decode_all_the_time(void *user) {
    long n = 0;
    while (!atomic_load(&stop_decoding)) {
        story s;
        story_init(&s, forked_api, &archive);
        s.options.threads = 3;
        MUST(story_run(&s) == GGUFX_OK);
        n++;
    }
    *(long *)user = n;
    return NULL;
}

/* Runs in a child; returns 0 on success. */
static int child(int how, objects *o, const float *expected) {
    objects own;
    alarm(60);              /* ends a child that waits for threads lost in the fork */
    if (how == 0) return 0; /* does not use the library */
    if (how == 1) {         /* uses and destroys the inherited objects */
        memset(o->y, 0, sizeof o->y);
        use(o, forked_api);
        end_use(o, forked_api);
        return memcmp(o->y, expected, sizeof o->y) != 0;
    }
    begin_use(&own, forked_api, NULL, NULL); /* new objects, with threads */
    use(&own, forked_api);
    end_use(&own, forked_api);
    return memcmp(own.y, expected, sizeof own.y) != 0;
}

static void fork_children(objects *o, const float *expected, int n) {
    for (int i = 0; i < n; i++) {
        int status = 1;
        const pid_t pid = fork();
        if (pid == 0) _exit(child(i % 3, o, expected));
        MUST(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
        use(o, forked_api); /* the parent continues */
        MUST(memcmp(o->y, expected, sizeof o->y) == 0);
    }
}

static void test_forks_with_threads_alive(void) {
    ggufx_functions api;
    jobs j;
    memory m;
    objects own_threads, host_jobs;
    float expected[kRows * kVectors];
    pthread_t other;
    long n_decoded = 0;
    void *library = plugin_load(&api, library_path, kPluginFlags);
    const ggufx_executor executor = {.struct_size = sizeof executor,
                                     .max_workers = kWorkers,
                                     .user = &j,
                                     .parallel_for = jobs_run};
    memory_init(&m, SIZE_MAX);
    const ggufx_allocator allocator = memory_hooks(&m);
    forked_api = &api;
    jobs_start(&j);
    begin_use(&own_threads, &api, NULL, &allocator);
    begin_use(&host_jobs, &api, &executor, &allocator);
    use(&own_threads, &api);
    memcpy(expected, own_threads.y, sizeof expected);
    MUST(pthread_create(&other, NULL, decode_all_the_time, &n_decoded) == 0);
    fork_children(&own_threads, expected, SANITIZED ? 3 : 12);
    fork_children(&host_jobs, expected, SANITIZED ? 3 : 12);
    atomic_store(&stop_decoding, 1);
    pthread_join(other, NULL);
    MUST(n_decoded > 0);
    end_use(&own_threads, &api);
    end_use(&host_jobs, &api);
    MUST(m.live == 0 && m.used == 0);
    jobs_stop(&j);
    plugin_unload(library, library_path);
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    library_path = argv[2];
    pak_build(&archive, argv[3]);
    if (strcmp(argv[1], "reload") == 0)
        test_reloads_leave_nothing();
    else if (strcmp(argv[1], "fork") == 0)
        test_forks_with_threads_alive();
    else
        return 2;
    pak_remove(&archive);
    return 0;
}
