/*
 * ggufx/embed.h: texts to vectors, and scores of rerankers.
 *
 * Models that predict no token (bert, nomic-bert, modern-bert ...: GGUFX_MODEL_EMBEDS_ONLY) and any
 * other give embeddings: the hidden states of a text behind the last norm, pooled to one vector,
 * then through the matrices the file has for that (dense_2, dense_3; cls, cls.output).
 * The bits of a text's result depend on its tokens, the file and the options, never on the other
 * texts of a call, their order, n_batch, instruction set, threads or executor.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_EMBED_H
#define GGUFX_EMBED_H

#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Scratch, and keys and values of one layer; exclusive. Keeps its model alive. */
typedef struct ggufx_embedder ggufx_embedder;

/* What becomes of the hidden states of a text's tokens. */
enum {
    GGUFX_POOLING_DEFAULT = 0, /* as the file says; else LAST where tokens see those before them
                                * alone, MEAN where they see all */
    GGUFX_POOLING_MEAN = 1,
    GGUFX_POOLING_FIRST = 2, /* that of the first token (CLS) */
    GGUFX_POOLING_LAST = 3,  /* of the last one */
    GGUFX_POOLING_RANK = 4,  /* scores of a reranker for a query and a document in one text */
    GGUFX_POOLING_NONE = 5   /* they stay: a row of each token, without dense_2 and dense_3 */
};

#define GGUFX_EMBED_NORMALIZE 1u /* results have length 1 */
#define GGUFX_EMBED_CUT 2u /* of a text longer than n_context the first n_context tokens count */

typedef struct ggufx_embed_options {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_EMBED_* */
    const void *next;
    uint32_t n_context;  /* tokens of a text at most; 0 = the trained context, at most 8,192 */
    uint32_t n_batch;    /* tokens computed at once, n_context at least; 0 = 512 */
    uint32_t pooling;    /* GGUFX_POOLING_* */
    uint32_t dimensions; /* values of a result that are kept, the first ones (Matryoshka), before it
                            * is normalized; 0 = all */
    uint32_t matmul_flags; /* GGUFX_MATMUL_* of all products */
    uint32_t reserved0;
    uint64_t reserved[4];
} ggufx_embed_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_embed_options_init(ggufx_embed_options *options);

/*
 * Create an embedder and take all its memory. A text is computed whole, so scratch is for n_context
 * tokens at least. options may be NULL.
 * Errors: ARGUMENT (dimensions above those of the model; n_context above its learned positions),
 * LIMIT, MEMORY, UNSUPPORTED (RANK of a model without cls or cls.output).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_embedder_create(ggufx_embedder **out, const ggufx_model *model,
                                             const ggufx_embed_options *options,
                                             ggufx_error *error);
/* Free an embedder.   Threads: exclusive on embedder.   Since: 0.1. */
GGUFX_API void ggufx_embedder_destroy(ggufx_embedder *embedder);

/*
 * Bytes that ggufx_embedder_create takes for a model of this file, to the byte; the model itself:
 * ggufx_estimate. The file may be open for metadata only.
 * Errors: as ggufx_model_create and ggufx_embedder_create.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_embedder_estimate(uint64_t *out, const ggufx_runtime *rt,
                                               const ggufx_file *file,
                                               const ggufx_embed_options *options,
                                               ggufx_error *error);

typedef struct ggufx_embedder_facts {
    uint32_t struct_size;     /* set by the caller */
    uint32_t flags;           /* 0 */
    uint32_t n_context;       /* tokens of a text at most */
    uint32_t n_batch;         /* tokens computed at once */
    uint32_t pooling;         /* GGUFX_POOLING_*, never DEFAULT */
    uint32_t dimensions;      /* values of a result; of RANK the classes of the file, mostly 1 */
    uint32_t full_dimensions; /* before the first of them are kept */
    uint32_t reserved;
} ggufx_embedder_facts;

/* Describe an embedder; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_embedder_info(ggufx_embedder_facts *out,
                                           const ggufx_embedder *embedder, ggufx_error *error);

/*
 * Embed texts: text i is lengths[i] >= 1 of the n_tokens ids, one text behind the other, with what
 * the model was trained to see around them (GGUFX_TOKENIZE_ADD_SPECIAL).
 *
 * out       f32 [n_texts][dimensions]; with GGUFX_POOLING_NONE a row of each token that is used.
 *           n_out floats in all. Undefined after a failure.
 * progress  tokens done, polled between layers and within products; NULL: cannot be cancelled.
 * Token types of models that have them are 0. As many texts as fit go through the layers together;
 * of models with recurrent layers, or layers that read another's keys, one.
 * Errors: ARGUMENT (lengths, or an id outside of the vocabulary: index says which text or token; a
 * text longer than n_context without CUT), CANCELLED, VALUE (NaN or infinity arose in the model).
 * Threads: exclusive on embedder; uses the runtime's executor.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_embed(float *out, size_t n_out, ggufx_embedder *embedder,
                                   const int32_t *tokens, size_t n_tokens, const size_t *lengths,
                                   size_t n_texts, const ggufx_progress *progress,
                                   ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
