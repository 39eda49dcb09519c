/*
 * Importance matrices of exercise_run(): read, merge, select, write.
 * SPDX-License-Identifier: MIT
 */
#include "exercise.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Entries of a .dat file: name, calls, values. */
static const unsigned char kDat[] = {2,   0, 0, 0, 1, 0, 0, 0, 'a', 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0x80, 0x3f,
                                     1,   0, 0, 0, 'b', 2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40,
                                     3,   0, 0, 0, 1, 0, 0, 0, 't'};

static ggufx_status look(exercise *e, const ggufx_imatrix *imatrix) {
    const struct api *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_imatrix_facts facts = {.struct_size = sizeof facts};
    ggufx_imatrix_entry entry = {.struct_size = sizeof entry};
    const char *text = NULL;
    size_t at = 0, length = 0;
    TRY(a->imatrix_info(&facts, imatrix, &e->error));
    TRY(a->imatrix_find(&at, imatrix, "b", 1, &e->error));
    TRY(a->imatrix_at(&entry, imatrix, at, &e->error));
    TRY(a->imatrix_dataset(&text, &length, imatrix, 0, &e->error));
    MUST(facts.n_datasets == 1 && length == 1 && entry.n_columns == 2);
    exercise_mix(e, entry.values, 2, sizeof *entry.values);
end:
    return status;
}

ggufx_status exercise_imatrix(exercise *e, const ggufx_runtime *rt) {
    static const uint8_t kKeep[2] = {0, 1};
    const struct api *a = e->api;
    ggufx_status status = GGUFX_OK;
    ggufx_imatrix *imatrix = NULL, *again = NULL;
    char path[] = "/tmp/ggufx-exercise-XXXXXX";
    const int fd = mkstemp(path);
    MUST(fd >= 0 && close(fd) == 0);
    TRY(a->imatrix_open_memory(&imatrix, rt, kDat, sizeof kDat, &e->error));
    for (int32_t format = GGUFX_IMATRIX_GGUF; format <= GGUFX_IMATRIX_DAT; format++) {
        TRY(a->imatrix_write(imatrix, path, format, e->progress, &e->error));
        a->imatrix_destroy(again);
        again = NULL;
        TRY(a->imatrix_open(&again, rt, path, e->progress, &e->error));
        TRY(a->imatrix_merge(imatrix, again, &e->error));
        TRY(look(e, imatrix));
    }
    TRY(a->imatrix_select(imatrix, kKeep, 2, &e->error));
    TRY(look(e, imatrix));
end:
    a->imatrix_destroy(imatrix);
    a->imatrix_destroy(again);
    MUST(unlink(path) == 0);
    return status;
}
