/*
 * Preload library that does work of every kind inside a running `ggufx serve`. Together with the
 * requests that it answers, everything happens in one process (../cli/long_run.py).
 *   LONG_RUN_STATE   a shared mapping of 4 KiB (struct state); without it nothing runs
 *   LONG_RUN_MODEL   the demo model
 *   LONG_RUN_FOLDER  for files
 *   LONG_RUN_LEAK    memory, descriptors: leaks on purpose, to test the detection
 * SPDX-License-Identifier: MIT
 */
#include "../abi/exercise.h"
#include "../unit/decode_ids.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kThreads = 4, kPrompt = 48, kContext = 64 };

/* Counters shared with the driver, which sets `pause`. */
static struct state {
    atomic_ullong pause;   /* 1: no new round starts */
    atomic_ullong running; /* threads within a round */
    atomic_ullong heap;    /* bytes allocated from the C library, updated four times a second */
    atomic_ullong rounds[kThreads];
} * state;

static const ggufx_functions kApi = API_DIRECT;
static const char *model, *folder, *leak;

static void lose(void) {
    if (!leak || !*leak) return;
    if (strcmp(leak, "descriptors") == 0) MUST(open("/dev/null", O_RDONLY) >= 0);
    if (strcmp(leak, "memory") == 0) {
        char *lost = malloc(256 * 1024);
        MUST(lost);
        memset(lost, 1, 256 * 1024);
        __asm__ volatile("" : : "r"(lost) : "memory"); /* keeps the compiler from removing both */
    }
}

/* Calls every public function, on one thread and on two: files, caches, sessions, batches,
 * grammars, jobs, edits. */
static uint64_t everything(uint32_t threads) {
    exercise e;
    exercise_init(&e, &kApi, model);
    e.options.threads = threads;
    if (exercise_run(&e) != GGUFX_OK) fprintf(stderr, "%s: %s\n", e.where, e.error.message);
    MUST(e.error.status == GGUFX_OK && !*e.where);
    return e.hash;
}

#define OK(call)                                                                                   \
    do {                                                                                           \
        const ggufx_status ok_status = (call);                                                     \
        if (ok_status != GGUFX_OK) fprintf(stderr, "%s: %s\n", #call, error.message);              \
        MUST(ok_status == GGUFX_OK);                                                               \
    } while (0)

static uint64_t mix(uint64_t hash, const void *data, size_t n) {
    for (size_t i = 0; i < n; i++) hash = (hash ^ ((const uint8_t *)data)[i]) * 1099511628211u;
    return hash;
}

static uint64_t hash_of_tensors(const ggufx_file *file) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < ggufx_file_tensor_count(file); i++) {
        ggufx_error error;
        const ggufx_tensor *tensor = ggufx_file_tensor(file, i);
        ggufx_tensor_facts facts = {.struct_size = sizeof facts};
        OK(ggufx_tensor_info(&facts, tensor, &error));
        hash = mix(hash, ggufx_tensor_data(tensor), facts.n_bytes);
    }
    return hash;
}

/* Adds a key, in place or as a new file. */
static void edit(const ggufx_runtime *rt, const char *path, int as_new) {
    ggufx_error error;
    ggufx_file *file = NULL;
    ggufx_writer *writer = NULL;
    ggufx_edit_options how = {.struct_size = sizeof how};
    char name[32];
    snprintf(name, sizeof name, "%llu", (unsigned long long)state->rounds[2]);
    how.flags = as_new ? GGUFX_EDIT_REWRITE : 0;
    OK(ggufx_open(&file, rt, path, NULL, &error));
    OK(ggufx_writer_create(&writer, rt, NULL, &error));
    OK(ggufx_writer_copy_meta(writer, file, &error));
    OK(ggufx_writer_copy_tensors(writer, file, &error));
    OK(ggufx_writer_set_string(writer, "general.name", 12, name, strlen(name), &error));
    OK(ggufx_writer_edit(NULL, writer, file, path, &how, &error));
    ggufx_writer_destroy(writer);
    ggufx_file_destroy(file);
}

static int32_t no_finding(void *user, const ggufx_finding_facts *finding) {
    (void)user;
    MUST(finding->severity != GGUFX_LOG_ERROR);
    return 0;
}

/* Quantizes the demo model, edits and reads the file. */
static uint64_t files(const ggufx_runtime *rt) {
    static const char *const kRecipes[] = {"Q4_K_M", "Q4_0", "IQ4_XS"};
    ggufx_error error;
    ggufx_file *file = NULL;
    ggufx_quantizer *job = NULL;
    ggufx_quantizer_options options = {.struct_size = sizeof options};
    uint64_t hash = 0;
    char path[256];
    snprintf(path, sizeof path, "%s/quantized.gguf", folder);
    options.flags = GGUFX_QUANTIZER_ALLOW_REQUANTIZE;
    options.reserve_bytes = 256;
    for (size_t i = 0; i < sizeof kRecipes / sizeof *kRecipes; i++) {
        uint32_t recipe = 0;
        OK(ggufx_file_type_find(&recipe, kRecipes[i], &error));
        OK(ggufx_open(&file, rt, model, NULL, &error));
        OK(ggufx_quantizer_create(&job, rt, file, recipe, &options, &error));
        OK(ggufx_quantizer_run(job, path, NULL, &error));
        ggufx_quantizer_destroy(job);
        ggufx_file_destroy(file);
        edit(rt, path, 0);
        edit(rt, path, 1);
        OK(ggufx_open(&file, rt, path, NULL, &error));
        OK(ggufx_file_validate(file, 0, no_finding, NULL, NULL, &error));
        hash = hash * 31 + hash_of_tensors(file);
        ggufx_file_destroy(file);
    }
    MUST(unlink(path) == 0);
    return hash;
}

/* Creates a model and a session for each KV type; extends, saves, truncates and loads the
 * session. */
static uint64_t talk(const ggufx_runtime *rt) {
    static const uint32_t kTypes[] = {GGUFX_TYPE_F16, GGUFX_TYPE_Q8_0, GGUFX_TYPE_F32};
    static float logits[1024]; /* per thread */
    ggufx_error error;
    ggufx_file *file = NULL;
    ggufx_model *loaded = NULL;
    ggufx_session *session = NULL;
    ggufx_model_facts facts = {.struct_size = sizeof facts};
    ggufx_session_options options;
    uint64_t hash = 14695981039346656037u;
    int32_t ids[kPrompt];
    char path[256];
    snprintf(path, sizeof path, "%s/kept.session", folder);
    for (int32_t i = 0; i < kPrompt; i++) ids[i] = 1 + i * 37 % 250;
    OK(ggufx_open(&file, rt, model, NULL, &error));
    OK(ggufx_model_create(&loaded, rt, file, NULL, &error));
    OK(ggufx_model_info(&facts, loaded, &error));
    MUST(facts.n_vocab <= sizeof logits / sizeof *logits);
    for (size_t i = 0; i < sizeof kTypes / sizeof *kTypes; i++) {
        options = (ggufx_session_options){.struct_size = sizeof(ggufx_session_options)};
        options.n_context = kContext;
        options.n_batch = 16;
        options.flags = GGUFX_SESSION_HAS_TYPE_K | GGUFX_SESSION_HAS_TYPE_V;
        options.type_k = options.type_v = kTypes[i];
        OK(ggufx_session_create(&session, loaded, &options, &error));
        OK(decode_ids(session, ids, kPrompt, NULL, 0, &error));
        OK(ggufx_session_save_file(session, 0, path, &error));
        OK(ggufx_session_truncate(session, 0, kPrompt / 2, &error));
        OK(decode_ids(session, ids, 5, NULL, 0, &error));
        OK(ggufx_session_load_file(session, 0, path, &error));
        OK(decode_ids(session, ids, 1, logits, facts.n_vocab, &error));
        hash = mix(hash, logits, facts.n_vocab * sizeof *logits);
        ggufx_session_destroy(session);
    }
    ggufx_model_destroy(loaded);
    ggufx_file_destroy(file);
    MUST(unlink(path) == 0);
    return hash;
}

/* Runs `work` with a new runtime, for files and sessions. */
static uint64_t with_runtime(uint64_t (*work)(const ggufx_runtime *rt)) {
    ggufx_error error;
    ggufx_runtime *rt = NULL;
    OK(ggufx_runtime_create(&rt, NULL, &error));
    const uint64_t hash = work(rt);
    ggufx_runtime_destroy(rt);
    return hash;
}

static uint64_t round_of(size_t thread) {
    return thread < 2 ? everything((uint32_t)thread + 1) : with_runtime(thread == 2 ? files : talk);
}

static void rest(long milliseconds) {
    const struct timespec moment = {.tv_sec = 0, .tv_nsec = milliseconds * 1000000};
    nanosleep(&moment, NULL);
}

static void *work(void *user) {
    const size_t me = (size_t)user;
    uint64_t first = 0;
    for (;;) {
        atomic_fetch_add(&state->running, 1);
        if (!state->pause) {
            const uint64_t hash = round_of(me);
            if (!first) first = hash;
            MUST(hash == first); /* not affected by the other work */
            lose();
            atomic_fetch_add(&state->rounds[me], 1);
        }
        atomic_fetch_sub(&state->running, 1);
        rest(state->pause ? 20 : 1);
    }
    return NULL;
}

static void *look(void *user) {
    for (;;) {
        if (state->pause) malloc_trim(0); /* free memory in malloc is no leak */
        state->heap = mallinfo2().uordblks;
        rest(250);
    }
    return user;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("LONG_RUN_STATE");
    pthread_t thread;
    if (!path) return;
    model = getenv("LONG_RUN_MODEL");
    folder = getenv("LONG_RUN_FOLDER");
    leak = getenv("LONG_RUN_LEAK");
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    MUST(model && folder && fd >= 0);
    state = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST(state != MAP_FAILED && close(fd) == 0);
    exercise_prepare();
    for (size_t i = 0; i < kThreads; i++)
        MUST(pthread_create(&thread, NULL, work, (void *)i) == 0 && pthread_detach(thread) == 0);
    MUST(pthread_create(&thread, NULL, look, NULL) == 0 && pthread_detach(thread) == 0);
}
