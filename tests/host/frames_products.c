/*
 * Products and dequantization of every type, in every mode, with one column and with many.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/weight_calls.h"
#include "frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxBytes = 16 << 20, kWide = 512, kMostRows = 16384 };

typedef struct product {
    const ggufx_runtime *rt;
    ggufx_tensor *w;
    const float *x;
    float *y;
    size_t k, n_rows, n;
    uint32_t flags;
} product;

static ggufx_status multiply(void *user) {
    const product *p = user;
    ggufx_matmul_options options = {.struct_size = sizeof options};
    options.flags = p->flags;
    return matmul(p->y, 0, p->n_rows * p->n, p->rt, p->w, p->x, 0, p->k * p->n, p->n, &options,
                  NULL);
}

static ggufx_status decode(void *user) {
    const product *p = user;
    return ggufx_dequantize(p->y, p->k * p->n_rows, p->rt, p->w, 0, p->n_rows, NULL);
}

/* The blocks' bytes are small numbers, so that the scales of any type are finite and normal. */
static void wrap(product *p, const uint8_t *bytes, uint32_t type, size_t k, size_t n_rows) {
    const uint64_t shape[2] = {k, n_rows};
    uint64_t row_bytes = 0;
    if (ggufx_type_row_bytes(&row_bytes, type, k, NULL) != GGUFX_OK) exit(1);
    if (n_rows * row_bytes > kMaxBytes) exit(1);
    p->k = k;
    p->n_rows = n_rows;
    if (tensor_of(&p->w, p->rt, type, 2, shape, 0, bytes, (size_t)(n_rows * row_bytes), "w", NULL,
                  NULL, NULL) != GGUFX_OK)
        exit(1);
}

/* Returns a number of rows that fits the bytes and whose products with n columns take some ms. */
static size_t rows_of(uint32_t type, size_t k, size_t n) {
    uint64_t row_bytes = 1;
    if (ggufx_type_row_bytes(&row_bytes, type, k, NULL) != GGUFX_OK) exit(1);
    size_t n_rows = (size_t)(kMaxBytes / row_bytes);
    const size_t in_time = ((size_t)1 << 28) / (k * n);
    if (n_rows > in_time) n_rows = in_time;
    return n_rows < 32 ? 32 : n_rows > kMostRows ? kMostRows : n_rows;
}

static void check_product(frames *f, product *p, const uint8_t *bytes,
                          const ggufx_type_facts *type) {
    static const uint32_t modes[] = {0, GGUFX_MATMUL_INT16, GGUFX_MATMUL_F32};
    static const struct {
        size_t k, n;
    } shapes[] = {{4096, 1}, {4096, 8}, {4096, kWide}, {16384, 3}};
    char name[64];
    for (size_t i = 0; i < 12; i++) {
        p->n = shapes[i % 4].n;
        p->flags = modes[i / 4];
        if ((type->flags & GGUFX_TYPE_IS_FLOAT) && p->flags) continue; /* flags change nothing */
        wrap(p, bytes, type->id, shapes[i % 4].k, rows_of(type->id, shapes[i % 4].k, p->n));
        snprintf(name, sizeof name, "%s k %zu n %zu mode %u", type->name, p->k, p->n,
                 (unsigned)p->flags);
        frames_check(f, name, multiply, p);
        ggufx_tensor_destroy(p->w);
    }
}

void frames_of_products(frames *f, const ggufx_runtime *rt) {
    uint8_t *bytes = malloc(kMaxBytes);
    product p = {.rt = rt};
    float *x = malloc(sizeof *x * kWide * 4096);
    p.y = malloc(sizeof *p.y * kMostRows * kWide);
    p.x = x;
    if (!bytes || !x || !p.y) exit(1);
    for (size_t i = 0; i < kMaxBytes; i++) bytes[i] = (uint8_t)(16 + i * 7 % 32);
    frames_fill(x, (size_t)kWide * 4096);
    for (uint32_t id = 0; id < 64; id++) {
        ggufx_type_facts type = {.struct_size = sizeof type};
        char name[64];
        if (ggufx_type_info(&type, id, NULL) != GGUFX_OK) continue;
        if (type.flags & GGUFX_TYPE_HAS_MATVEC) check_product(f, &p, bytes, &type);
        wrap(&p, bytes, id, 4096, 512);
        snprintf(name, sizeof name, "decode %s", type.name);
        frames_check(f, name, decode, &p);
        ggufx_tensor_destroy(p.w);
    }
    free(x);
    free(p.y);
    free(bytes);
}
