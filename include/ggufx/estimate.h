/*
 * ggufx/estimate.h: what fits into memory: bytes of a model's weights under a recipe, of its caches
 * and sessions, and the recipe and types of cache that lose least within a number of bytes.
 *
 * Nothing is measured and nothing is read but metadata: the bytes come from the arithmetic that the
 * allocations use, speeds from a bandwidth that the caller gives.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_ESTIMATE_H
#define GGUFX_ESTIMATE_H

#include "file.h"
#include "job.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GGUFX_ESTIMATE_FILE_TYPE 1u /* file_type counts; else the tensors stay as they are */
#define GGUFX_ESTIMATE_IMATRIX 2u   /* an imatrix with an entry for every tensor will be there */
#define GGUFX_ESTIMATE_LAYERS 32u   /* ranks have whole layers, as with GGUFX_GROUP_LAYERS */

/* All zero means default. */
typedef struct ggufx_estimate_options {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_ESTIMATE_FILE_TYPE, _IMATRIX, _LAYERS */
    const void *next;
    uint32_t file_type;  /* recipe, as in ggufx_job_quantize */
    uint32_t n_context;  /* tokens of each session; 0 = as ggufx_session_create */
    uint32_t n_batch;    /* tokens computed at once; 0 = 512 */
    uint32_t n_sessions; /* sessions side by side; 0 = 1 */
    uint32_t type_k;     /* GGUFX_KV_* of the caches' keys; ggufx_recommend: see type_v */
    uint32_t type_v;     /* GGUFX_KV_* of the values; GGUFX_KV_DEFAULT for keys and values leaves
                          * both to ggufx_recommend */
    const ggufx_job_options *job; /* as in ggufx_job_quantize; NULL: default */
    uint64_t memory_bytes;        /* what all of it may take; 0: no limit */
    double bandwidth; /* bytes that all threads read from memory per second; 0: no speeds */
    uint64_t
        n_context_total; /* of each session, as in ggufx_session_options: what it takes at most */
    uint64_t reserved[3];
    uint32_t n_checkpoints; /* of each session, as there */
    uint32_t n_sequences;   /* the same */
    /* [n_adapters] LoRA adapters and control vectors (adapter.h) that all sessions use together; their
     * files may be open for metadata only, too. At most 64. */
    const ggufx_file *const *adapters;
    size_t n_adapters;
    uint64_t device_memory_bytes; /* free on a device (device.h); 0: there is none */
    /* One of n_ranks ranks that run the model together (group.h), with rows of each matrix or with
     * GGUFX_ESTIMATE_LAYERS: what it takes. */
    const uint32_t *speeds; /* [n_ranks], as in ggufx_group_options; NULL: all the same */
    uint32_t n_ranks;       /* up to 256; 0 = 1, of a rank's file (group.h) all of its group */
    uint32_t rank;          /* which one; with n_ranks 0 of a rank's file its own */
} ggufx_estimate_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_estimate_options_init(ggufx_estimate_options *options);

#define GGUFX_ESTIMATE_AS_IS 0xffffffffu /* file_type of tensors that stay as they are */

#define GGUFX_ESTIMATE_FITS 4u          /* total_bytes <= memory_bytes, or there is no limit */
#define GGUFX_ESTIMATE_NEEDS_IMATRIX 8u /* the recipe cannot be made without one */
/* ggufx_model_create does not take this architecture: the bytes of model, caches and sessions are
 * those of a llama of this shape; all layers keep the whole context */
#define GGUFX_ESTIMATE_NO_GRAPH 16u

typedef struct ggufx_estimate_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* GGUFX_ESTIMATE_FITS, _NEEDS_IMATRIX, _NO_GRAPH */
    uint32_t file_type;   /* recipe, or GGUFX_ESTIMATE_AS_IS */
    uint32_t n_context;   /* with defaults put in, as are the next four */
    uint32_t n_batch;     /* tokens computed at once */
    uint32_t n_sessions;  /* sessions side by side */
    uint32_t type_k;      /* GGUFX_KV_* of the caches' keys */
    uint32_t type_v;      /* GGUFX_KV_* of their values */
    uint32_t max_context; /* largest n_context that fits into memory_bytes, up to the larger one of
                           * the trained and the asked context; 0: none */
    uint32_t reserved0;
    uint64_t n_parameters;  /* values of all tensors but tables of rotation factors */
    uint64_t weight_bytes;  /* of all tensors */
    uint64_t file_bytes;    /* of the file or files, exactly; weight_bytes are in it */
    uint64_t runtime_bytes; /* workspaces of products, held by the runtime from its create on */
    uint64_t model_bytes;   /* that ggufx_model_create takes */
    uint64_t kv_bytes;      /* caches of all sessions, and */
    uint64_t session_bytes; /* everything else that ggufx_session_create takes, for all of them */
    uint64_t total_bytes; /* file_bytes, the four above and those of adapters; of a rank of a group
                             * rank_weight_bytes in place of file_bytes */
    uint64_t token_weight_bytes; /* of weights that one token reads: of experts the used ones, of an
                                  * embedding one row */
    uint64_t token_kv_bytes;     /* of keys and values of one token, which each later one reads */
    double bits_per_weight;      /* of weight_bytes, over n_parameters */
    double weight_error;         /* see ggufx_recommend */
    double loss;                 /* see ggufx_recommend */
    double tokens_per_second;    /* at most: bandwidth / token_weight_bytes; and at the end of */
    double tokens_per_second_full; /* the context, with its keys and values; 0: no bandwidth */
    uint64_t adapter_file_bytes;   /* of the adapters' files */
    uint64_t adapter_bytes; /* that ggufx_adapter_create and ggufx_session_set_adapters take for
                                    * them, in all sessions */
    /* What a device with device_memory_bytes has room for: the most of the last layers beside the
     * output matrix, and what an opened device with them uses (ggufx_device_facts.used_bytes), to the
     * byte where no matrix is larger than its max_allocation. 0: not even one layer fits. */
    uint64_t device_bytes;
    uint64_t device_bytes_all; /* the same for all layers */
    uint32_t n_device_layers;
    uint32_t n_layers;          /* of the model */
    uint64_t rank_weight_bytes; /* of weights that the rank reads, of the embedding a row for each
                                 * token of the context; alone: weight_bytes */
    uint64_t received_bytes;    /* that the other ranks give it for a token, in 8-bit mode */
    uint32_t n_messages;        /* of all ranks to all for a token, one after the other; alone: 0 */
    uint32_t reserved1;
} ggufx_estimate_facts;

/*
 * What a model takes: as the file stands, or as a recipe would make it (with
 * GGUFX_ESTIMATE_FILE_TYPE). The file may be opened metadata-only, and may be a header alone.
 * options may be NULL; out->struct_size must be set.
 *
 * model_bytes + kv_bytes + session_bytes is what the allocator then gives, to the byte, for a
 * runtime with as many threads as `rt`; with n_context_total, at most, when all of it is used;
 * file_bytes what ggufx_job_run writes. Not counted: the
 * directory of the opened file (some 200 bytes per tensor and key), tokenizer and sampler, threads
 * and their stacks. Of a rank of a group the bytes of model, caches, sessions and those that a token
 * reads are this rank's; a recipe decides what its messages are packed into.
 * Errors: ARGUMENT (unknown file_type; a NaN or negative bandwidth; a KV type that does not take
 * these heads; input is quantized already and the job does not allow that), MEMORY, MISSING,
 * KVTYPE, HPARAM, TYPE, SHAPE, UNSUPPORTED, LIMIT, OVERFLOW, SPLIT; those of ggufx_job_quantize and
 * ggufx_adapter_create. Ranks of a group run no adapters and no models that make embeddings only,
 * and use no device (UNSUPPORTED).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_estimate(ggufx_estimate_facts *out, const ggufx_runtime *rt,
                                      const ggufx_file *file, const ggufx_estimate_options *options,
                                      ggufx_error *error);

/*
 * The recipe and the types of cache that lose least among those that fit into memory_bytes at the
 * context that is asked for (0: what ggufx_session_create takes then).
 *
 * Candidates are the file as it is and, where it holds no quantized tensor or the job allows to
 * quantize them again, every recipe that needs no imatrix or has one (only `file_type` with
 * GGUFX_ESTIMATE_FILE_TYPE); each with a ladder of types of keys and values from F16 down (only
 * type_k and type_v where one is not GGUFX_KV_DEFAULT).
 *
 * What a candidate loses is facts.loss, an expected divergence of its predictions from those of
 * the file as it is with an F32 cache, in nats per token: that of the weights, proportional to the
 * square of weight_error, and that of the keys and values. weight_error is the root mean square,
 * over all values, of the relative error a type has on Gaussian values (by the reference's
 * search, with the imatrix where there is one). The losses come from measurements on one small
 * model: good for an order, not as a promise about another model.
 * Of equal losses the one with fewer bytes.
 * Errors: as ggufx_estimate; CAPACITY (nothing fits: the text says what the smallest candidate
 * takes, and the largest context it has room for).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_recommend(ggufx_estimate_facts *out, const ggufx_runtime *rt,
                                       const ggufx_file *file,
                                       const ggufx_estimate_options *options, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
