/*
 * ggufx/kv.h: a KV cache usable without any model, and attention over it.
 *
 * A cache holds, per layer and sequence, keys and values of n_kv_heads heads, each stream in its
 * own KV type. The bits of a result are defined in src/kv/README.md and depend on neither
 * instruction set, threads nor the sizes of the appends.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_KV_H
#define GGUFX_KV_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ggufx_kv ggufx_kv;

typedef struct ggufx_kv_options {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const void *next;
    uint32_t n_layers;    /* >= 1 */
    uint32_t n_kv_heads;  /* >= 1 */
    uint32_t n_q_heads;   /* a multiple of n_kv_heads */
    uint32_t head_dim_k;  /* >= 1 */
    uint32_t head_dim_v;  /* 0 = head_dim_k */
    uint32_t type_k;      /* GGUFX_KV_* */
    uint32_t type_v;      /* GGUFX_KV_* */
    uint32_t n_sequences; /* 0 = 1 */
    uint64_t max_tokens;  /* per sequence; 0 = as memory allows */
    uint64_t reserved[4];
} ggufx_kv_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_kv_options_init(ggufx_kv_options *options);

/*
 * Create an empty cache. Pages of 64 tokens are taken from the runtime's allocator as they are
 * needed; ggufx_kv_reserve takes them before.
 * Errors: ARGUMENT, MEMORY, TYPE.   Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_create(ggufx_kv **out, const ggufx_runtime *rt,
                                       const ggufx_kv_options *options, ggufx_error *error);

/* Free a cache.   Threads: exclusive on kv.   Since: 0.1. */
GGUFX_API void ggufx_kv_destroy(ggufx_kv *kv);

/*
 * Take all pages that n_tokens tokens of a sequence need, in every layer: until the sequence is
 * longer than that, no append can fail for want of memory, and none allocates.
 * Errors: ARGUMENT, MEMORY (nothing was changed), CAPACITY.
 * Threads: exclusive on kv.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_reserve(ggufx_kv *kv, uint32_t sequence, uint64_t n_tokens,
                                        ggufx_error *error);

/*
 * Append n_tokens tokens to one layer of a sequence, all or nothing.
 *
 * positions  one per token, not descending, or NULL = the next ones (0, 1, ... without gaps).
 *            Positions are compared by the causal mask; keys are stored as given (not rotated).
 * k          f32, [n_tokens][n_kv_heads][head_dim_k], n_k floats in all; copied (encoded).
 * v          f32, [n_tokens][n_kv_heads][head_dim_v], n_v floats in all; copied (encoded).
 * Errors: ARGUMENT (lengths, positions), VALUE (NaN or infinity, or |x| > 65504 into F16; index
 * says which float), CAPACITY (max_tokens; nothing was appended), MEMORY.
 * Threads: exclusive on kv.   Allocates: only a new page, see ggufx_kv_reserve.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_append(ggufx_kv *kv, uint32_t layer, uint32_t sequence,
                                       size_t n_tokens, const int32_t *positions, const float *k,
                                       size_t n_k, const float *v, size_t n_v, ggufx_error *error);

#define GGUFX_ATTEND_ALL 1u /* every query sees every token; else only those not after it */

typedef struct ggufx_attend_options {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_ATTEND_*; 0 = causal */
    const void *next;
    float scale; /* of the scores; 0 = 1 / sqrt(head_dim_k) */
    uint32_t reserved0;
    uint64_t reserved[3];
} ggufx_attend_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_attend_options_init(ggufx_attend_options *options);

/*
 * Attention of n_queries queries over one layer of a sequence. Query head h reads KV head
 * h / (n_q_heads / n_kv_heads).
 *
 * out        f32, [n_queries][n_q_heads][head_dim_v], n_out floats in all.
 * lse        NULL, or f32 [n_queries][n_q_heads]: log of the sum of exp(score).
 * q          f32, [n_queries][n_q_heads][head_dim_k], n_q floats in all.
 * positions  one per query, or NULL = those of the last n_queries tokens.
 * options    NULL = causal.
 * A query that sees no token gives 0 and lse = -infinity. A NaN or infinity in a query head gives
 * NaN (0x7fc00000) in that head's output and lse.
 * Errors: ARGUMENT.
 * Threads: any number at once (const); uses the runtime's executor.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_attend(float *out, size_t n_out, float *lse, const ggufx_kv *kv,
                                       uint32_t layer, uint32_t sequence, const float *q,
                                       size_t n_q, size_t n_queries, const int32_t *positions,
                                       const ggufx_attend_options *options, ggufx_error *error);

/*
 * Decode tokens first..first+n_tokens-1 of a layer back to f32; k and v may each be NULL. Layouts
 * as for ggufx_kv_append. Errors: ARGUMENT.
 * Threads: any number at once (const).   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_read(float *k, size_t n_k, float *v, size_t n_v,
                                     const ggufx_kv *kv, uint32_t layer, uint32_t sequence,
                                     uint64_t first, uint64_t n_tokens, ggufx_error *error);

/* Tokens of a sequence: the minimum over its layers. Errors: ARGUMENT.
 * Threads: any number at once (const).   Since: 0.1. */
GGUFX_API ggufx_status ggufx_kv_length(uint64_t *out, const ggufx_kv *kv, uint32_t sequence,
                                       ggufx_error *error);

/* Positions of tokens first..first+n-1 of a sequence (first layer). Errors: ARGUMENT.
 * Threads: any number at once (const).   Since: 0.1. */
GGUFX_API ggufx_status ggufx_kv_positions(int32_t *out, const ggufx_kv *kv, uint32_t sequence,
                                          uint64_t first, uint64_t n, ggufx_error *error);

/* Keep the first n_tokens tokens of a sequence in every layer; never re-encodes anything, keeps
 * the pages. Errors: ARGUMENT (longer than the sequence).
 * Threads: exclusive on kv.   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_kv_truncate(ggufx_kv *kv, uint32_t sequence, uint64_t n_tokens,
                                         ggufx_error *error);

/* Cut all layers of a sequence to ggufx_kv_length, after an append failed half-way through the
 * layers. Errors: ARGUMENT.   Threads: exclusive on kv.   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_kv_rollback(ggufx_kv *kv, uint32_t sequence, ggufx_error *error);

/* Drop all tokens of all sequences and give the pages back. Errors: ARGUMENT.
 * Threads: exclusive on kv.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_kv_clear(ggufx_kv *kv, ggufx_error *error);

typedef struct ggufx_kv_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    uint32_t type_k;
    uint32_t type_v;
    uint64_t n_tokens;        /* over all sequences, first layer */
    uint64_t n_pages;         /* taken, used or not */
    uint64_t page_bytes;      /* bytes of those pages */
    uint64_t bytes_per_token; /* encoded K and V of all layers */
} ggufx_kv_facts;

/* Describe a cache; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once (const).   Since: 0.1. */
GGUFX_API ggufx_status ggufx_kv_stats(ggufx_kv_facts *out, const ggufx_kv *kv, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
