/*
 * Calls that rebuild pages: they must succeed completely or change nothing.
 * SPDX-License-Identifier: MIT
 */
#ifndef KV_REBUILD_H
#define KV_REBUILD_H

#include "kv_bytes.h"
#include "kv_small.h"

#include <stdio.h>

/* A call on a cache that either succeeds or changes nothing. */
typedef ggufx_status kv_call(ggufx_kv *kv, const ggufx_progress *progress, ggufx_error *error);

static inline void kv_assert_same(const kv_bytes *a, const kv_bytes *b) {
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->data, b->data, a->n);
}

static inline int32_t kv_countdown(void *user, uint64_t done, uint64_t total) {
    assert_true(done < total);
    return --*(long *)user == 0;
}

/* Fails the k-th allocation (or poll) of the call, for every k until it succeeds. Returns the
 * number of failures. */
static inline long kv_fail_each(ggufx_kv *kv, kv_memory *memory, kv_call *call, int polls) {
    kv_bytes held = kv_saved(kv, GGUFX_ALL_SEQUENCES);
    const long live = memory->live;
    ggufx_progress progress = {.report = kv_countdown};
    long k = 1;
    for (;; k++) {
        long left = polls ? k : 0;
        progress.user = &left;
        memory->fail_at = polls ? 0 : k;
        ggufx_error error;
        const ggufx_status status = call(kv, &progress, &error);
        memory->fail_at = 0;
        if (status == GGUFX_OK) break;
        assert_int_equal(status, polls ? GGUFX_E_CANCELLED : GGUFX_E_MEMORY);
        assert_int_equal(error.status, status);
        assert_true(error.message[0] != 0);
        assert_int_equal(memory->live, live);
        kv_bytes now = kv_saved(kv, GGUFX_ALL_SEQUENCES);
        kv_assert_same(&held, &now);
        free(now.data);
    }
    free(held.data);
    return k - 1;
}

#endif
