/*
 * Fuzz target: an importance matrix in memory, in either format, read and merged with itself.
 * SPDX-License-Identifier: MIT
 */
#include "replay.h"

#include <ggufx/ggufx.h>

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void look(const ggufx_imatrix *imatrix) {
    ggufx_imatrix_facts facts = {.struct_size = sizeof facts};
    ggufx_imatrix_entry entry = {.struct_size = sizeof entry};
    float sum = 0;
    if (ggufx_imatrix_info(&facts, imatrix, NULL) != GGUFX_OK) abort();
    for (size_t i = 0; i < facts.n_entries; i++) {
        size_t at = 0;
        if (ggufx_imatrix_entry_at(&entry, imatrix, i, NULL) != GGUFX_OK) abort();
        if (ggufx_imatrix_find(&at, imatrix, entry.name.data, entry.name.size, NULL) != GGUFX_OK ||
            at != i)
            abort();
        for (uint64_t k = 0; k < entry.n_columns * entry.n_matrices; k++) sum += entry.values[k];
    }
    if (sum != sum) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static ggufx_runtime *rt;
    ggufx_runtime_options options = {.struct_size = sizeof options};
    ggufx_imatrix *imatrix = NULL;
    ggufx_error error;
    uint8_t *exact = malloc(size ? size : 1); /* so that sanitizers detect reads past the end */
    options.threads = 1;
    if (!rt && ggufx_runtime_create(&rt, &options, NULL) != GGUFX_OK) abort();
    if (!exact) abort();
    memcpy(exact, data, size);
    if (ggufx_imatrix_open_memory(&imatrix, rt, exact, size, &error) == GGUFX_OK) {
        look(imatrix);
        (void)ggufx_imatrix_merge(imatrix, imatrix, NULL); /* may exceed f32 */
        look(imatrix);
        ggufx_imatrix_destroy(imatrix);
    } else if (!memchr(error.message, 0, sizeof error.message) || !error.message[0]) {
        abort(); /* every error has a message */
    }
    free(exact);
    return 0;
}
