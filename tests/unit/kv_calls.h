/*
 * Calls of a KV cache with the members of their structs as parameters.
 * SPDX-License-Identifier: MIT
 */
#ifndef KV_CALLS_H
#define KV_CALLS_H

#include <ggufx/kv.h>
#include <string.h>

/* Appends tokens of one sequence, with keys and values of `type`. */
static inline ggufx_status kv_append_as(ggufx_kv *kv, uint32_t type, uint32_t layer,
                                        uint32_t sequence, size_t n_tokens,
                                        const int32_t *positions, const void *k, size_t n_k,
                                        const void *v, size_t n_v, ggufx_error *error) {
    ggufx_kv_tokens tokens;
    memset(&tokens, 0, sizeof tokens);
    tokens.struct_size = sizeof tokens;
    tokens.type = type;
    tokens.layer = layer;
    tokens.sequence = sequence;
    tokens.n_tokens = n_tokens;
    tokens.positions = positions;
    tokens.k = k;
    tokens.n_k = n_k;
    tokens.v = v;
    tokens.n_v = n_v;
    return ggufx_kv_append(kv, &tokens, error);
}

/* Appends tokens of one sequence. */
static inline ggufx_status kv_append_rows(ggufx_kv *kv, uint32_t layer, uint32_t sequence,
                                          size_t n_tokens, const int32_t *positions, const float *k,
                                          size_t n_k, const float *v, size_t n_v,
                                          ggufx_error *error) {
    return kv_append_as(kv, GGUFX_TYPE_F32, layer, sequence, n_tokens, positions, k, n_k, v, n_v,
                        error);
}

/* Appends token i to sequences[i]. */
static inline ggufx_status kv_append_batch(ggufx_kv *kv, uint32_t layer, size_t n_tokens,
                                           const uint32_t *sequences, const int32_t *positions,
                                           const float *k, size_t n_k, const float *v, size_t n_v,
                                           ggufx_error *error) {
    ggufx_kv_tokens tokens;
    memset(&tokens, 0, sizeof tokens);
    tokens.struct_size = sizeof tokens;
    tokens.layer = layer;
    tokens.n_tokens = n_tokens;
    tokens.sequences = sequences;
    tokens.positions = positions;
    tokens.k = k;
    tokens.n_k = n_k;
    tokens.v = v;
    tokens.n_v = n_v;
    return ggufx_kv_append(kv, &tokens, error);
}

/* Returns queries of one sequence. */
static inline ggufx_kv_queries kv_queries_of(uint32_t layer, uint32_t sequence, const float *q,
                                             size_t n_q, size_t n_queries,
                                             const int32_t *positions) {
    ggufx_kv_queries queries;
    memset(&queries, 0, sizeof queries);
    queries.struct_size = sizeof queries;
    queries.layer = layer;
    queries.sequence = sequence;
    queries.n_queries = n_queries;
    queries.positions = positions;
    queries.q = q;
    queries.n_q = n_q;
    return queries;
}

static inline ggufx_status kv_attend_rows(float *out, size_t n_out, float *lse, size_t n_lse,
                                          const ggufx_kv *kv, uint32_t layer, uint32_t sequence,
                                          const float *q, size_t n_q, size_t n_queries,
                                          const int32_t *positions,
                                          const ggufx_attend_options *options, ggufx_error *error) {
    const ggufx_kv_queries queries = kv_queries_of(layer, sequence, q, n_q, n_queries, positions);
    return ggufx_kv_attend(out, n_out, lse, n_lse, kv, &queries, options, error);
}

/* Computes query i over sequences[i]. */
static inline ggufx_status
kv_attend_batch(float *out, size_t n_out, float *lse, size_t n_lse, const ggufx_kv *kv,
                uint32_t layer, const uint32_t *sequences, const float *q, size_t n_q, size_t n,
                const int32_t *positions, const ggufx_attend_options *options, ggufx_error *error) {
    ggufx_kv_queries queries = kv_queries_of(layer, 0, q, n_q, n, positions);
    queries.sequences = sequences;
    return ggufx_kv_attend(out, n_out, lse, n_lse, kv, &queries, options, error);
}

static inline ggufx_status kv_score_rows(float *out, size_t n_out, const ggufx_kv *kv,
                                         uint32_t layer, uint32_t sequence, const float *q,
                                         size_t n_q, size_t n_queries, float scale,
                                         ggufx_error *error) {
    const ggufx_kv_queries queries = kv_queries_of(layer, sequence, q, n_q, n_queries, NULL);
    return ggufx_kv_scores(out, n_out, kv, &queries, scale, error);
}

static inline ggufx_status kv_read_rows(float *k, size_t n_k, float *v, size_t n_v,
                                        const ggufx_kv *kv, uint32_t layer, uint32_t sequence,
                                        uint64_t first, uint64_t n_tokens, ggufx_error *error) {
    ggufx_kv_range range;
    memset(&range, 0, sizeof range);
    range.struct_size = sizeof range;
    range.layer = layer;
    range.sequence = sequence;
    range.first = first;
    range.n_tokens = n_tokens;
    return ggufx_kv_read(k, n_k, v, n_v, kv, &range, error);
}

/* Returns the number of tokens of a sequence from `first` on. */
static inline uint64_t kv_rest(const ggufx_kv *kv, uint32_t sequence, uint64_t first) {
    uint64_t length = 0;
    (void)ggufx_kv_length(&length, kv, sequence, NULL);
    return length - first;
}

#endif
