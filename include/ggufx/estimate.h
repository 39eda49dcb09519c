/*
 * ggufx/estimate.h: memory of a model before it is loaded, and recommended types.
 *
 * Computes the bytes of weights under a quantization mix, of KV caches and sessions. Recommends the
 * mix and the KV cache types with the least loss for a memory limit.
 *
 * Nothing is measured, and only metadata are read. Bytes come from the same arithmetic as the
 * allocations, speeds from a bandwidth that the caller passes.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_ESTIMATE_H
#define GGUFX_ESTIMATE_H

#include "file.h"
#include "quantizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of an estimate: _FITS, _NEEDS_IMATRIX and _UNSUPPORTED of its result, the others of its
 * options. */
typedef uint32_t ggufx_estimate_flags;
#define GGUFX_ESTIMATE_HAS_FILE_TYPE 1u /* file_type counts even if it is 0 */
#define GGUFX_ESTIMATE_IMATRIX 2u       /* assume an imatrix with an entry for every tensor */
#define GGUFX_ESTIMATE_LAYERS 32u       /* pipeline parallelism, as with GGUFX_GROUP_PIPELINE */
#define GGUFX_ESTIMATE_FITS 4u          /* total_bytes <= memory_bytes, or there is no limit */
#define GGUFX_ESTIMATE_NEEDS_IMATRIX 8u /* the mix requires an imatrix */
/* ggufx_model_create does not support this architecture. The bytes of model, caches and sessions
 * are those of a llama model of this shape; all layers keep the whole context. */
#define GGUFX_ESTIMATE_UNSUPPORTED 16u
#define GGUFX_ESTIMATE_HAS_TYPE_K 64u  /* type_k counts even if it is 0 (GGUFX_TYPE_F32) */
#define GGUFX_ESTIMATE_HAS_TYPE_V 128u /* type_v counts even if it is 0 */

/* Options of an estimate. All zero means default. */
typedef struct ggufx_estimate_options {
    uint32_t struct_size;
    ggufx_estimate_flags flags; /* GGUFX_ESTIMATE_HAS_*, _IMATRIX, _LAYERS */
    /* Quantization mix, as in ggufx_quantizer_create; 0 without GGUFX_ESTIMATE_HAS_FILE_TYPE = the
     * tensors stay as they are. */
    uint32_t file_type;
    uint32_t n_context;  /* tokens of each session; 0 = as ggufx_session_create */
    uint32_t n_batch;    /* tokens computed at once; 0 = 512 */
    uint32_t n_sessions; /* number of sessions in parallel; 0 = 1 */
    ggufx_type type_k;   /* type of the keys; 0 without GGUFX_ESTIMATE_HAS_TYPE_K = F16 */
    /* Type of the values; 0 without GGUFX_ESTIMATE_HAS_TYPE_V = F16. ggufx_recommend chooses both
     * types if neither is given. */
    ggufx_type type_v;
    const ggufx_quantizer_options *quantizer; /* as in ggufx_quantizer_create; NULL: default */
    uint64_t memory_bytes;                    /* limit of total_bytes; 0: no limit */
    double bandwidth; /* memory bandwidth of all threads in bytes per second; 0: no speeds */
    /* as in ggufx_session_options, of each session; the estimate is the maximum */
    uint64_t n_context_total;
    uint32_t n_checkpoints; /* as in ggufx_session_options, of each session */
    uint32_t n_sequences;   /* as in ggufx_session_options, of each session */
    /* [n_adapters], at most 64: LoRA adapters and control vectors (adapter.h) that all sessions use
     * together. Their files may be opened for metadata only. */
    const ggufx_file *const *adapters;
    size_t n_adapters;
    uint64_t device_memory_bytes; /* free memory of a device (device.h); 0: no device */
    /* {len: n_ranks} as in ggufx_group_options; NULL: equal. For one rank of a group (group.h),
     * with tensor parallelism or with GGUFX_ESTIMATE_LAYERS. */
    const uint32_t *weights;
    /* ranks of the group, at most 256; 0 = 1, or those of a rank's file (group.h) */
    uint32_t n_ranks;
    uint32_t rank; /* index of the rank; ignored for a rank's file with n_ranks 0 */
} ggufx_estimate_options;

#define GGUFX_ESTIMATE_AS_IS 0xffffffffu /* file_type of tensors that stay as they are */

typedef struct ggufx_estimate_facts {
    uint32_t struct_size;       /* set by the caller */
    ggufx_estimate_flags flags; /* GGUFX_ESTIMATE_FITS, _NEEDS_IMATRIX, _UNSUPPORTED */
    uint32_t file_type;         /* quantization mix, or GGUFX_ESTIMATE_AS_IS */
    uint32_t n_context;         /* tokens of each session, defaults included */
    uint32_t n_batch;           /* tokens computed at once */
    uint32_t n_sessions;        /* number of sessions in parallel */
    ggufx_type type_k;          /* type of the keys */
    ggufx_type type_v;          /* type of the values */
    /* Largest n_context that fits into memory_bytes, up to the larger of the trained and the
     * requested context; 0: none. */
    uint32_t max_context;
    uint32_t n_messages; /* sequential messages of all ranks to all per token; 0 without a group */
    uint64_t n_parameters;  /* values of all tensors except tables of RoPE factors */
    uint64_t weight_bytes;  /* bytes of all tensors */
    uint64_t file_bytes;    /* exact bytes of the file or files, weight_bytes included */
    uint64_t runtime_bytes; /* workspaces of products, allocated when a runtime is created */
    uint64_t model_bytes;   /* bytes that ggufx_model_create allocates */
    uint64_t kv_bytes;      /* KV caches of all sessions */
    /* all other bytes that ggufx_session_create allocates, for all sessions */
    uint64_t session_bytes;
    /* Sum of file_bytes, runtime_bytes, model_bytes, kv_bytes, session_bytes and the bytes of
     * adapters. A rank of a group has rank_weight_bytes in place of file_bytes. */
    uint64_t total_bytes;
    /* Bytes of weights that are read per token. This includes the used experts only, and one row of
     * the embedding. */
    uint64_t token_weight_bytes;
    uint64_t token_kv_bytes;  /* bytes of keys and values per token, which each later token reads */
    double bits_per_weight;   /* weight_bytes in bits over n_parameters */
    double weight_error;      /* see ggufx_recommend */
    double loss;              /* see ggufx_recommend */
    double tokens_per_second; /* upper bound for an empty context: bandwidth / token_weight_bytes */
    /* upper bound for a full context, keys and values included; 0: no bandwidth */
    double tokens_per_second_full;
    uint64_t adapter_file_bytes; /* bytes of the adapters' files */
    /* Bytes that ggufx_adapter_create and ggufx_session_set_adapters allocate for the adapters, in
     * all sessions. */
    uint64_t adapter_bytes;
    /* Device memory for the output matrix and the last n_device_layers layers, of
     * device_memory_bytes; 0: not even one layer fits. Equals ggufx_device_facts.used_bytes, to the
     * byte if no matrix is larger than max_allocation. */
    uint64_t device_bytes;
    uint64_t device_bytes_all; /* device memory for all layers */
    uint32_t n_device_layers;  /* largest number of last layers that fit into device_memory_bytes */
    uint32_t n_layers;         /* layers of the model */
    /* Bytes of weights that the rank reads, with one row of the embedding per token of the context.
     * Without a group: weight_bytes. */
    uint64_t rank_weight_bytes;
    uint64_t received_bytes; /* bytes received from other ranks per token, in 8-bit mode */
} ggufx_estimate_facts;

/*
 * Estimates the memory of a model, as stored or under a quantization mix (file_type).
 *
 * The file may be opened for metadata only, and may consist of its header alone. options may be
 * NULL; out->struct_size must be set.
 *
 * - model_bytes + kv_bytes + session_bytes are the exact bytes that the allocator returns later,
 *   for a runtime with as many threads as `rt`. With n_context_total they are the maximum.
 * - file_bytes are the exact bytes that ggufx_quantizer_run writes.
 * - For a rank of a group the bytes of model, caches, sessions and those read per token are of this
 *   rank. A quantization mix decides the packing of its messages.
 * - Not included: the directory of the opened file (about 200 bytes per tensor and key), tokenizer,
 *   sampler, threads and their stacks.
 *
 * Errors:
 * - ARGUMENT: unknown file_type; a negative or NaN bandwidth; a KV cache type that does not support
 *   these heads; quantized input without GGUFX_QUANTIZER_ALLOW_REQUANTIZE.
 * - UNSUPPORTED: also a rank of a group with adapters, a device or an embedding-only model.
 * - MEMORY, MISSING, VALUE_TYPE, HYPERPARAMETER, TYPE, SHAPE, LIMIT, OVERFLOW, SPLIT.
 * - Those of ggufx_quantizer_create and ggufx_adapter_create.
 *
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_estimate(ggufx_estimate_facts *out, const ggufx_runtime *rt,
                                      const ggufx_file *file, const ggufx_estimate_options *options,
                                      ggufx_error *error);

/*
 * Recommends the quantization mix and KV cache types with the least loss that fit into
 * memory_bytes.
 *
 * They must fit with n_context tokens; 0 is the default of ggufx_session_create. Candidates are
 * combinations of:
 *
 * - Weights: the file as it is, and every mix that needs no imatrix or has one. Mixes are tried if
 *   the file has no quantized tensor or the job allows requantization. If file_type is given, only
 *   this mix is tried.
 * - KV cache types: a ladder from F16 down. If type_k or type_v is given, only these are tried.
 *
 * facts.loss is the expected KL divergence from the file as it is with an F32 cache, in nats per
 * token. It is the sum of a part for the weights, proportional to the square of weight_error, and a
 * part for keys and values. weight_error is the root mean square, over all values, of the relative
 * error of a type on Gaussian values. The errors are those of the reference quantizer, with the
 * imatrix if there is one.
 *
 * The losses come from measurements of one small model. They rank candidates and predict no loss of
 * another model. If losses are equal, the candidate with fewer bytes is chosen.
 *
 * Errors: as ggufx_estimate; CAPACITY (nothing fits: the message has the bytes of the smallest
 * candidate and the largest context that fits).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_recommend(ggufx_estimate_facts *out, const ggufx_runtime *rt,
                                       const ggufx_file *file,
                                       const ggufx_estimate_options *options, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
