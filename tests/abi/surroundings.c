/*
 * The library in every environment that a host may provide:
 * - every instruction set and executor, a 64 KiB stack, foreign floating-point modes
 * - failing allocations, executors, callbacks and system calls, cancelled calls
 * - locales, a small address space, few system calls, a forked child
 * usage: surroundings CASE MODEL [WORD...]
 * SPDX-License-Identifier: MIT
 */
#include "../instruction_sets.h"
#include "exercise.h"
#include "fp_mode.h"
#include "test_step.h"

#include <alloca.h>
#include <dirent.h>
#include <errno.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

static const ggufx_functions kApi = API_DIRECT;
static const char *model_path;
static char **words; /* arguments after the model's path */
static int n_words;

/* Returns the hash of a run that must succeed. */
static uint64_t run(exercise *e) {
    const ggufx_status status = exercise_run(e);
    if (status != GGUFX_OK) {
        fprintf(stderr, "%s: %s: %s\n", e->where, ggufx_status_name(status), e->error.message);
        exit(1);
    }
    return e->hash;
}

static uint64_t plain_hash(uint32_t parts) {
    exercise e;
    exercise_init(&e, &kApi, model_path);
    e.parts = parts;
    return run(&e);
}

/* ---- instruction sets, threads, executors --------------------------------------------------- */

static ggufx_status serial(void *user, uint32_t n_tasks, void (*task)(void *, uint32_t, uint32_t),
                           void *ctx) {
    (void)user;
    for (uint32_t i = 0; i < n_tasks; i++) task(ctx, i, 0);
    return GGUFX_OK;
}
static ggufx_status reversed(void *user, uint32_t n_tasks, void (*task)(void *, uint32_t, uint32_t),
                             void *ctx) {
    (void)user;
    while (n_tasks-- > 0) task(ctx, n_tasks, n_tasks % 3);
    return GGUFX_OK;
}

/* Hash of all computed results, on every machine. A change alters the canonical bits and needs a
 * line in CHANGELOG.md. */
static const uint64_t kResults = 0xbd0968fec4b30ebdull;

static void test_results_do_not_depend_on_isa_threads_or_executor(void) {
    const uint64_t expected = plain_hash(EXERCISE_ALL);
    const uint64_t computed = plain_hash(EXERCISE_PRODUCTS | EXERCISE_KV | EXERCISE_MODEL);
    exercise e;
    printf("hash of the results: 0x%016llx\n", (unsigned long long)computed);
    MUST(computed == kResults);
    exercise_init(&e, &kApi, model_path);
    for (size_t i = 0; i < kInstructionSetCount; i++) {
        ggufx_runtime *rt = NULL;
        e.options.isa = kInstructionSets[i];
        if (ggufx_runtime_create(&rt, &e.options, NULL) != GGUFX_OK) continue; /* unsupported */
        ggufx_runtime_destroy(rt);
        MUST(run(&e) == expected);
    }
    e.options.isa = GGUFX_ISA_BEST;
    e.options.threads = 4;
    MUST(run(&e) == expected);
    ggufx_executor executor = {
        .struct_size = sizeof executor, .max_workers = 1, .parallel_for = serial};
    e.options.executor = &executor;
    MUST(run(&e) == expected);
    executor.max_workers = 3;
    executor.parallel_for = reversed;
    MUST(run(&e) == expected);
}

/* ---- stack ---------------------------------------------------------------------------------- */

enum { kStack = 64 * 1024 }; /* bytes, guard page and thread-local data included */

/* The smallest stack that the system gives a thread; glibc for aarch64 refuses less than 128
 * KiB. */
static size_t smallest_stack(void) {
    const long least = sysconf(_SC_THREAD_STACK_MIN);
    return least > kStack ? (size_t)least : (size_t)kStack;
}

static void *run_here(void *user) {
    /* Stack space beyond kStack is consumed before the library is called. */
    volatile char *const taken = alloca(smallest_stack() - kStack + 1);
    taken[0] = 1;
    run(user);
    return NULL;
}

static void test_no_call_needs_more_than_64_kib_of_stack(void) {
    exercise e;
    pthread_t thread;
    pthread_attr_t attributes;
    exercise_init(&e, &kApi, model_path);
    MUST(pthread_attr_init(&attributes) == 0);
    MUST(pthread_attr_setstacksize(&attributes, smallest_stack()) == 0);
    MUST(pthread_create(&thread, &attributes, run_here, &e) == 0);
    pthread_join(thread, NULL);
    MUST(e.hash == plain_hash(EXERCISE_ALL));
    pthread_attr_destroy(&attributes);
}

/* ---- floating-point environment -------------------------------------------------------------- */

static void test_callers_floating_point_mode_changes_no_bit_and_is_kept(void) {
#if FP_MODE_KNOWN
    const uint64_t usual = get_mode(), expected = plain_hash(EXERCISE_ALL);
    exercise e;
    exercise_init(&e, &kApi, model_path);
    for (size_t i = 0; i < sizeof kForeignModes / sizeof *kForeignModes;
         i += test_step_sanitized()) {
        e.options.threads = i % 2 ? 1 : 4;
        set_mode(kForeignModes[i]);
        const ggufx_status status = exercise_run(&e);
        const uint64_t after = get_mode();
        set_mode(usual);
        MUST(status == GGUFX_OK && after == kForeignModes[i]);
        MUST(e.hash == expected);
    }
#else
    puts("skipped: no floating-point mode known for this processor");
    exit(77);
#endif
}

/* ---- failing allocations and cancelled calls ------------------------------------------------- */

typedef struct counter {
    long calls, fail_at, live;
} counter;

static void *counting_alloc(void *user, size_t size, size_t align) {
    counter *c = user;
    void *p = NULL;
    if (++c->calls == c->fail_at) return NULL;
    if (posix_memalign(&p, align < sizeof p ? sizeof p : align, size) != 0) return NULL;
    c->live++;
    return p;
}
static void *counting_alloc_live(void *user, size_t size, size_t align) {
    counter c = {0, -1, 0};
    void *p = counting_alloc(&c, size, align);
    ((counter *)user)->live += p != NULL;
    return p;
}
static void counting_free(void *user, void *p, size_t size, size_t align) {
    (void)size, (void)align;
    if (p) ((counter *)user)->live--;
    free(p);
}

static void test_every_failing_allocation_is_an_error_without_a_leak(void) {
    const long step = (long)test_step();
    for (uint32_t parts = 1; parts <= EXERCISE_ALL; parts *= 2) {
        long n_failures = 0;
        for (long k = 1;; k += step) {
            counter c = {0, k, 0};
            ggufx_allocator allocator = {.struct_size = sizeof allocator,
                                         .user = &c,
                                         .alloc = counting_alloc,
                                         .free = counting_free};
            exercise e;
            exercise_init(&e, &kApi, model_path);
            e.options.allocator = &allocator;
            e.parts = parts;
            const ggufx_status status = exercise_run(&e);
            if (c.live != 0)
                fprintf(stderr, "allocation %ld: %ld leak, in %s\n", k, c.live, e.where);
            MUST(c.live == 0);
            if (c.calls < k) {
                MUST(status == GGUFX_OK);
                break;
            }
            /* A call may also succeed with less memory. */
            if (status == GGUFX_OK) continue;
            if (status != GGUFX_E_MEMORY || e.error.status != status || !e.error.message[0])
                fprintf(stderr, "allocation %ld: %s in %s\n", k, ggufx_status_name(status),
                        e.where);
            MUST(status == GGUFX_E_MEMORY && e.error.status == status && e.error.message[0]);
            n_failures++;
        }
        printf("part %u: %ld allocations failed\n", (unsigned)parts, n_failures);
        MUST(n_failures * step > 2);
    }
}

static int32_t count_polls(void *user, uint64_t done, uint64_t total) {
    counter *c = user;
    (void)done, (void)total;
    return ++c->calls == c->fail_at;
}

/* Runs part by part, because reaching the k-th poll takes a whole run. */
static void test_every_poll_can_cancel(void) {
    const long step = (long)test_step();
    for (uint32_t parts = 1; parts <= EXERCISE_ALL; parts *= 2) {
        long n_cancelled = 0;
        for (long k = 1;; k += step) {
            counter c = {0, k, 0};
            ggufx_progress progress = {.user = &c, .report = count_polls};
            exercise e;
            exercise_init(&e, &kApi, model_path);
            e.progress = &progress;
            e.parts = parts;
            const ggufx_status status = exercise_run(&e);
            if (c.calls < k) {
                MUST(status == GGUFX_OK);
                break;
            }
            if (status != GGUFX_E_CANCELLED)
                fprintf(stderr, "poll %ld: %s in %s\n", k, ggufx_status_name(status), e.where);
            MUST(status == GGUFX_E_CANCELLED && e.error.status == status);
            n_cancelled++;
        }
        printf("part %u: %ld polls cancelled\n", (unsigned)parts, n_cancelled);
        MUST(n_cancelled > 0);
    }
}

/* ---- host callbacks: executors, files, messages ---------------------------------------------- */

static counter host; /* for refuse() and exercise_called, which have no user pointer */

static ggufx_status refuse_at_turn(void) {
    return ++host.calls == host.fail_at ? GGUFX_E_IO : GGUFX_OK;
}

static ggufx_status run_unless_refused(void *user, uint32_t n_tasks,
                                       void (*task)(void *, uint32_t, uint32_t), void *ctx) {
    return refuse_at_turn() == GGUFX_OK ? serial(user, n_tasks, task, ctx) : GGUFX_E_IO;
}

/* Runs e once for each k, with the k-th callback refused. A failing run reports IO or `other` and
 * leaks no memory. A successful run, and the run after the last, have the hash `expected`. */
static long refuse_each(exercise *e, ggufx_status other, uint64_t expected) {
    const long step = (long)test_step();
    ggufx_allocator allocator = {.struct_size = sizeof allocator,
                                 .user = &host,
                                 .alloc = counting_alloc_live,
                                 .free = counting_free};
    long n_failures = 0;
    e->options.allocator = &allocator;
    for (long k = 1;; k += k < 16 ? 1 : step * (1 + k / 64)) { /* sparser steps in long loops */
        host = (counter){0, k, 0};
        const ggufx_status status = exercise_run(e);
        const int is_last = host.calls < k;
        if (status != GGUFX_OK && status != GGUFX_E_IO && status != other)
            fprintf(stderr, "turn %ld: %s in %s\n", k, ggufx_status_name(status), e->where);
        MUST(host.live == 0);
        MUST(status == GGUFX_OK || status == GGUFX_E_IO || status == other);
        if (status == GGUFX_OK) MUST(e->hash == expected); /* the calling thread did all the work */
        if (status != GGUFX_OK) MUST(e->error.status == status && e->error.message[0]);
        n_failures += status != GGUFX_OK;
        if (is_last) break;
    }
    host.fail_at = 0;
    MUST(exercise_run(e) == GGUFX_OK && e->hash == expected);
    return n_failures;
}

static void test_an_executor_that_refuses_is_an_error_or_changes_nothing(void) {
    ggufx_executor executor = {
        .struct_size = sizeof executor, .max_workers = 2, .parallel_for = run_unless_refused};
    for (uint32_t parts = 1; parts <= EXERCISE_ALL; parts *= 2) {
        const uint64_t expected = plain_hash(parts);
        exercise e;
        exercise_init(&e, &kApi, model_path);
        e.options.executor = &executor;
        e.parts = parts;
        const long n_failures = refuse_each(&e, GGUFX_E_IO, expected);
        printf("part %u: %ld calls of the executor failed\n", (unsigned)parts, n_failures);
        if (parts & (EXERCISE_PRODUCTS | EXERCISE_KV | EXERCISE_MODEL)) MUST(n_failures > 0);
    }
}

static void test_every_callback_can_fail(void) {
    for (uint32_t parts = 1; parts <= EXERCISE_ALL; parts *= 2) {
        const uint64_t expected = plain_hash(parts);
        exercise e;
        exercise_init(&e, &kApi, model_path);
        e.parts = parts;
        exercise_called = refuse_at_turn;
        /* A callback that returns other values than 0 and 1 stops the call. */
        const long n_failures = refuse_each(&e, GGUFX_E_CANCELLED, expected);
        exercise_called = NULL;
        printf("part %u: %ld callbacks failed\n", (unsigned)parts, n_failures);
        if (parts & (EXERCISE_FILES | EXERCISE_KV | EXERCISE_MODEL | EXERCISE_WRITE))
            MUST(n_failures > 0);
    }
}

/* ---- system calls that fail, injected by calls.py -------------------------------------------- */

static long count_descriptors(void) {
    long n = 0;
    DIR *folder = opendir("/proc/self/fd");
    MUST(folder);
    while (readdir(folder)) n++;
    closedir(folder);
    return n;
}

/* One run whose system calls may fail, and another one, which succeeds. No descriptor leaks. */
static void test_after_a_failing_call_all_works_as_before(void) {
    exercise e;
    exercise_init(&e, &kApi, model_path);
    e.parts = EXERCISE_FILES | EXERCISE_PRODUCTS | EXERCISE_KV | EXERCISE_MODEL | EXERCISE_WRITE;
    const long n_descriptors = count_descriptors();
    const ggufx_status status = exercise_run(&e);
    printf("%s %s \"%s\" %d\n", ggufx_status_name(status), *e.where ? "failed" : "-",
           status == GGUFX_OK ? "" : e.error.message, e.error.system_error);
    const uint64_t hash = e.hash;
    if (status != GGUFX_OK) MUST(e.error.status == status && e.error.message[0]);
    MUST(run(&e) == plain_hash(e.parts));
    if (status == GGUFX_OK) MUST(hash == e.hash);
    MUST(count_descriptors() == n_descriptors);
}

/* ---- process limits and state (surroundings.py) ---------------------------------------------- */

/* Two equal runs, on one thread and on three. The caller has closed descriptors or shifts
 * clocks. */
static void test_it_works_here(void) {
    exercise e;
    exercise_init(&e, &kApi, model_path);
    e.options.threads = 3;
    MUST(run(&e) == plain_hash(EXERCISE_ALL));
}

/* Locales with a decimal comma and another capital of i. */
static void test_locales_change_nothing(void) {
    const uint64_t expected = plain_hash(EXERCISE_ALL);
    for (int i = 0; i < n_words; i++) {
        MUST(setlocale(LC_ALL, words[i]) != NULL);
        MUST(strcmp(localeconv()->decimal_point, ",") == 0);
        MUST(plain_hash(EXERCISE_ALL) == expected);
        MUST(strcmp(setlocale(LC_ALL, NULL), words[i]) == 0);
    }
    MUST(n_words > 0);
}

static void *map_pages(void *user, size_t size, size_t align) {
    (void)user;
    const size_t page = 4096, n = (size + page - 1) / page * page, more = align > page ? align : 0;
    char *p = mmap(NULL, n + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    const size_t lead = more ? (align - (uintptr_t)p % align) % align : 0;
    if (lead > 0) munmap(p, lead);
    if (more > lead) munmap(p + lead + n, more - lead);
    return p + lead;
}
static void unmap_pages(void *user, void *p, size_t size, size_t align) {
    (void)user, (void)align;
    if (p) munmap(p, size);
}

static rlim_t address_space(void) {
    unsigned long n_pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    MUST(file && fscanf(file, "%lu", &n_pages) == 1);
    fclose(file);
    return (rlim_t)n_pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* RLIMIT_AS slightly above the present use: the system itself refuses memory, file mappings and
 * thread stacks. The run's own memory comes from blocks that malloc has kept. */
static void test_an_address_space_that_ends_is_an_error(void) {
    struct rlimit usual, narrow;
    ggufx_allocator allocator = {
        .struct_size = sizeof allocator, .alloc = map_pages, .free = unmap_pages};
    const uint64_t expected = plain_hash(EXERCISE_ALL);
    long n_refused = 0, n_done = 0;
    exercise e;
    MUST(mallopt(M_MMAP_THRESHOLD, 64 << 20) && mallopt(M_TRIM_THRESHOLD, 128 << 20));
    free(malloc(32 << 20));
    MUST(getrlimit(RLIMIT_AS, &usual) == 0);
    for (uint32_t parts = 1; parts <= EXERCISE_ALL; parts *= 2) {
        /* 0 to 64 MiB, in growing steps. */
        for (rlim_t more = 0; more < 64 << 20; more += 65536 + more / 4) {
            exercise_init(&e, &kApi, model_path);
            e.parts = parts;
            e.options.allocator = &allocator;
            e.options.threads = 3;
            narrow = usual;
            narrow.rlim_cur = address_space() + more;
            MUST(setrlimit(RLIMIT_AS, &narrow) == 0);
            const ggufx_status status = exercise_run(&e);
            MUST(setrlimit(RLIMIT_AS, &usual) == 0);
            const int is_memory = status == GGUFX_E_MEMORY ||
                                  (status == GGUFX_E_IO && (e.error.system_error == ENOMEM ||
                                                            e.error.system_error == EAGAIN));
            if (status != GGUFX_OK && !is_memory)
                fprintf(stderr, "%llu bytes more: %s in %s: %s\n", (unsigned long long)more,
                        ggufx_status_name(status), e.where, e.error.message);
            MUST(status == GGUFX_OK || is_memory);
            n_refused += status != GGUFX_OK;
            n_done += status == GGUFX_OK;
        }
    }
    printf("%ld runs had too little, %ld enough\n", n_refused, n_done);
    MUST(n_refused > 20 && n_done > 5);
    MUST(plain_hash(EXERCISE_ALL) == expected);
}

#ifdef __linux__
/* Numbers of the system calls that docs/embedding.md lists for a seccomp profile. */
static const struct {
    const char *name;
    long number;
} kCalls[] = {
#define CALL(name) {#name, SYS_##name},
#include "seccomp_calls.h"
#undef CALL
};

static long number_of(const char *name) {
    for (size_t i = 0; i < sizeof kCalls / sizeof *kCalls; i++)
        if (strcmp(kCalls[i].name, name) == 0) return kCalls[i].number;
    fprintf(stderr, "%s is no call of this system\n", name);
    exit(1);
}

static void tell_call(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    fprintf(stderr, "system call %d is not in the list\n", info->si_syscall);
    _exit(1);
}

/* Allows only the listed system calls; others end the process. Applies to threads created later
 * too. */
static void allow_only(char **names, int n) {
    struct sock_filter filter[2 * 64 + 2];
    unsigned short n_filter = 0;
    struct sigaction action = {.sa_sigaction = tell_call, .sa_flags = SA_SIGINFO};
    MUST(n > 0 && n <= 64 && sigaction(SIGSYS, &action, NULL) == 0);
    filter[n_filter++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < n; i++) {
        filter[n_filter++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                          (uint32_t)number_of(names[i]), 0, 1);
        filter[n_filter++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    filter[n_filter++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    const struct sock_fprog program = {.len = n_filter, .filter = filter};
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/* usage: seccomp MODEL NAME...; without a name all calls are allowed. */
static void test_the_listed_system_calls_suffice(void) {
    exercise e;
    exercise_init(&e, &kApi, model_path);
    e.options.threads = 3;
    if (n_words > 0) allow_only(words, n_words);
    run(&e);
}
#endif

/* ---- fork ------------------------------------------------------------------------------------ */

static void test_child_of_a_fork_computes_the_same(void) {
    enum { kRows = 64, kColumns = 256 };
    static float x[kColumns], parent[kRows], child[kRows];
    ggufx_runtime_options options = {.struct_size = sizeof options, .threads = 4};
    ggufx_runtime *rt = NULL;
    ggufx_file *file = NULL;
    ggufx_tensor *w = NULL;
    size_t at = 0;
    int pipes[2], status = 1;
    for (int i = 0; i < kColumns; i++) x[i] = (float)(i % 17) - 8;
    MUST(ggufx_runtime_create(&rt, &options, NULL) == GGUFX_OK);
    MUST(ggufx_open(&file, rt, model_path, NULL, NULL) == GGUFX_OK);
    MUST(ggufx_file_tensor_find(&at, file, "token_embd.weight", 17, NULL) == GGUFX_OK);
    MUST(ggufx_tensor_slice(&w, ggufx_file_tensor(file, at), 1, 0, kRows, NULL) == GGUFX_OK);
    MUST(ggufx_matvec(parent, kRows, rt, w, x, kColumns, NULL, NULL) == GGUFX_OK);
    MUST(pipe(pipes) == 0);
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(60); /* a child that waits for threads it does not have */
        const int bad = ggufx_matvec(child, kRows, rt, w, x, kColumns, NULL, NULL);
        ggufx_tensor_destroy(w);
        ggufx_file_destroy(file);
        ggufx_runtime_destroy(rt);
        _exit(bad != GGUFX_OK || write(pipes[1], child, sizeof child) != sizeof child);
    }
    MUST(read(pipes[0], child, sizeof child) == sizeof child);
    MUST(waitpid(pid, &status, 0) == pid && status == 0);
    MUST(memcmp(parent, child, sizeof child) == 0);
    MUST(ggufx_matvec(child, kRows, rt, w, x, kColumns, NULL, NULL) == GGUFX_OK);
    MUST(memcmp(parent, child, sizeof child) == 0);
    ggufx_tensor_destroy(w);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } kCases[] = {
        {"results", test_results_do_not_depend_on_isa_threads_or_executor},
        {"stack", test_no_call_needs_more_than_64_kib_of_stack},
        {"fpenv", test_callers_floating_point_mode_changes_no_bit_and_is_kept},
        {"allocations", test_every_failing_allocation_is_an_error_without_a_leak},
        {"polls", test_every_poll_can_cancel},
        {"executor", test_an_executor_that_refuses_is_an_error_or_changes_nothing},
        {"callbacks", test_every_callback_can_fail},
        {"calls", test_after_a_failing_call_all_works_as_before},
        {"here", test_it_works_here},
        {"locales", test_locales_change_nothing},
        {"address_space", test_an_address_space_that_ends_is_an_error},
#ifdef __linux__
        {"seccomp", test_the_listed_system_calls_suffice},
#endif
        {"fork", test_child_of_a_fork_computes_the_same},
    };
    if (argc < 3) return 2;
    model_path = argv[2];
    words = argv + 3;
    n_words = argc - 3;
    for (size_t i = 0; i < sizeof kCases / sizeof *kCases; i++)
        if (strcmp(argv[1], kCases[i].name) == 0) {
            kCases[i].run();
            return 0;
        }
    return 2;
}
