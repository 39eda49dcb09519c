/*
 * C functions that the library calls, which call Go's; `user` is a ggufx_go_user.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_GO_HOOKS_H
#define GGUFX_GO_HOOKS_H

#include "safe.h"

/* A function of a set that a cgo.Handle names. */
typedef struct ggufx_go_user {
    uintptr_t set;
    size_t number;
} ggufx_go_user;

/* Go functions, in functions.go, hooks.go and session.go. */
extern ggufx_status ggufxGoProgress(void *user, uint64_t done, uint64_t total);
extern int32_t ggufxGoReadAt(void *user, uint64_t offset, void *data, size_t n);
extern int32_t ggufxGoSize(void *user, uint64_t *out);
extern void ggufxGoDestroy(void *user);
extern void ggufxGoLog(void *user, int32_t level, char *text, size_t length);
extern void *ggufxGoAlloc(void *user, size_t size, size_t align);
extern void ggufxGoFree(void *user, void *ptr, size_t size, size_t align);
extern int32_t ggufxGoParallelFor(void *user, uint32_t n_tasks, void *task, void *ctx);
extern int32_t ggufxGoLayer(void *user, uint32_t layer, uint64_t first, size_t n_tokens, float *q,
                            float *k, float *v, float *out);

static inline void ggufx_go_run(void *task, void *ctx, uint32_t index, uint32_t worker) {
    ((void (*)(void *, uint32_t, uint32_t))task)(ctx, index, worker);
}

/* Calls with addresses of Go's inside of structs and arrays: only C may put them there. */

static inline ggufx_status ggufx_go_decode(ggufx_session *session, const ggufx_decode_item *items,
                                           size_t n, float *logits, size_t n_logits, float *hidden,
                                           size_t n_hidden, ggufx_decode_options *options,
                                           ggufx_error *error) {
    options->logits = logits;
    options->n_logits = n_logits;
    options->hidden = hidden;
    options->n_hidden = n_hidden;
    return ggufx_session_decode(session, items, n, options, error);
}
/* One product, or that of n_used experts for each column. */
static inline ggufx_status
ggufx_go_matmul(float *y, size_t ldy, size_t n_y, const ggufx_runtime *rt, const ggufx_tensor *w,
                const uint32_t *ids, size_t n_used, const float *x, size_t ldx, size_t n_x,
                size_t n, const ggufx_matmul_options *options, ggufx_error *error) {
    const ggufx_product product = {sizeof product, 0, w, x, n_x, ldx, n, y, n_y, ldy, ids, n_used};
    return ggufx_matmul(rt, &product, 1, options, error);
}
/* The results are concatenated in y; products have their matrices and numbers of results. */
static inline ggufx_status ggufx_go_matvec_many(float *y, const ggufx_runtime *rt,
                                                ggufx_product *products, size_t n, const float *x,
                                                size_t n_x, const ggufx_matmul_options *options,
                                                ggufx_error *error) {
    size_t i;
    for (i = 0; i < n; i++) {
        products[i].struct_size = sizeof *products;
        products[i].x = x;
        products[i].n_x = n_x;
        products[i].n = 1;
        products[i].y = y;
        y += products[i].n_y;
    }
    return ggufx_matmul(rt, products, n, options, error);
}

#endif
