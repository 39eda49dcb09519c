/*
 * ggufx/adapter.h: LoRA adapters and control vectors, applied to a model at run time.
 *
 * A LoRA adapter has two low-rank matrices A and B for some matrices W of a model. Each product W x
 * becomes W x + s B (A x) with s = scale * alpha / rank, or s = scale if the file has no alpha. The
 * term is added after the product and before a bias, in binary32 for all tensor types. For an
 * embedding matrix it is added to each row that is looked up, but not to embeddings that the caller
 * passes.
 *
 * A control vector has a direction for some layers: the output x of a layer becomes x + scale *
 * direction. Several adapters are added in the order in which they are given. Weights are not
 * changed and stay shared.
 *
 * Each sequence of a session may have its own adapters; sequences with different ones share a
 * batch. With GGUFX_MATMUL_BATCH_INVARIANT or GGUFX_MATMUL_TILED, other sequences and their
 * adapters do not change a bit of the logits of a sequence.
 *
 * Keys, values and states belong to the adapters that they were computed with. A sequence can start
 * from a prefix of another sequence, or from a snapshot, only if both have equal adapters in the
 * same order with the same scales. For a snapshot, adapters of equal content are equal. A snapshot
 * of all sequences requires this of each.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_ADAPTER_H
#define GGUFX_ADAPTER_H

#include "batch.h"
#include "embed.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An adapter bound to a model. Immutable; keeps both alive. */
typedef struct ggufx_adapter ggufx_adapter;

/* Kinds of adapters, and the keys by which a file is recognized. */
typedef uint32_t ggufx_adapter_kind;
enum {
    GGUFX_ADAPTER_LORA = 1,   /* general.type "adapter", adapter.type "lora" */
    GGUFX_ADAPTER_CONTROL = 2 /* general.architecture "controlvector" */
};

/* Options of an adapter. All zero means default. */
typedef struct ggufx_adapter_options {
    uint32_t struct_size;
    uint32_t flags;       /* 0 */
    uint32_t first_layer; /* control vector: first layer that it is added to, counted from 0 */
    uint32_t last_layer;  /* control vector: last layer that it is added to; 0 = the last one */
} ggufx_adapter_options;

/*
 * Binds the file of an adapter to a model.
 *
 * Tensors are read once and used in place:
 *
 * - LoRA: "NAME.lora_a" [n, rank] and "NAME.lora_b" [rank, m] for a tensor NAME [n, m] of the
 *   model, of any type with a matrix product. For an embedding matrix [rank, m] and [rank, n] are
 *   accepted as well. Tensors of experts have one matrix per expert; all experts may share one A.
 * - Control vector: "direction.L" [n_embedding] for layer L.
 *
 * options may be NULL.
 *
 * Errors:
 * - ARGUMENT: a file opened for metadata only, layers beyond those of the model.
 * - MISMATCH: another architecture; a tensor that does not exist in the model or has another shape
 *   (the message names it).
 * - MISSING: one tensor of a pair, or all tensors for this model.
 * - VALUE_TYPE, TYPE.
 * - VALUE: rank or alpha.
 * - UNSUPPORTED: no adapter, or another kind; a tensor without a pair such as a norm (the message
 *   names it); adapters that certain tokens activate (aLoRA); a model of a group.
 * - MEMORY.
 *
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_adapter_create(ggufx_adapter **out, const ggufx_model *model,
                                            const ggufx_file *file,
                                            const ggufx_adapter_options *options,
                                            ggufx_error *error);
/* Releases the caller's reference.   Threads: exclusive on adapter.   Since: 0.1. */
GGUFX_API void ggufx_adapter_destroy(ggufx_adapter *adapter);

typedef struct ggufx_adapter_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    ggufx_adapter_kind kind;
    uint32_t n_targets; /* tensors (LoRA) or layers (control vector) of the model that it changes */
    uint32_t rank;      /* the largest rank; 0 for a control vector */
    uint32_t reserved;
    double alpha;          /* 0: none */
    uint64_t fingerprint;  /* equal for adapters with equal content and equal options */
    uint64_t memory_bytes; /* bytes that it takes from the allocator */
} ggufx_adapter_facts;

/* Describes an adapter. out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_adapter_info(ggufx_adapter_facts *out, const ggufx_adapter *adapter,
                                          ggufx_error *error);

/* One adapter of a list, with its scale. The struct never grows. */
typedef struct ggufx_adapter_use {
    const ggufx_adapter *adapter; /* need not outlive the call */
    float scale;                  /* any finite number; 0: it adds nothing */
    uint32_t reserved;
} ggufx_adapter_use;

#define GGUFX_ADAPTER_MAX_USES 64u /* adapters of a sequence */

/*
 * Replaces the adapters of an empty sequence by a list.
 *
 * n_uses 0 removes all adapters. Truncating the sequence keeps them. The session allocates, and
 * keeps, the buffers that n_batch tokens with these adapters need (included in ggufx_estimate).
 *
 * Errors:
 * - ARGUMENT: a use is invalid (index: the use), more than GGUFX_ADAPTER_MAX_USES, no such
 *   sequence.
 * - MISMATCH: an adapter of another model (index: the use).
 * - STATE: the sequence has tokens (index: the sequence).
 * - MEMORY.
 *
 * After an error nothing has changed.
 * Threads: exclusive on session.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_session_set_adapters(ggufx_session *session, uint32_t sequence,
                                                  const ggufx_adapter_use *uses, size_t n_uses,
                                                  ggufx_error *error);

/* Replaces the adapters of an embedder, for all inputs of later calls.
 * Errors: ARGUMENT, MISMATCH, MEMORY.   Threads: exclusive on embedder.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_embedder_set_adapters(ggufx_embedder *embedder,
                                                   const ggufx_adapter_use *uses, size_t n_uses,
                                                   ggufx_error *error);

/* Returns 1 if the adapter changes a tensor of the model's file, given by its index, else 0.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API int32_t ggufx_adapter_has_tensor(const ggufx_adapter *adapter, size_t tensor);

/*
 * Adds s B A to rows of a tensor of the model's file, as a merge of the adapter does.
 *
 * rows       {len: n} f32 [n_rows][ne0].
 * tensor     index of the tensor in the model's file.
 * first_row  first row, counted through all matrices of the tensor.
 *
 * Rows of a tensor that the adapter does not change stay as they are.
 *
 * Errors: ARGUMENT (no such tensor or rows, lengths, a scale that is not finite, a control vector,
 * which cannot be merged), MEMORY.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_adapter_add_rows(float *rows, size_t n, const ggufx_adapter *adapter,
                                              size_t tensor, uint64_t first_row, uint64_t n_rows,
                                              float scale, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
