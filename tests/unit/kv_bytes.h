/*
 * Snapshots of a KV cache in memory.
 * SPDX-License-Identifier: MIT
 */
#ifndef KV_BYTES_H
#define KV_BYTES_H

#include "kv_fixture.h"

typedef struct kv_bytes {
    uint8_t *data;
    size_t n, capacity, at; /* at: read position */
    long calls, fail_at;    /* the fail_at-th call from now on fails; 0 = none */
} kv_bytes;

static inline ggufx_status kv_bytes_write(void *user, const void *data, size_t n) {
    kv_bytes *b = user;
    b->calls++;
    if (b->fail_at && --b->fail_at == 0) return GGUFX_E_IO;
    if (b->capacity - b->n < n) {
        b->capacity = 2 * (b->n + n);
        b->data = realloc(b->data, b->capacity);
        assert_non_null(b->data);
    }
    memcpy(b->data + b->n, data, n);
    b->n += n;
    return GGUFX_OK;
}

static inline ggufx_status kv_bytes_read(void *user, void *data, size_t n) {
    kv_bytes *b = user;
    b->calls++;
    if (b->fail_at && --b->fail_at == 0) return GGUFX_E_IO;
    if (b->n - b->at < n) return GGUFX_E_TRUNCATED;
    memcpy(data, b->data + b->at, n);
    b->at += n;
    return GGUFX_OK;
}

/* Returns the snapshot of a sequence; the caller frees data. */
static inline kv_bytes kv_saved(const ggufx_kv *kv, uint32_t sequence) {
    kv_bytes b = {0};
    ggufx_error error;
    if (ggufx_kv_save(kv, sequence, kv_bytes_write, &b, &error) != GGUFX_OK)
        fail_msg("%s", error.message);
    return b;
}

#endif
