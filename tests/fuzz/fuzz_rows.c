/*
 * Fuzz target: rows of any bytes, as blocks of any type, dequantized and multiplied by values of
 * any bits. Every instruction set has the bits of scalar. Input: type, mode, columns, blocks in a
 * row, source of values, values, bytes of blocks.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/weight_calls.h"
#include "chat_main.h"
#include "every_isa.h"

#include <ggufx/ggufx.h>

const char *const chat_seeds[] = {
    "\x02\x01\x01\x01\x01zzzzzzzzqqqqqqqq1234567890abcdefghijklmnopqrstuvwxyz",
    "\x08\x01\x05\x02\x01 ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "\x0c\x02\x01\x01\x01the codes of a block of two hundred and fifty-six values",
    "\x12\x03\x04\x01\x02\xff\xfe\x7f\x80 grids",
    "\x13\x01\x07\x03\x03 \x3c\x3c\x3c scales",
    "\x16\x02\x02\x01\x01 searching for other bits",
    "\x1d\x04\x03\x01\x02 one and three quarters",
    "\x27\x01\x05\x02\x01 e8m0 \xff\xff\xff",
    "\x1e\x01\x06\x02\x01 brain floats \x80\x7f\xc0\x7f",
    "\x22\x02\x04\x01\x03 ternary ternary ternary",
    NULL,
};
const char chat_seed_end[] = "";
const size_t chat_seed_end_length = 0;

enum { ROWS = 5, MOST_COLUMNS = 7, MOST_VALUES = 1024 };

typedef struct product {
    uint32_t type, flags;
    size_t n, k; /* columns, values of a row */
    float *x;
} product;

/* Repeats the input bytes with variations, so that a short input fills many different blocks. */
static void fill(uint8_t *out, size_t n, bytes *in) {
    for (size_t i = 0; i < n; i++)
        out[i] = in->n ? (uint8_t)(in->data[i % in->n] + i / in->n * 29) : (uint8_t)(i * 7);
}

/* Moderate values times a power of two; some take their bits from the input. */
static void fill_values(float *x, size_t n, uint32_t how, bytes *in) {
    for (size_t i = 0; i < n; i++) {
        const uint32_t v = (uint32_t)(i * 2654435761u) >> 20;
        const uint32_t bits = (100 + how % 50) << 23;
        float scale;
        memcpy(&scale, &bits, sizeof scale);
        x[i] = ((float)v - 2048.0f) * scale;
    }
    for (uint32_t i = how / 50; i > 0; i--) {
        const uint32_t at = take(in) * 4 + take(in), any = take_u32(in);
        memcpy(x + at % n, &any, sizeof any);
    }
}

static void multiply(float *y, const product *p, const ggufx_runtime *rt, const ggufx_tensor *w) {
    ggufx_matmul_options options = {.struct_size = sizeof options};
    ggufx_error error;
    options.flags = p->flags;
    const ggufx_status status =
        matmul(y, 0, p->n * ROWS, rt, w, p->x, 0, p->n * p->k, p->n, &options, &error);
    if (status == GGUFX_OK) return;
    fprintf(stderr, "%s\n", error.message);
    abort();
}

static void compare(const product *p, const ggufx_tensor *w, int has_product) {
    const isas *all = every_isa();
    const size_t n = ROWS * p->k, n_y = ROWS * p->n;
    float *want = calloc(n + n_y, sizeof *want), *got = calloc(n + n_y, sizeof *got);
    if (!want || !got) abort();
    for (size_t i = 0; i < all->n; i++) {
        float *out = i == 0 ? want : got;
        if (ggufx_dequantize(out, n, all->rt[i], w, 0, ROWS, NULL) != GGUFX_OK) abort();
        if (has_product) multiply(out + n, p, all->rt[i], w);
        must_be_same(want, out, n * sizeof *out, "values", all->name[i], p->type);
        must_be_same(want + n, out + n, n_y * sizeof *out, "products", all->name[i], p->type);
    }
    free(want);
    free(got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint32_t modes[] = {0,
                                     GGUFX_MATMUL_F32,
                                     GGUFX_MATMUL_BATCH_INVARIANT,
                                     GGUFX_MATMUL_INT16,
                                     GGUFX_MATMUL_TILED,
                                     GGUFX_MATMUL_F32 | GGUFX_MATMUL_BATCH_INVARIANT,
                                     GGUFX_MATMUL_INT16 | GGUFX_MATMUL_TILED};
    bytes in = {data, size};
    product p;
    ggufx_type_facts facts = {.struct_size = sizeof facts};
    p.type = take(&in) % 64;
    p.flags = modes[take(&in) % (sizeof modes / sizeof *modes)];
    p.n = 1 + take(&in) % MOST_COLUMNS;
    if (ggufx_type_info(&facts, p.type, NULL) != GGUFX_OK || !facts.block_values) return 0;
    p.k = facts.block_values * (1 + take(&in) % (MOST_VALUES / facts.block_values));
    p.x = malloc(p.n * p.k * sizeof *p.x);
    if (!p.x) abort();
    fill_values(p.x, p.n * p.k, take(&in), &in);
    const size_t n_bytes = ROWS * p.k / facts.block_values * facts.block_bytes;
    uint8_t *blocks = malloc(n_bytes); /* exact, so that ASan detects reads past the end */
    if (!blocks) abort();
    fill(blocks, n_bytes, &in);
    const uint64_t ne[2] = {p.k, ROWS};
    ggufx_tensor *w = NULL;
    if (tensor_of(&w, every_isa()->rt[0], p.type, 2, ne, 0, blocks, n_bytes, NULL, NULL, NULL,
                  NULL) == GGUFX_OK)
        compare(&p, w, (facts.flags & GGUFX_TYPE_HAS_MATVEC) != 0);
    ggufx_tensor_destroy(w);
    free(blocks);
    free(p.x);
    return 0;
}
