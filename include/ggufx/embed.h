/*
 * ggufx/embed.h: embeddings and scores of rerankers.
 *
 * Embedding models (bert, nomic-bert, modern-bert ...: GGUFX_MODEL_EMBEDDING_ONLY) and all other
 * models can embed inputs. The hidden states after the last norm are pooled to one vector. It is
 * then multiplied by the matrices that the file has for this purpose: dense_2, dense_3; cls,
 * cls.output.
 *
 * The bits of an input's result depend on its tokens, the file and the options. They are
 * independent of other inputs of the call, their order, n_batch, the instruction set, threads and
 * executor.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_EMBED_H
#define GGUFX_EMBED_H

#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Scratch memory, and keys and values of one layer. Exclusive. Keeps its model alive. */
typedef struct ggufx_embedder ggufx_embedder;

/* Pooling of the hidden states of an input. */
typedef uint32_t ggufx_pooling;
enum {
    /* As the file says. Else LAST for causal attention, MEAN otherwise. */
    GGUFX_POOLING_DEFAULT = 0,
    GGUFX_POOLING_MEAN = 1,
    GGUFX_POOLING_FIRST = 2, /* first token (CLS) */
    GGUFX_POOLING_LAST = 3,  /* last token */
    GGUFX_POOLING_RANK = 4,  /* scores of a reranker, for a query and a document in one input */
    GGUFX_POOLING_NONE = 5   /* no pooling: one row per token, without dense_2 and dense_3 */
};

/* Flags of embeddings. */
typedef uint32_t ggufx_embed_flags;
#define GGUFX_EMBED_NORMALIZE 1u /* normalize results to length 1 */
#define GGUFX_EMBED_TRUNCATE 2u  /* truncate inputs to their first n_context tokens */

typedef struct ggufx_embed_options {
    uint32_t struct_size;
    ggufx_embed_flags flags;
    uint32_t n_context; /* tokens of an input; 0 = the trained context, at most 8,192 */
    uint32_t n_batch;   /* tokens computed at once, at least n_context; 0 = 512 */
    ggufx_pooling pooling;
    /* Number of values to keep, from the first on (Matryoshka), before normalization; 0 = all. */
    uint32_t dimensions;
    ggufx_matmul_flags matmul_flags; /* GGUFX_MATMUL_* of all products */
    uint32_t reserved;
} ggufx_embed_options;

/*
 * Creates an embedder and allocates all its memory.
 *
 * An input is computed as a whole, so the scratch memory is for at least n_context tokens. options
 * may be NULL.
 *
 * Errors: ARGUMENT (dimensions above those of the model; n_context above its learned positions),
 * LIMIT, MEMORY, UNSUPPORTED (RANK with a model that has neither cls nor cls.output; a
 * bidirectional model with recurrent layers or with layers that read the keys of others).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_embedder_create(ggufx_embedder **out, const ggufx_model *model,
                                             const ggufx_embed_options *options,
                                             ggufx_error *error);
/* Frees an embedder.   Threads: exclusive on embedder.   Since: 0.1. */
GGUFX_API void ggufx_embedder_destroy(ggufx_embedder *embedder);

/*
 * Returns the exact bytes that ggufx_embedder_create allocates for a model of this file.
 *
 * The model itself is not included: see ggufx_estimate. The file may be opened for metadata only.
 *
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
    uint32_t n_context;       /* tokens of an input */
    uint32_t n_batch;         /* tokens computed at once */
    ggufx_pooling pooling;    /* GGUFX_POOLING_*, never DEFAULT */
    uint32_t dimensions;      /* values of a result; for RANK the classes of the file, mostly 1 */
    uint32_t full_dimensions; /* values of a result before options.dimensions */
    uint32_t reserved;
} ggufx_embedder_facts;

/* Describes an embedder. out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_embedder_info(ggufx_embedder_facts *out,
                                           const ggufx_embedder *embedder, ggufx_error *error);

/*
 * Embeds inputs of token ids.
 *
 * out       f32 [n_texts][dimensions], n_out floats in all. With GGUFX_POOLING_NONE one row per
 *           used token. Undefined after a failure.
 * texts     the inputs, at least one id each. They include the special tokens that the model was
 *           trained with (GGUFX_TOKENIZE_ADD_SPECIAL).
 * progress  counts tokens, polled between layers and within products. NULL: cannot be cancelled.
 *
 * Token types are 0 for models that have them. As many inputs as fit are computed together. Models
 * with recurrent layers, or layers that read the keys of another layer, compute one at a time.
 *
 * Errors: ARGUMENT (index: the input; an invalid length or id, an input longer than n_context
 * without GGUFX_EMBED_TRUNCATE), CANCELLED, VALUE (NaN or infinity in the model).
 * Threads: exclusive on embedder; uses the runtime's executor.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_embed(float *out, size_t n_out, ggufx_embedder *embedder,
                                   const ggufx_token_list *texts, size_t n_texts,
                                   const ggufx_progress *progress, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
