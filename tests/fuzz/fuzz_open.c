/*
 * Fuzz target: a file in memory, opened in three ways, and all of it
 * looked at. With libFuzzer: clang -fsanitize=fuzzer,address,undefined fuzz_open.c -lggufx;
 * replay_main.c runs it over stored files instead.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/file_look.h"
#include "replay.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void open_and_look(const ggufx_runtime *rt, const void *data, size_t size, uint32_t flags,
                          int32_t io) {
    ggufx_open_options options;
    ggufx_error error;
    ggufx_file *file = NULL;
    ggufx_open_options_init(&options);
    options.flags = flags;
    options.io = io;
    options.max_metadata_bytes = 64u << 20;
    if (ggufx_open_memory(&file, rt, data, size, NULL, NULL, &options, &error) == GGUFX_OK) {
        look_at_file(file, rt);
        ggufx_file_destroy(file);
    } else if (memchr(error.message, 0, sizeof error.message) == NULL || !error.message[0]) {
        abort(); /* every error has a text */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static ggufx_runtime *rt;
    unsigned char *exact;
    if (!rt) {
        ggufx_runtime_options options;
        ggufx_runtime_options_init(&options);
        options.threads = 1;
        if (ggufx_runtime_create(&rt, &options, NULL) != GGUFX_OK) abort();
    }
    exact = malloc(size ? size : 1); /* of the exact size, so that ASan sees a read past the end */
    if (!exact) return 0;
    if (size) memcpy(exact, data, size);
    open_and_look(rt, exact, size, GGUFX_OPEN_LEGACY_V1, GGUFX_IO_AUTO);
    open_and_look(rt, exact, size, GGUFX_OPEN_METADATA_ONLY | GGUFX_OPEN_UNKNOWN_TYPES,
                  GGUFX_IO_READ);
    open_and_look(rt, exact, size, GGUFX_OPEN_STRICT, GGUFX_IO_READ);
    free(exact);
    return 0;
}
