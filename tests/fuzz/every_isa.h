/*
 * A runtime of one thread for each instruction set of this build and processor, scalar first. Used
 * by targets that compare their bits.
 * SPDX-License-Identifier: MIT
 */
#ifndef EVERY_ISA_H
#define EVERY_ISA_H

#include <ggufx/ggufx.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ISAS = 8, ISA_NUMBERS = 24 };

typedef struct isas {
    ggufx_runtime *rt[MOST_ISAS];
    const char *name[MOST_ISAS];
    size_t n;
} isas;

static const isas *every_isa(void) {
    static isas all;
    ggufx_runtime_options options;
    if (all.n) return &all;
    options = (ggufx_runtime_options){.struct_size = sizeof(ggufx_runtime_options)};
    options.threads = 1;
    for (int32_t i = 0; i < ISA_NUMBERS && all.n < MOST_ISAS; i++) {
        ggufx_runtime_facts facts = {.struct_size = sizeof facts};
        options.isa = (GGUFX_ISA_SCALAR + i) % ISA_NUMBERS; /* GGUFX_ISA_BEST last */
        if (ggufx_runtime_create(&all.rt[all.n], &options, NULL) != GGUFX_OK) continue;
        if (ggufx_runtime_info(&facts, all.rt[all.n], NULL) != GGUFX_OK) abort();
        all.name[all.n++] = facts.isa_name;
    }
    if (all.n == 0 || strcmp(all.name[0], "scalar") != 0) abort();
    return &all;
}

/* Bytes of an input, zeros after its end. */
typedef struct bytes {
    const uint8_t *data;
    size_t n;
} bytes;

static uint32_t take(bytes *in) {
    if (in->n == 0) return 0;
    in->n--;
    return *in->data++;
}

static uint32_t take_u32(bytes *in) {
    uint32_t bits = 0;
    for (int i = 0; i < 4; i++) bits |= take(in) << 8 * i;
    return bits;
}

static void must_be_same(const void *a, const void *b, size_t n, const char *what, const char *isa,
                         uint32_t type) {
    if (memcmp(a, b, n) == 0) return;
    fprintf(stderr, "%s of type %u: %s has not the bits of scalar\n", what, (unsigned)type, isa);
    abort();
}

#endif
