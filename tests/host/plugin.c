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

static void *get_symbol(void *library, const char *name) {
    return dlsym(library, name);
}

void *plugin_load(ggufx_functions *api, const char *path, int flags) {
    /* libcpuinfo never frees its tables, which would be a leak after unloading, so it stays
     * loaded. */
    if (SANITIZED) (void)dlopen("libcpuinfo.so.0", RTLD_NOW | RTLD_NODELETE);
    void *library = dlopen(path, RTLD_NOW | flags);
    if (!library) fprintf(stderr, "%s\n", dlerror());
    MUST(library != NULL);
    MUST(ggufx_load(api, get_symbol, library) == NULL);
    return library;
}

void plugin_unload(void *library, const char *path) {
    MUST(dlclose(library) == 0);
    MUST(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == NULL);
}
