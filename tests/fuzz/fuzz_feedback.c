/*
 * Fuzz target: moments of inputs of any bits, and rows of any bits that are quantized with them.
 * Every instruction set gives the same bytes, or the same refusal; blocks are finite. Input: type,
 * flags, number of inputs, passes, a scale of inputs and rows, bits of values.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/weight_calls.h"
#include "chat_main.h"
#include "every_isa.h"

#include <ggufx/ggufx.h>

const char *const chat_seeds[] = {
    "\x02\x01\x20\x01\x40\x40zzzzzzzzqqqqqqqq1234567890abcdefghijklmnopqrstuvwxyz",
    "\x08\x00\x01\x02\x40\x3c eight bits of a value and a scale for thirty-two of them",
    "\x14\x03\xff\x01\x42\x40 four bits that are not linear",
    "\x27\x02\x40\x01\x30\x50 microscaling \xff\xff\x7f\x7f",
    "\x06\x01\x10\x03\x7f\x10 five bits",
    NULL,
};
const char chat_seed_end[] = "";
const size_t chat_seed_end_length = 0;

enum { K = 32, ROWS = 3, MOST_INPUTS = 20 * K, MOST_BYTES = ROWS * K * 4 };

typedef struct problem {
    uint32_t type, flags, n_passes;
    size_t n_inputs;
    float y[MOST_INPUTS * K], x[MOST_INPUTS * K], rows[ROWS * K];
} problem;

/* Small numbers times a scale; one of 32 takes its bits from the input. */
static void fill(float *out, size_t n, uint32_t scale_bits, bytes *in) {
    float scale;
    memcpy(&scale, &scale_bits, sizeof scale);
    for (size_t i = 0; i < n; i++) {
        const uint32_t code = take(in);
        out[i] = ((float)code - 120.0f + (float)(i * i * 37 % 64)) * scale;
        if (code % 32 != 31 || !in->n) continue;
        const uint32_t any = take_u32(in);
        memcpy(out + i, &any, sizeof any);
    }
}

static ggufx_status solve(uint8_t *out, const problem *p, const ggufx_runtime *rt,
                          ggufx_error *error) {
    const uint32_t drift = p->flags & GGUFX_MOMENTS_DRIFT;
    ggufx_moments *moments = NULL;
    const ggufx_moments_inputs inputs = {.struct_size = sizeof inputs,
                                         .n = p->n_inputs,
                                         .n_columns = K,
                                         .rows = p->y,
                                         .source_rows = drift ? p->x : NULL};
    ggufx_feedback_facts facts = {.struct_size = sizeof facts};
    ggufx_feedback_args args = {.struct_size = sizeof args,
                                .type = p->type,
                                .n_passes = p->n_passes,
                                .n_rows = ROWS,
                                .n_cols = K,
                                .rows = p->rows};
    memset(error, 0, sizeof *error);
    ggufx_status status = ggufx_moments_create(&moments, rt, K, drift, error);
    if (status == GGUFX_OK) status = ggufx_moments_add(moments, &inputs, error);
    args.moments = moments;
    if (p->flags & 2) args.kept_out = moments;
    if (status == GGUFX_OK)
        status = ggufx_quantize_feedback(out, MOST_BYTES, rt, &args, &facts, error);
    ggufx_moments_destroy(moments);
    return status;
}

static void check(const problem *p) {
    const isas *all = every_isa();
    uint8_t want[MOST_BYTES] = {0}, got[MOST_BYTES] = {0};
    float back[ROWS * K];
    uint64_t row_bytes = 0;
    ggufx_error error, other;
    const ggufx_status status = solve(want, p, all->rt[0], &error);
    if (status == GGUFX_E_INTERNAL || (status != GGUFX_OK && !error.message[0])) abort();
    for (size_t i = 1; i < all->n; i++) {
        if (solve(got, p, all->rt[i], &other) != status) abort();
        must_be_same(error.message, other.message, strlen(error.message), "refusals", all->name[i],
                     p->type);
        if (status == GGUFX_OK) must_be_same(want, got, MOST_BYTES, "bytes", all->name[i], p->type);
    }
    if (status != GGUFX_OK) return;
    if (ggufx_type_row_bytes(&row_bytes, p->type, K, NULL) != GGUFX_OK ||
        dequantize_blocks(back, ROWS * K, all->rt[0], p->type, want, ROWS * row_bytes, NULL) !=
            GGUFX_OK)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes in = {data, size};
    problem *p = malloc(sizeof *p);
    if (!p) abort();
    p->type = take(&in) % 64;
    p->flags = take(&in);
    p->n_inputs = take(&in) % 4 ? 5 * K : MOST_INPUTS;
    p->n_passes = take(&in) % 5;
    const uint32_t input_scale = (60 + take(&in) % 130) << 23;
    const uint32_t row_scale = (60 + take(&in) % 130) << 23;
    fill(p->rows, ROWS * K, row_scale, &in);
    fill(p->y, p->n_inputs * K, input_scale, &in);
    fill(p->x, p->n_inputs * K, input_scale, &in);
    check(p);
    free(p);
    return 0;
}
