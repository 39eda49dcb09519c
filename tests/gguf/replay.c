/*
 * replay FILE...: opens each file in every way and reads all of it. Prints one line per file and
 * way: NAME WAY STATUS OFFSET PEAK_HEAP_BYTES. For malformed.py; also works under sanitizers.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/file_look.h"

static unsigned char *load(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    unsigned char *data = NULL;
    long size;
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    size = ftell(f);
    rewind(f);
    data = malloc(size ? (size_t)size : 1); /* exact, so that ASan detects reads past the end */
    *n = fread(data, 1, (size_t)size, f);
    fclose(f);
    return data;
}

static void report(const char *path, const char *way, ggufx_status status, const ggufx_error *error,
                   long long peak) {
    printf("%s\t%s\t%s\t%lld\t%lld\n", path, way, ggufx_status_name(status),
           (long long)(status == GGUFX_OK ? UINT64_MAX : error->offset), peak);
}

int main(int argc, char **argv) {
    fault memory;
    ggufx_runtime *rt;
    int i, way;
    fault_init(&memory);
    rt = fault_runtime(&memory, 1);
    for (i = 1; i < argc; i++) {
        size_t n = 0;
        unsigned char *data = load(argv[i], &n);
        if (!data) return 2;
        for (way = 0; way < 6; way++) {
            static const char *const names[] = {"map",       "map-meta", "read",
                                                "read-meta", "memory",   "memory-meta"};
            ggufx_open_options o = {.struct_size = sizeof o};
            ggufx_error error;
            ggufx_file *f = NULL;
            ggufx_status status;
            const long live = memory.live;
            long long base;
            o.flags = way & 1 ? GGUFX_OPEN_METADATA_ONLY : 0;
            o.io = way / 2 == 1 ? GGUFX_IO_READ : GGUFX_IO_AUTO;
            fault_reset(&memory);
            base = memory.live_bytes;
            status = way >= 4 ? ggufx_open_memory(&f, rt, data, n, NULL, NULL, &o, &error)
                              : ggufx_open(&f, rt, argv[i], &o, &error);
            report(argv[i], names[way], status, &error, memory.peak_bytes - base);
            if (f) look_at_file(f, rt);
            ggufx_file_destroy(f);
            if (memory.live != live) {
                fprintf(stderr, "%s: %ld blocks leaked\n", argv[i], memory.live - live);
                return 1;
            }
        }
        free(data);
    }
    ggufx_runtime_destroy(rt);
    return memory.live != 0;
}
