/*
 * Quantization to every type, as the reference and with lower error; importance matrices.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/weight_calls.h"
#include "frames.h"

#include <stdio.h>
#include <stdlib.h>

enum { kColumns = 4096 };

typedef struct encoding {
    const ggufx_runtime *rt;
    uint8_t *out;
    const float *x, *imatrix;
    size_t n_rows;
    uint32_t type;
    int32_t mode;
} encoding;

static ggufx_status encode(void *user) {
    const encoding *e = user;
    ggufx_quantize_args options = {.struct_size = sizeof options};
    options.imatrix = e->imatrix;
    options.mode = e->mode;
    return quantize_rows(e->out, sizeof(float) * e->n_rows * kColumns, e->rt, e->type, e->x,
                         e->n_rows, kColumns, &options, NULL);
}

void frames_of_blocks(frames *f, const ggufx_runtime *rt) {
    enum { kRows = 16 };
    float *x = malloc(sizeof *x * kRows * kColumns), *imatrix = malloc(sizeof *x * kColumns);
    encoding e = {.rt = rt, .x = x, .out = malloc(sizeof(float) * kRows * kColumns)};
    if (!x || !imatrix || !e.out) exit(1);
    frames_fill(x, kRows * kColumns);
    for (size_t i = 0; i < kColumns; i++) imatrix[i] = 0.5f + (float)(i % 7);
    for (uint32_t id = 0; id < 64; id++) {
        ggufx_type_facts type = {.struct_size = sizeof type};
        if (ggufx_type_info(&type, id, NULL) != GGUFX_OK) continue;
        if (!(type.flags & GGUFX_TYPE_HAS_QUANTIZE)) continue;
        for (int32_t mode = 0; mode <= GGUFX_QUANTIZE_REFINED; mode++) {
            char name[64];
            e.type = id;
            e.mode = mode;
            e.imatrix = imatrix;
            e.n_rows = mode == GGUFX_QUANTIZE_REFINED ? 4 : kRows;
            snprintf(name, sizeof name, "encode %s mode %d", type.name, (int)mode);
            frames_check(f, name, encode, &e);
        }
    }
    free(x);
    free(imatrix);
    free(e.out);
}
