/*
 * The library as a plugin.
 * SPDX-License-Identifier: MIT
 */
#include "host.h"

#include <dlfcn.h>
#include <stdio.h>

#if SANITIZED
const int kPluginFlags = RTLD_LOCAL;
#else
const int kPluginFlags = RTLD_LOCAL | RTLD_DEEPBIND;
#endif

void *plugin_load(struct api *api, const char *path, int flags) {
    void **slots = (void **)api;
    /* libcpuinfo never frees its tables, which would be a leak after unloading, so it stays
     * loaded. */
    if (SANITIZED) (void)dlopen("libcpuinfo.so.0", RTLD_NOW | RTLD_NODELETE);
    void *library = dlopen(path, RTLD_NOW | flags);
    if (!library) fprintf(stderr, "%s\n", dlerror());
    MUST(library != NULL);
    for (size_t i = 0; i < sizeof api_names / sizeof *api_names; i++) {
        slots[i] = dlsym(library, api_names[i]);
        MUST(slots[i] != NULL);
    }
    return library;
}

void plugin_unload(void *library, const char *path) {
    MUST(dlclose(library) == 0);
    MUST(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == NULL);
}
