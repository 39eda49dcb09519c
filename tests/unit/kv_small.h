/*
 * A small cache and its facts, for tests of its calls.
 * SPDX-License-Identifier: MIT
 */
#ifndef KV_SMALL_H
#define KV_SMALL_H

#include "kv_fixture.h"

enum { kDim = 32, kHeads = 2, kRow = kDim * kHeads };

static inline ggufx_kv_options shape_of(uint32_t type_k, uint32_t type_v, uint32_t n_sequences) {
    ggufx_kv_options shape = kv_shape(kHeads, 2 * kHeads, kDim, kDim, type_k, type_v);
    shape.n_sequences = n_sequences;
    shape.rope_style = GGUFX_ROPE_NEOX;
    return shape;
}

static inline void read_all(const ggufx_kv *kv, uint32_t sequence, size_t first, size_t n, float *k,
                            float *v) {
    ggufx_error error;
    if (kv_read_rows(k, n * kRow, v, n * kRow, kv, 0, sequence, first, n, &error) != GGUFX_OK)
        fail_msg("%s", error.message);
}

static inline uint64_t length_of(const ggufx_kv *kv, uint32_t sequence) {
    uint64_t length = 0;
    assert_int_equal(ggufx_kv_length(&length, kv, sequence, NULL), GGUFX_OK);
    return length;
}

static inline ggufx_kv_facts facts_of(const ggufx_kv *kv) {
    ggufx_kv_facts facts = {.struct_size = sizeof facts};
    assert_int_equal(ggufx_kv_info(&facts, kv, GGUFX_KV_ALL_LAYERS, NULL), GGUFX_OK);
    return facts;
}

#endif
