/*
 * Calls of a program's inner loop. Objects come as void *: Go makes an interface of each pointer it
 * passes, for which it allocates when it does not know what the pointer points to.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_GO_PLAIN_H
#define GGUFX_GO_PLAIN_H

#include <ggufx/ggufx.h>

static inline ggufx_status ggufx_go_dequantize(float *out, size_t n_out, void *rt, void *tensor,
                                               uint64_t first, uint64_t n, ggufx_error *e) {
    return ggufx_dequantize(out, n_out, rt, tensor, first, n, e);
}
static inline ggufx_status ggufx_go_dequantize_blocks(float *out, size_t n_out, void *rt,
                                                      uint32_t type, const void *blocks, size_t n,
                                                      ggufx_error *e) {
    return ggufx_dequantize_blocks(out, n_out, rt, type, blocks, n, e);
}

static inline ggufx_status ggufx_go_append(void *kv, uint32_t layer, uint32_t sequence, size_t n,
                                           const int32_t *positions, const float *k, size_t n_k,
                                           const float *v, size_t n_v, ggufx_error *e) {
    return ggufx_kv_append(kv, layer, sequence, n, positions, k, n_k, v, n_v, e);
}
static inline ggufx_status ggufx_go_append_half(void *kv, uint32_t layer, uint32_t sequence,
                                                size_t n, const int32_t *positions, uint32_t format,
                                                const uint16_t *k, size_t n_k, const uint16_t *v,
                                                size_t n_v, ggufx_error *e) {
    return ggufx_kv_append_half(kv, layer, sequence, n, positions, format, k, n_k, v, n_v, e);
}
static inline ggufx_status ggufx_go_append_batch(void *kv, uint32_t layer, size_t n,
                                                 const uint32_t *sequences,
                                                 const int32_t *positions, const float *k,
                                                 size_t n_k, const float *v, size_t n_v,
                                                 ggufx_error *e) {
    return ggufx_kv_append_batch(kv, layer, n, sequences, positions, k, n_k, v, n_v, e);
}
static inline ggufx_status ggufx_go_kv_truncate(void *kv, uint32_t sequence, uint64_t n,
                                                ggufx_error *e) {
    return ggufx_kv_truncate(kv, sequence, n, e);
}
static inline ggufx_status ggufx_go_kv_read(float *k, size_t n_k, float *v, size_t n_v, void *kv,
                                            uint32_t layer, uint32_t sequence, uint64_t first,
                                            uint64_t n, ggufx_error *e) {
    return ggufx_kv_read(k, n_k, v, n_v, kv, layer, sequence, first, n, e);
}
static inline ggufx_status ggufx_go_kv_scores(float *out, size_t n_out, void *kv, uint32_t layer,
                                              uint32_t sequence, const float *q, size_t n_q,
                                              size_t n, float scale, ggufx_error *e) {
    return ggufx_kv_scores(out, n_out, kv, layer, sequence, q, n_q, n, scale, e);
}

static inline ggufx_status ggufx_go_logits(float *out, size_t n, void *session, ggufx_error *e) {
    return ggufx_session_logits(out, n, session, e);
}
static inline ggufx_status ggufx_go_truncate(void *session, uint64_t n, ggufx_error *e) {
    return ggufx_session_truncate(session, n, e);
}
static inline ggufx_status ggufx_go_sequence_truncate(void *session, uint32_t sequence, uint64_t n,
                                                      ggufx_error *e) {
    return ggufx_session_sequence_truncate(session, sequence, n, e);
}

/* By value: pointers would make Go's variables escape to the heap. */
typedef struct ggufx_go_sampled {
    ggufx_status status;
    int32_t id;
    float logprob;
} ggufx_go_sampled;

static inline ggufx_go_sampled ggufx_go_sample(void *sampler, const float *logits, size_t n,
                                               ggufx_error *e) {
    ggufx_go_sampled out = {GGUFX_OK, 0, 0};
    out.status = ggufx_sampler_sample(&out.id, &out.logprob, sampler, logits, n, e);
    return out;
}
static inline ggufx_go_sampled ggufx_go_sample_matching(void *sampler, void *matcher,
                                                        const float *logits, size_t n,
                                                        ggufx_error *e) {
    ggufx_go_sampled out = {GGUFX_OK, 0, 0};
    out.status =
        ggufx_sampler_sample_matching(&out.id, &out.logprob, sampler, matcher, logits, n, e);
    return out;
}

#endif
