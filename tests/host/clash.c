/*
 * An application that exports C++ symbols which clash with those of the library (clash_app.cpp).
 * The library must use its own symbols and libstdc++'s.
 * usage: clash LIBRARY MODEL
 * SPDX-License-Identifier: MIT
 */
#include "host.h"

#include "../abi/slots.h"

#include <stdio.h>
#include <string.h>

/* Calls of the application's exported functions. */
extern long app_news, app_strangers;
int app_own_new(int value);

static int n_seen, n_bound;

static void check_slot(void *user, const char *object, const char *symbol, const char *bound_to) {
    if (!strstr(object, "/libggufx.so")) return;
    n_seen++;
    if (strcmp(bound_to, user) != 0) return;
    /* Without DEEPBIND the program's replacements of language functions, such as operator new, take
     * effect. */
    if (SANITIZED && !strstr(symbol, "ggufx")) return;
    fprintf(stderr, "%s of the library is bound to the application\n", symbol);
    n_bound++;
}

/* Makes the library throw and catch errors: an invalid file, a length beyond all memory. */
static void fail_inside(const ggufx_functions *api) {
    static const unsigned char bytes[] = "GGUF\3\0\0\0\377\377\377\377\377\377\377\177";
    ggufx_runtime *rt = NULL;
    ggufx_file *file = NULL;
    MUST(api->runtime_create(&rt, NULL, NULL) == GGUFX_OK);
    MUST(api->open_memory(&file, rt, bytes, sizeof bytes, NULL, NULL, NULL, NULL) < 0);
    MUST(file == NULL);
    api->runtime_destroy(rt);
}

int main(int argc, char **argv) {
    ggufx_functions api;
    pak archive;
    jobs j;
    memory m;
    story s;
    if (argc < 3) return 2;
    MUST(app_own_new(argc) && app_news == 1);
    pak_build(&archive, argv[2]);
    void *library = plugin_load(&api, argv[1], kPluginFlags);
    jobs_start(&j);
    memory_init(&m, SIZE_MAX);
    story_init(&s, &api, &archive);
    MUST(story_play(&s, &j, &m) == GGUFX_OK);
    fail_inside(&api);
    slots_visit(check_slot, argv[0]);
    printf("%d symbols of the library, %d bound to the application\n", n_seen, n_bound);
    MUST(n_seen > 20 && n_bound == 0 && app_strangers == 0 && app_news == 1);
    jobs_stop(&j);
    plugin_unload(library, argv[1]);
    pak_remove(&archive);
    return 0;
}
