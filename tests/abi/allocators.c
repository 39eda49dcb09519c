/*
 * mimalloc never takes over the host's memory. After the library has loaded it, malloc, free and
 * operator new of every loaded object still resolve to other allocators. Reads the resolved
 * addresses from the relocations of all objects, including libggufx.
 * usage: allocators now|deepbind LIBRARY | allocators linked
 * SPDX-License-Identifier: MIT
 */
#include "exercise.h"
#include "slots.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kWatched[] = {"malloc", "free",  "calloc", "realloc", "posix_memalign",
                                       "_Znwm",  "_Znam", "_ZdlPv", "_ZdlPvm", "_Znwj"};
static int n_faults, n_slots, n_of_library;

static void check_slot(void *user, const char *object, const char *symbol, const char *bound_to) {
    int watched = 0;
    (void)user;
    for (size_t i = 0; i < sizeof kWatched / sizeof *kWatched; i++)
        watched = watched || strcmp(symbol, kWatched[i]) == 0;
    if (!watched || strstr(object, "mimalloc")) return;
    n_slots++;
    n_of_library += strstr(object, "libggufx") != NULL;
    if (!strstr(bound_to, "mimalloc")) return;
    fprintf(stderr, "%s of %s is %s's\n", symbol, *object ? object : "the program", bound_to);
    n_faults++;
}

static int fault(const char *text) {
    fprintf(stderr, "%s\n", text);
    return 1;
}

/* Creates a runtime with the default allocator, which is mimalloc where the system has it. */
static int use_default_allocator(const ggufx_functions *api) {
    ggufx_runtime *rt = NULL;
    ggufx_runtime_facts facts = {.struct_size = sizeof facts};
    if (api->runtime_create(&rt, NULL, NULL) != GGUFX_OK) return fault("no runtime");
    if (api->runtime_info(&facts, rt, NULL) != GGUFX_OK) return fault("no facts");
    const int present = dlopen("libmimalloc.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) != NULL;
    const char *expected = api->has("mimalloc") && present ? "mimalloc" : "system";
    printf("the library's allocator: %s\n", facts.allocator_name);
    if (strcmp(facts.allocator_name, expected) != 0) return fault("not the expected allocator");
    slots_visit(check_slot, NULL);
    api->runtime_destroy(rt);
    slots_visit(check_slot, NULL);
    return 0;
}

#if !defined(LINKED)
static void *get_symbol(void *library, const char *name) {
    return dlsym(library, name);
}
#endif

int main(int argc, char **argv) {
    ggufx_functions api;
    int dynamic = 0;
    if (argc < 2) return 2;
#if defined(LINKED)
    (void)argv;
    const ggufx_functions direct = API_DIRECT;
    api = direct;
    dynamic = LINKED == 1; /* 1: shared, 2: static library */
#else
    if (argc < 3) return 2;
    void *library =
        dlopen(argv[2], RTLD_NOW | (strcmp(argv[1], "deepbind") == 0 ? RTLD_DEEPBIND : RTLD_LOCAL));
    if (!library) return fault(dlerror());
    if (ggufx_load(&api, get_symbol, library) != NULL) return fault("a function is missing");
    dynamic = 1;
#endif
    if (use_default_allocator(&api) != 0) return 1;
    printf("%d resolved slots, %d of them the library's\n", n_slots, n_of_library);
    if (n_slots < 4 || (dynamic && n_of_library < 2)) return fault("too few slots were seen");
    return n_faults != 0;
}
