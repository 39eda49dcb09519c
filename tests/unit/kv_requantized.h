/*
 * Caches with tokens, and the call that converts a layer to other types.
 * SPDX-License-Identifier: MIT
 */
#ifndef KV_REQUANTIZED_H
#define KV_REQUANTIZED_H

#include "kv_rebuild.h"

enum { kTokens = 300 };

static inline ggufx_kv *kv_filled_to(const ggufx_runtime *rt, const ggufx_kv_options *shape,
                                     size_t n) {
    ggufx_kv *kv = kv_make(rt, shape);
    float *k = kv_random(n * kRow, 1), *v = kv_random(n * kRow, 2);
    for (size_t i = 0; i < n * kRow; i++) k[i] += i % 7 == 0 ? 0.5f : 0.0f;
    for (uint32_t layer = 0; layer < shape->n_layers; layer++)
        assert_int_equal(kv_append_rows(kv, layer, 0, n, NULL, k, n * kRow, v, n * kRow, NULL),
                         GGUFX_OK);
    assert_int_equal(ggufx_kv_commit(kv, 0, NULL), GGUFX_OK);
    free(k);
    free(v);
    return kv;
}

static inline ggufx_kv *kv_filled(const ggufx_runtime *rt, const ggufx_kv_options *shape) {
    return kv_filled_to(rt, shape, kTokens);
}

static inline void kv_requantize_to(ggufx_kv *kv, uint32_t layer, uint32_t type_k,
                                    uint32_t type_v) {
    ggufx_error error;
    if (ggufx_kv_requantize(kv, layer, type_k, type_v, NULL, &error))
        fail_msg("to %u, %u: %s", type_k, type_v, error.message);
}

/* Returns two sequences that share most pages, with partial pages and a shift. */
static inline ggufx_kv *kv_shared(const ggufx_runtime *rt, uint32_t type) {
    ggufx_kv_options shape = shape_of(type, type, 3);
    shape.n_layers = 2;
    ggufx_kv *kv = kv_filled(rt, &shape);
    assert_int_equal(ggufx_kv_copy(kv, 0, 1, 0, 250, NULL), GGUFX_OK);
    assert_int_equal(ggufx_kv_copy(kv, 0, 2, 2, kv_rest(kv, 0, 2), NULL), GGUFX_OK);
    assert_int_equal(ggufx_kv_remove(kv, 1, 20, 10, NULL), GGUFX_OK);
    assert_int_equal(ggufx_kv_remove(kv, 2, 0, 78, NULL), GGUFX_OK);
    assert_int_equal(ggufx_kv_shift(kv, 1, 90, kv_rest(kv, 1, 90), 5, NULL), GGUFX_OK);
    assert_int_equal(ggufx_kv_reserve(kv, 1, 500, NULL), GGUFX_OK);
    return kv;
}

#endif
