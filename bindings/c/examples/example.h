/* Helpers shared by the examples: end with the library's message, or open the file named by argv[1].
 * SPDX-License-Identifier: MIT */
#ifndef GGUFX_EXAMPLE_H
#define GGUFX_EXAMPLE_H

#include <ggufx/ggufx.h>

#include <stdio.h>
#include <stdlib.h>

static ggufx_error error;

/* Every call that can fail returns a status and fills the error it was given. */
static inline void must(ggufx_status status) {
    if (status == GGUFX_OK) return;
    fprintf(stderr, "%s: %s\n", ggufx_status_name(status), error.message);
    exit(1);
}

static inline ggufx_file *open_file(ggufx_runtime **rt, int argc, char **argv) {
    ggufx_file *file = NULL;
    if (argc < 2) {
        fprintf(stderr, "usage: %s MODEL.gguf\n", argv[0]);
        exit(2);
    }
    must(ggufx_runtime_create(rt, NULL, &error));
    must(ggufx_open(&file, *rt, argv[1], NULL, &error));
    return file;
}

#endif
