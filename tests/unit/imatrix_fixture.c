/* SPDX-License-Identifier: MIT */
#include "imatrix_fixture.h"
#include "ok.h"

#include <string.h>

const float kSums[kColumns * kExperts] = {2, 4, 6, 8, 10, 12};
const float kCounts[kExperts] = {4, 0};

void header(gb *b) {
    gb_begin(b, 3, 0);
    gb_key_string(b, "general.type", "imatrix");
    gb_key_array(b, "imatrix.datasets", GGUFX_VALUE_STRING, 2);
    gb_string(b, "one.txt");
    gb_string(b, "two.txt");
    gb_key_u32(b, "imatrix.chunk_count", 7);
    gb_key_u32(b, "imatrix.chunk_size", 512);
}

static void put_floats(gb *b, const float *x, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) gb_f32(b, x[i]);
    gb_tensor_data(b, NULL, 0); /* pads to the alignment */
}

void build(gb *b, const char *counts, uint64_t n) {
    const uint64_t shape[2] = {kColumns, kExperts}, one[2] = {1, n};
    header(b);
    gb_tensor(b, "w.weight.in_sum2", GGUFX_TYPE_F32, 2, shape, sizeof kSums);
    gb_tensor(b, counts, GGUFX_TYPE_F32, 2, one, 4 * n);
    gb_data(b);
    put_floats(b, kSums, kColumns * kExperts);
    put_floats(b, kCounts, n);
}

void put32(gb *b, int32_t v) {
    gb_u32(b, (uint32_t)v);
}

void build_dat(gb *b, int32_t calls, int whole) {
    memset(b, 0, sizeof *b);
    put32(b, 1);
    put32(b, 8);
    gb_bytes(b, "w.weight", 8);
    put32(b, calls);
    put32(b, 2);
    gb_f32(b, 0.3f);
    gb_f32(b, 7.0f);
    if (!whole) return;
    put32(b, 11);
    put32(b, 5);
    gb_bytes(b, "a.txt", 5);
}

ggufx_imatrix *open_it(const gb *b) {
    ggufx_imatrix *imatrix = NULL;
    ggufx_error e;
    if (ggufx_imatrix_open_memory(&imatrix, rt, b->data, b->n, &e) != GGUFX_OK)
        fail_msg("%s", e.message);
    return imatrix;
}

ggufx_imatrix_facts facts_of(const ggufx_imatrix *imatrix) {
    ggufx_imatrix_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_imatrix_info(&facts, imatrix, ok_error()));
    return facts;
}
