/*
 * The library inside a game engine. Cases:
 *   play      the host's jobs, memory, log and archive, a foreign floating-point mode: the same
 *             bits. A decode is cancelled at each poll.
 *   pressure  a hard memory cap of many sizes, and a cap that falls while objects live
 * usage: engine CASE LIBRARY MODEL
 * SPDX-License-Identifier: MIT
 */
#include "host.h"

#include "../abi/fp_mode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pak archive;
static const char *library_path;

static void must_be_ok(const story *s, ggufx_status status) {
    if (status == GGUFX_OK) return;
    fprintf(stderr, "status %d: %s\n", (int)status, s->error.message);
    exit(1);
}

/* Returns the scenario's hash in a program without hooks of its own. */
static uint64_t plain_hash(const ggufx_functions *api) {
    story s;
    story_init(&s, api, &archive);
    must_be_ok(&s, story_run(&s));
    return s.hash;
}

/* ---- play ------------------------------------------------------------------------------------ */

static void test_a_host_of_its_own_gets_the_same_bits(void) {
    ggufx_functions api;
    jobs j;
    memory m;
    story s;
    long n_cancelled = 0, n_played = 0;
    void *library = plugin_load(&api, library_path, kPluginFlags);
    const uint64_t expected = plain_hash(&api), usual = get_mode();
    jobs_start(&j);
    memory_init(&m, SIZE_MAX);
    story_init(&s, &api, &archive);
    for (s.cancel_at = 1;; s.cancel_at += 1 + (SANITIZED ? 4 * s.cancel_at : s.cancel_at / 4)) {
        s.entry = n_played++ % 2 ? kPakAligned : kPakOdd;
        set_mode(kForeignMode);
        const ggufx_status status = story_play(&s, &j, &m);
        set_mode(usual);
        must_be_ok(&s, status);
        MUST(s.hash == expected);
        MUST(m.live == 0 && m.used == 0 && m.n_destroyed == n_played);
        n_cancelled += s.n_cancelled;
        if (s.n_cancelled == 0) break; /* no polls left to cancel */
    }
    printf("%ld decodes cancelled, %lu tasks, %lu slices, peak %zu KiB\n", n_cancelled, j.n_run,
           j.n_slices, m.peak / 1024);
    MUST(n_cancelled >= 2 && j.n_run > (SANITIZED ? 10 : 100));
    jobs_stop(&j);
    plugin_unload(library, library_path);
}

/* ---- pressure -------------------------------------------------------------------------------- */

static void test_a_hard_cap_is_an_error_and_leaves_nothing(const ggufx_functions *api, jobs *j,
                                                           uint64_t expected) {
    enum { kCaps = SANITIZED ? 8 : 24 };
    memory m;
    story s;
    long n_failed = 0;
    memory_init(&m, SIZE_MAX);
    story_init(&s, api, &archive);
    must_be_ok(&s, story_play(&s, j, &m));
    const size_t need = m.peak;
    for (size_t i = 0; i <= kCaps; i++) {
        memory_init(&m, need * i / kCaps);
        const ggufx_status status = story_play(&s, j, &m);
        MUST(m.live == 0 && m.used == 0 && m.n_destroyed == 1 && m.peak <= m.cap);
        if (status == GGUFX_OK) MUST(s.hash == expected);
        if (status == GGUFX_OK) continue;
        MUST(status == GGUFX_E_MEMORY && s.error.status == status && s.error.message[0]);
        MUST(m.n_refused > 0);
        n_failed++;
    }
    memory_init(&m, need);
    must_be_ok(&s, story_play(&s, j, &m));
    printf("%ld of %d caps up to %zu KiB were too small\n", n_failed, kCaps, need / 1024);
    MUST(n_failed >= kCaps / 2);
}

/* The cap falls to the memory in use: existing objects keep working, new ones fail until it rises
 * again. */
static ggufx_status decode(const ggufx_functions *a, ggufx_session *session, const int32_t *ids) {
    static float logits[1024];
    return exercise_decode(a, session, ids, 4, logits, 1024, NULL, NULL);
}

static void test_a_cap_that_falls_while_objects_live(const ggufx_functions *a, jobs *j) {
    memory m;
    ggufx_runtime *rt = NULL;
    ggufx_file *file = NULL;
    ggufx_model *model = NULL;
    ggufx_session *session = NULL, *second = NULL;
    ggufx_runtime_options options = {.struct_size = sizeof options};
    ggufx_session_options small = {.struct_size = sizeof small};
    static const int32_t ids[4] = {1, 20, 30, 40};
    memory_init(&m, SIZE_MAX);
    const ggufx_allocator allocator = memory_hooks(&m);
    const ggufx_executor executor = {.struct_size = sizeof executor,
                                     .max_workers = kWorkers,
                                     .user = j,
                                     .parallel_for = jobs_run};
    options.allocator = &allocator;
    options.executor = &executor;
    small.n_context = 64;
    small.n_batch = 4;
    MUST(a->runtime_create(&rt, &options, NULL) == GGUFX_OK);
    MUST(pak_open(&file, a, rt, &archive, kPakAligned, NULL) == GGUFX_OK);
    MUST(a->model_create(&model, rt, file, NULL, NULL) == GGUFX_OK);
    MUST(a->session_create(&session, model, &small, NULL) == GGUFX_OK);
    const size_t used = m.used;
    const long live = m.live;
    atomic_store(&m.cap, used);
    MUST(a->session_create(&second, model, &small, NULL) == GGUFX_E_MEMORY && !second);
    MUST(m.used == used && m.live == live);
    MUST(decode(a, session, ids) == GGUFX_OK); /* allocates nothing */
    atomic_store(&m.cap, SIZE_MAX);
    MUST(a->session_create(&second, model, &small, NULL) == GGUFX_OK);
    MUST(decode(a, second, ids) == GGUFX_OK);
    a->runtime_destroy(rt); /* any order */
    a->file_destroy(file);
    a->session_destroy(second);
    a->model_destroy(model);
    a->session_destroy(session);
    MUST(m.live == 0 && m.used == 0 && m.n_destroyed == 1);
}

static void test_little_memory_changes_no_bit(void) {
    ggufx_functions api;
    jobs j;
    void *library = plugin_load(&api, library_path, kPluginFlags);
    const uint64_t expected = plain_hash(&api);
    jobs_start(&j);
    test_a_hard_cap_is_an_error_and_leaves_nothing(&api, &j, expected);
    test_a_cap_that_falls_while_objects_live(&api, &j);
    jobs_stop(&j);
    plugin_unload(library, library_path);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } kCases[] = {
        {"play", test_a_host_of_its_own_gets_the_same_bits},
        {"pressure", test_little_memory_changes_no_bit},
    };
    if (argc < 4) return 2;
    library_path = argv[2];
    for (size_t i = 0; i < sizeof kCases / sizeof *kCases; i++)
        if (strcmp(argv[1], kCases[i].name) == 0) {
            pak_build(&archive, argv[3]);
            kCases[i].run();
            pak_remove(&archive);
            return 0;
        }
    return 2;
}
