/*
 * C functions that the library calls, which call Go's; `user` is a cgo.Handle.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_GO_HOOKS_H
#define GGUFX_GO_HOOKS_H

#include <ggufx/ggufx.h>
#include <stdlib.h>

/* Go functions, in callbacks.go and hooks.go. */
extern int32_t ggufxGoProgress(uintptr_t user, uint64_t done, uint64_t total);
extern int32_t ggufxGoFinding(uintptr_t user, ggufx_finding *finding);
extern int32_t ggufxGoChunk(uintptr_t user, ggufx_perplexity_facts *running);
extern int32_t ggufxGoMeasure(uintptr_t user, ggufx_measure_facts *running);
extern int32_t ggufxGoLink(uintptr_t user, ggufx_candidate *candidates, size_t n);
extern size_t ggufxGoGuess(uintptr_t user, int32_t *out, size_t most, int32_t *text, size_t n_text,
                           int32_t last);
extern int32_t ggufxGoLayer(uintptr_t user, uint32_t layer, uint64_t first, size_t n_tokens,
                            float *q, float *k, float *v, float *out);
extern int32_t ggufxGoWrite(uintptr_t user, uint32_t part, void *data, size_t n);
extern int32_t ggufxGoRead(uintptr_t user, uint64_t offset, void *data, size_t n);
extern int32_t ggufxGoSize(uintptr_t user, uint64_t *out);
extern void ggufxGoDestroy(uintptr_t user);
extern void ggufxGoChatEvent(uintptr_t user, uint32_t kind, uint64_t call, char *text, size_t n);
extern void ggufxGoLog(uintptr_t user, int32_t level, char *text, size_t length);
extern void *ggufxGoAlloc(uintptr_t user, size_t size, size_t align);
extern void ggufxGoFree(uintptr_t user, void *ptr, size_t size, size_t align);
extern int32_t ggufxGoParallelFor(uintptr_t user, uint32_t n_tasks, void *task, void *ctx);

static inline int32_t ggufx_go_on_progress(void *user, uint64_t done, uint64_t total) {
    return ggufxGoProgress((uintptr_t)user, done, total);
}
static inline int32_t ggufx_go_on_finding(void *user, const ggufx_finding *finding) {
    return ggufxGoFinding((uintptr_t)user, (ggufx_finding *)finding);
}
static inline int32_t ggufx_go_on_chunk(void *user, const ggufx_perplexity_facts *running) {
    return ggufxGoChunk((uintptr_t)user, (ggufx_perplexity_facts *)running);
}
static inline int32_t ggufx_go_on_measure(void *user, const ggufx_measure_facts *running) {
    return ggufxGoMeasure((uintptr_t)user, (ggufx_measure_facts *)running);
}
static inline int32_t ggufx_go_on_link(void *user, ggufx_candidate *candidates, size_t n) {
    return ggufxGoLink((uintptr_t)user, candidates, n);
}
static inline size_t ggufx_go_on_guess(void *user, int32_t *out, size_t most, const int32_t *text,
                                       size_t n_text, int32_t last) {
    return ggufxGoGuess((uintptr_t)user, out, most, (int32_t *)text, n_text, last);
}
static inline int32_t ggufx_go_on_layer(void *user, uint32_t layer, uint64_t first, size_t n,
                                        const float *q, const float *k, const float *v,
                                        const float *out) {
    return ggufxGoLayer((uintptr_t)user, layer, first, n, (float *)q, (float *)k, (float *)v,
                        (float *)out);
}
static inline ggufx_status ggufx_go_on_part(void *user, uint32_t part, const void *data, size_t n) {
    return ggufxGoWrite((uintptr_t)user, part, (void *)data, n);
}
static inline ggufx_status ggufx_go_on_write(void *user, const void *data, size_t n) {
    return ggufxGoWrite((uintptr_t)user, 0, (void *)data, n);
}
static inline ggufx_status ggufx_go_on_read(void *user, void *data, size_t n) {
    return ggufxGoRead((uintptr_t)user, 0, data, n);
}
static inline ggufx_status ggufx_go_on_read_at(void *user, uint64_t offset, void *data, size_t n) {
    return ggufxGoRead((uintptr_t)user, offset, data, n);
}
static inline ggufx_status ggufx_go_on_size(void *user, uint64_t *out) {
    return ggufxGoSize((uintptr_t)user, out);
}
static inline void ggufx_go_on_destroy(void *user) {
    ggufxGoDestroy((uintptr_t)user);
}
static inline int32_t ggufx_go_on_chat_event(void *user, uint32_t kind, uint64_t call,
                                             const char *text, size_t length) {
    ggufxGoChatEvent((uintptr_t)user, kind, call, (char *)text, length);
    return 0;
}
static inline void ggufx_go_on_log(void *user, int32_t level, const char *text, size_t length) {
    ggufxGoLog((uintptr_t)user, level, (char *)text, length);
}
static inline void *ggufx_go_on_alloc(void *user, size_t size, size_t align) {
    return ggufxGoAlloc((uintptr_t)user, size, align);
}
static inline void ggufx_go_on_free(void *user, void *ptr, size_t size, size_t align) {
    ggufxGoFree((uintptr_t)user, ptr, size, align);
}
typedef void (*ggufx_go_task)(void *ctx, uint32_t index, uint32_t worker);
static inline ggufx_status ggufx_go_on_parallel_for(void *user, uint32_t n_tasks,
                                                    ggufx_go_task task, void *ctx) {
    return ggufxGoParallelFor((uintptr_t)user, n_tasks, (void *)task, ctx);
}
static inline void ggufx_go_run(void *task, void *ctx, uint32_t index, uint32_t worker) {
    ((ggufx_go_task)task)(ctx, index, worker);
}

#define GGUFX_GO_WATCH(user)                                                                       \
    const ggufx_progress watch = {sizeof watch, 0, NULL, (void *)(user), ggufx_go_on_progress};    \
    const ggufx_progress *const progress = (user) ? &watch : NULL

#endif
