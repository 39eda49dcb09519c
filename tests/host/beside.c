/*
 * An older copy of the library in the same process, loaded first with RTLD_GLOBAL, as a plugin of
 * another vendor would. Each copy has its own runtime and symbols, both give the same results, and
 * either can be unloaded first.
 * usage: beside LIBRARY MODEL OLDER_LIBRARY
 * SPDX-License-Identifier: MIT
 */
#include "host.h"

#include "../abi/slots.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pak archive;
static int n_seen;

static int has_name(const char *path, const char *name) {
    return strstr(path, name) != NULL;
}

/* Checks that no symbol of one copy is bound to the other. */
static void check_slot(void *user, const char *object, const char *symbol, const char *bound_to) {
    (void)user;
    const int ours = has_name(object, "/libggufx.so"), older = has_name(object, "ggufx_older");
    if (!ours && !older) return;
    n_seen++;
    if (!has_name(bound_to, ours ? "ggufx_older" : "/libggufx.so")) return;
    fprintf(stderr, "%s of %s is bound to %s\n", symbol, object, bound_to);
    exit(1);
}

static void check_homes(const ggufx_functions *api, const char *name) {
    void *const *slots = (void *const *)api;
    for (size_t i = 0; i < sizeof *api / sizeof *slots; i++) {
        Dl_info info;
        MUST(dladdr(slots[i], &info) && has_name(info.dli_fname, name));
    }
}

typedef struct player {
    pthread_t thread;
    const ggufx_functions *api;
    jobs *j;
    uint64_t hash;
} player;

static void *play(void *user) {
    player *p = user;
    memory m;
    story s;
    memory_init(&m, SIZE_MAX);
    story_init(&s, p->api, &archive);
    for (int i = 0; i < (SANITIZED ? 1 : 3); i++) {
        MUST(story_play(&s, p->j, &m) == GGUFX_OK);
        MUST(i == 0 || s.hash == p->hash);
        p->hash = s.hash;
    }
    MUST(m.live == 0 && m.used == 0);
    return NULL;
}

/* Runs both copies at the same time, on one job system. */
static uint64_t play_both(const ggufx_functions *first, const ggufx_functions *second, jobs *j) {
    player p[2] = {{.api = first, .j = j}, {.api = second, .j = j}};
    for (int i = 0; i < 2; i++) MUST(pthread_create(&p[i].thread, NULL, play, &p[i]) == 0);
    for (int i = 0; i < 2; i++) pthread_join(p[i].thread, NULL);
    MUST(p[0].hash == p[1].hash);
    return p[0].hash;
}

static void test_copies_do_not_meet(const char *path, const char *older_path, int flags,
                                    int older_goes_first, jobs *j) {
    ggufx_functions older, ours;
    player alone = {.j = j};
    void *older_library = plugin_load(&older, older_path, RTLD_GLOBAL);
    void *library = plugin_load(&ours, path, flags);
    check_homes(&older, "ggufx_older");
    check_homes(&ours, "/libggufx.so");
    n_seen = 0;
    slots_visit(check_slot, NULL);
    MUST(n_seen > 40);
    const uint64_t hash = play_both(&older, &ours, j);
    if (older_goes_first)
        plugin_unload(older_library, older_path);
    else
        plugin_unload(library, path);
    alone.api = older_goes_first ? &ours : &older;
    play(&alone);
    MUST(alone.hash == hash);
    if (older_goes_first)
        plugin_unload(library, path);
    else
        plugin_unload(older_library, older_path);
}

int main(int argc, char **argv) {
    jobs j;
    if (argc < 4) return 2;
    pak_build(&archive, argv[2]);
    jobs_start(&j);
    test_copies_do_not_meet(argv[1], argv[3], RTLD_LOCAL, 1, &j);
    test_copies_do_not_meet(argv[1], argv[3], kPluginFlags, 0, &j);
    jobs_stop(&j);
    pak_remove(&archive);
    return 0;
}
