/*
 * Fuzz target: values of any bits, quantized to any type. Every instruction set gives the same
 * bytes, or the same refusal; finite values are accepted, others refused. Input: type, mode, blocks
 * in a row, whether there is an importance matrix, a scale, bits of values.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/weight_calls.h"
#include "chat_main.h"
#include "every_isa.h"

#include <ggufx/ggufx.h>
#include <math.h>

const char *const chat_seeds[] = {
    "\x02\x01\x01\x01\x01zzzzzzzzqqqqqqqq1234567890abcdefghijklmnopqrstuvwxyz",
    "\x08\x01\x01\x01\x20 eight bits of a value and a scale for thirty-two of them",
    "\x0c\x00\x01\x00\x21the codes of a block of two hundred and fifty-six values",
    "\x0e\x01\x02\x01\x40 six bits",
    "\x10\x01\x01\x01\x50 grids of two bits want weights",
    "\x14\x01\x02\x00\x60 four bits that are not linear",
    "\x27\x01\x01\x01\x70 microscaling \xff\xff\x7f\x7f",
    "\x22\x01\x01\x01\x80 ternary ternary ternary",
    NULL,
};
const char chat_seed_end[] = "";
const size_t chat_seed_end_length = 0;

enum { ROWS = 2, MOST_VALUES = 512 };

typedef struct rows {
    uint32_t type;
    size_t k, n_bytes;
    float *values, *weights; /* ROWS * k; k, or NULL */
} rows;

/* Small codes times a scale; one value of sixteen takes its bits from the input. */
static void fill_values(float *out, size_t n, bytes *in) {
    const uint32_t scale_bits = (60 + take(in) % 130) << 23;
    float scale;
    memcpy(&scale, &scale_bits, sizeof scale);
    for (size_t i = 0; i < n; i++) {
        const uint32_t code = take(in);
        if (code % 16 == 15 && in->n) {
            const uint32_t any = take_u32(in);
            memcpy(out + i, &any, sizeof any);
        } else {
            out[i] = ((float)code - 120.0f + (float)(i * 37 % 64)) * scale;
        }
    }
}

static ggufx_status encode(uint8_t *out, const rows *r, const ggufx_runtime *rt, int32_t mode,
                           ggufx_error *error) {
    ggufx_quantize_args options = {.struct_size = sizeof options};
    options.mode = mode;
    options.imatrix = r->weights;
    memset(error, 0, sizeof *error);
    return quantize_rows(out, r->n_bytes, rt, r->type, r->values, ROWS, r->k, &options, error);
}

/* Quantizes with all instruction sets; returns their common status. */
static ggufx_status encode_everywhere(uint8_t *want, const rows *r, int32_t mode) {
    const isas *all = every_isa();
    uint8_t *got = malloc(r->n_bytes);
    ggufx_error error, other;
    if (!got) abort();
    const ggufx_status status = encode(want, r, all->rt[0], mode, &error);
    if (status != GGUFX_OK && !error.message[0]) abort();
    if (status == GGUFX_E_INTERNAL) abort();
    for (size_t i = 1; i < all->n; i++) {
        if (encode(got, r, all->rt[i], mode, &other) != status) abort();
        must_be_same(error.message, other.message, strlen(error.message), "refusals", all->name[i],
                     r->type);
        if (status == GGUFX_OK) must_be_same(want, got, r->n_bytes, "bytes", all->name[i], r->type);
    }
    free(got);
    return status;
}

static int all_finite(const rows *r) {
    for (size_t i = 0; i < ROWS * r->k; i++)
        if (!isfinite(r->values[i])) return 0;
    return 1;
}

/* Their quantizers build tables on first use, which takes tens of milliseconds. */
static int begins_with_tables(uint32_t type) {
    return type == GGUFX_TYPE_IQ2_XXS || type == GGUFX_TYPE_IQ2_XS || type == GGUFX_TYPE_IQ2_S ||
           type == GGUFX_TYPE_IQ3_XXS || type == GGUFX_TYPE_IQ3_S || type == GGUFX_TYPE_IQ1_S ||
           type == GGUFX_TYPE_IQ1_M;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes in = {data, size};
    rows r;
    ggufx_type_facts facts = {.struct_size = sizeof facts};
    r.type = take(&in) % 64;
    const uint32_t how = take(&in);
    const int32_t mode = how % 2 ? GGUFX_QUANTIZE_REFERENCE : GGUFX_QUANTIZE_REFINED;
    if (begins_with_tables(r.type) && how % 16 >= 2) return 0;
    if (ggufx_type_info(&facts, r.type, NULL) != GGUFX_OK || !facts.block_values) return 0;
    const size_t most = facts.block_values < 256 ? MOST_VALUES / 4 : MOST_VALUES;
    r.k = facts.block_values * (1 + take(&in) % (most / facts.block_values));
    r.n_bytes = ROWS * r.k / facts.block_values * facts.block_bytes;
    r.weights = take(&in) % 2 ? malloc(r.k * sizeof *r.weights) : NULL;
    r.values = malloc(ROWS * r.k * sizeof *r.values);
    uint8_t *blocks = malloc(r.n_bytes);
    float *back = malloc(ROWS * r.k * sizeof *back);
    if (!r.values || !blocks || !back) abort();
    fill_values(r.values, ROWS * r.k, &in);
    for (size_t i = 0; r.weights && i < r.k; i++)
        r.weights[i] = (float)take(&in) * (i % 3 ? 0.25f : 1.0f);
    const ggufx_status status = encode_everywhere(blocks, &r, mode);
    if ((facts.flags & GGUFX_TYPE_HAS_QUANTIZE) == 0 && status == GGUFX_OK) abort();
    if (status == GGUFX_E_VALUE && all_finite(&r)) abort();
    if (status == GGUFX_OK && !all_finite(&r)) abort();
    if (status == GGUFX_OK && dequantize_blocks(back, ROWS * r.k, every_isa()->rt[0], r.type,
                                                blocks, r.n_bytes, NULL) != GGUFX_OK)
        abort();
    free(back);
    free(blocks);
    free(r.values);
    free(r.weights);
    return 0;
}
