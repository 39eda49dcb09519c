/*
 * ggufx/adapter.h: what is added to a model at run time: LoRA adapters and control vectors.
 *
 * A LoRA adapter has two narrow matrices A and B for some matrices W of a model: each product W x
 * becomes W x + s B (A x) with s = scale * alpha / rank (scale alone where the file has no alpha),
 * behind the product and before a bias, in binary32 whatever the types; of an embedding, each row
 * that is looked up (none that the caller gives in its place).
 * A control vector has a direction for some layers: what leaves a layer becomes x + scale times it.
 * Several are added in the order they are given. Weights stay as they are, and shared.
 *
 * Each sequence of a session may have adapters of its own; they are computed together all the same.
 * With GGUFX_MATMUL_BATCH_INVARIANT or GGUFX_MATMUL_TILES the logits of a sequence do not depend, to
 * the bit, on its neighbours and theirs. Keys, values and states belong to the adapters they were
 * computed with: a sequence begins with a part of another one, or with a snapshot, only if both have
 * the same adapters (of a snapshot: of equal content), in the same order and with the same scales;
 * a snapshot of all sequences only if each has those that it had.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_ADAPTER_H
#define GGUFX_ADAPTER_H

#include "batch.h"
#include "embed.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An adapter bound to a model, immutable; keeps both alive. */
typedef struct ggufx_adapter ggufx_adapter;

enum {
    GGUFX_ADAPTER_LORA = 1,   /* general.type "adapter", adapter.type "lora" */
    GGUFX_ADAPTER_CONTROL = 2 /* general.architecture "controlvector" */
};

/* All zero means default. */
typedef struct ggufx_adapter_options {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const void *next;
    uint32_t first_layer; /* of a control vector: only layers from this one on, counted from 0 */
    uint32_t last_layer;  /* and up to this one; 0 = the last */
    uint64_t reserved[4];
} ggufx_adapter_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_adapter_options_init(ggufx_adapter_options *options);

/*
 * Bind an adapter's file to a model. Its tensors are read once, and used where they lie: "NAME.lora_a"
 * [n, rank] and "NAME.lora_b" [rank, m] for a tensor NAME [n, m] of the model (of an embedding also
 * [rank, m] and [rank, n], as the field's files have it; of experts with a matrix for each, where A
 * may be one for all), of any type that products take; "direction.L" [n_embedding] for layer L.
 * options may be NULL.
 * Errors: ARGUMENT (also a file opened for metadata only, layers beyond those of the model),
 * MISMATCH (it was made for another architecture; a tensor, named in the text, belongs to none of
 * the model or has another shape), MISSING (half of a pair; no tensors for the model), KVTYPE, TYPE,
 * VALUE (rank, alpha), UNSUPPORTED (the file is no adapter, or one of another kind; a tensor that is
 * no pair, such as a norm: the text names it; adapters that set in behind certain tokens; a model of
 * a group), MEMORY.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_adapter_create(ggufx_adapter **out, const ggufx_model *model,
                                            const ggufx_file *file,
                                            const ggufx_adapter_options *options,
                                            ggufx_error *error);
/* Drop the caller's reference.   Threads: exclusive on adapter.   Since: 0.1. */
GGUFX_API void ggufx_adapter_destroy(ggufx_adapter *adapter);

typedef struct ggufx_adapter_facts {
    uint32_t struct_size;  /* set by the caller */
    uint32_t flags;        /* 0 */
    uint32_t kind;         /* GGUFX_ADAPTER_* */
    uint32_t n_targets;    /* tensors of the model that something is added to; layers */
    uint32_t rank;         /* the largest; of a control vector 0 */
    uint32_t reserved;     /* 0 */
    double alpha;          /* 0: none */
    uint64_t fingerprint;  /* equal for adapters of equal content, made with equal options */
    uint64_t memory_bytes; /* that it takes from the allocator */
} ggufx_adapter_facts;

/* Describe an adapter; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_adapter_info(ggufx_adapter_facts *out, const ggufx_adapter *adapter,
                                          ggufx_error *error);

/* An adapter among those that are used together. It never grows. */
typedef struct ggufx_adapter_use {
    const ggufx_adapter *adapter; /* need not outlive the call */
    float scale;                  /* any finite number; 0: it adds nothing */
    uint32_t reserved;            /* 0 */
} ggufx_adapter_use;

#define GGUFX_ADAPTER_MOST_USES 64u             /* of a sequence */
#define GGUFX_ADAPTER_ALL_SEQUENCES 0xffffffffu /* in place of a sequence's number */

/*
 * Let an empty sequence of a session have these adapters, in this order, in place of those it had;
 * n_uses 0: none. They stay when it is cut. The session takes what the arithmetic of its adapters
 * needs for n_batch tokens (ggufx_estimate has it) and keeps that.
 * Errors: ARGUMENT (index: the use; more than GGUFX_ADAPTER_MOST_USES; no such sequence), MISMATCH
 * (index: the use; the adapter is another model's), STATE (index: the sequence, which has tokens),
 * MEMORY. Nothing has changed then.
 * Threads: exclusive on session.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_session_set_adapters(ggufx_session *session, uint32_t sequence,
                                                  const ggufx_adapter_use *uses, size_t n_uses,
                                                  ggufx_error *error);

/* The same for all texts of an embedder from now on. Errors: ARGUMENT, MISMATCH, MEMORY.
 * Threads: exclusive on embedder.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_embedder_set_adapters(ggufx_embedder *embedder,
                                                   const ggufx_adapter_use *uses, size_t n_uses,
                                                   ggufx_error *error);

/* 1 where the adapter adds something to a tensor of the model's file (its number), else 0.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API int32_t ggufx_adapter_has_tensor(const ggufx_adapter *adapter, size_t tensor);

/*
 * rows += s B A for rows first_row .. of a tensor of the model's file (its number), counted through
 * all matrices of a tensor of several: what a model has in which the adapter is merged. Nothing is
 * added to a tensor that the adapter has nothing for.
 * rows      f32 [n_rows][ne0], n floats in all
 * Errors: ARGUMENT (a tensor or rows that there are not, lengths, a scale that is not finite; a
 * control vector: it cannot be merged), MEMORY.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_adapter_add_rows(float *rows, size_t n, const ggufx_adapter *adapter,
                                              size_t tensor, uint64_t first_row, uint64_t n_rows,
                                              float scale, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
