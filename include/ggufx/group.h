/*
 * ggufx/group.h: one model on several processes or machines, with the bits of one.
 *
 * Every rank opens the same file, or its own part of it (ggufx_writer_copy_rank), and makes the same
 * calls with the same arguments. A rank has some rows of each matrix, some heads of attention with
 * their caches, some heads of states; it reads no other weights. What the ranks compute they put
 * together without adding anything up, so that results are those of one process, to the bit,
 * whatever the number of ranks.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_GROUP_H
#define GGUFX_GROUP_H

#include "write.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All ranks are on it: messages cost next to nothing, nothing is done to hide them. */
#define GGUFX_GROUP_ONE_MACHINE 1u

/*
 * A communicator of the host: how the ranks of a group reach each other (MPI: libggufx-mpi; NCCL,
 * Gloo, sockets, threads). Ranks are numbered 0 .. size - 1, and this is `rank`. All make the same
 * calls in the same order, none two at once. They come from the thread that called the library or from
 * one of the session's, which has 512 KiB of stack, while the first one computes (MPI:
 * MPI_THREAD_SERIALIZED). A call that fails fills in *error, index: the rank that is to blame, where
 * it is known; the group is not used again then. After a call has returned nothing of its arguments is
 * touched.
 *
 * allgather   out [size][n_bytes] from `in` [n_bytes] of each rank
 * allgatherv  n_bytes[r] bytes of rank r to out + offsets[r]; `in` has n_bytes[rank] bytes. Both
 *             arrays are the same on all ranks
 * broadcast   data [n_bytes] of rank `root` to all
 * barrier     returns once all ranks have called it
 * abort       lets the others' calls that wait, or will, fail by IO with a text and an index, as far
 *             as they can be reached; a call of this rank alone
 * destroy     may be NULL
 *
 * timeout_ms is how long a rank may wait for the others; then the call fails with IO.
 */
typedef struct ggufx_group {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_GROUP_ONE_MACHINE, the same on all ranks */
    const void *next;
    void *user;
    uint32_t rank; /* which one this is */
    uint32_t size; /* how many there are, 1 .. 256 */
    ggufx_status (*allgather)(void *user, void *out, const void *in, size_t n_bytes,
                              uint32_t timeout_ms, ggufx_error *error);
    ggufx_status (*allgatherv)(void *user, void *out, const void *in, const size_t *n_bytes,
                               const size_t *offsets, uint32_t timeout_ms, ggufx_error *error);
    ggufx_status (*broadcast)(void *user, void *data, size_t n_bytes, uint32_t root,
                              uint32_t timeout_ms, ggufx_error *error);
    ggufx_status (*barrier)(void *user, uint32_t timeout_ms, ggufx_error *error);
    void (*abort)(void *user, const ggufx_error *why);
    void (*destroy)(void *user);
} ggufx_group;

#define GGUFX_GROUP_LAYERS 1u /* ranks have whole layers, not rows */

/*
 * How a model is dealt to the ranks of a group. All zero but `group` means default: a rank has some rows
 * of each matrix and some heads. For a token it waits for the others four times a layer.
 *
 * GGUFX_GROUP_LAYERS: a rank has some whole layers, one behind another, and all of their caches; the
 * first one reads the embedding, the last one makes the logits. For a token ranks work one after the
 * other and wait for one message each: for slow links, and models that one machine has no memory for.
 * Layers are dealt by their bytes, so that the longest time of a rank is as short as it can be; those that
 * read another layer's keys stay with it. Ranks may have none: more than there are layers, or slow ones.
 *
 * Models of a group: ggufx_model_create and ggufx_session_create are calls of all ranks. The first
 * compares library, file and options and names what differs (MISMATCH); the second compares options.
 * Decoding, truncating and the rest are calls of all ranks with the same arguments, and give all of
 * them the same results. What fails on one rank fails on all, with its text; what a progress stops
 * on one is cancelled on all; each leaves the session as it was. When a rank is lost (IO: a message
 * did not come in time), or has no memory for an edit of a sequence, the group is dead: its calls
 * fail with STATE, caches are as before the call. A report between the decodings of a longer call
 * (ggufx_perplexity) stops it on all ranks or on none. Sessions of a group are not used at once;
 * snapshots of them are tokens (ggufx_session_save). Not available: adapters, attention hooks,
 * embedders, importance matrices (UNSUPPORTED).
 */
typedef struct ggufx_group_options {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_GROUP_LAYERS */
    const void *next;
    const ggufx_group *group;  /* copied; destroy(user) runs once, as that of all hooks */
    const uint32_t *speeds;    /* [size] of the ranks, relative, 1 .. 2^20: rows or layers are dealt
                               * by them; read by the call only. NULL: those of the file where it is a
                               * rank's (ggufx_writer_copy_rank), else all the same */
    uint32_t timeout_ms;       /* of a message, with GGUFX_GROUP_LAYERS for every 16 tokens of the
                                * batch; 0 = 8,000 */
    uint32_t start_timeout_ms; /* the same until the first call has ended, since files may be cold;
                                * 0 = 600,000 */
    uint64_t reserved[4];
} ggufx_group_options;

/* Fill with defaults (all zero but struct_size).   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_group_options_init(ggufx_group_options *options);

/*
 * A file for one rank: all keys of `file` (as ggufx_writer_copy_meta) and of each tensor the rows that
 * rank `rank` of n_ranks reads, as tensors of two dimensions where they are not all; embeddings, norms
 * and biases whole, of a tensor that the rank does not read one row. Keys "ggufx.rank.*" say of whom it
 * is and which rows of which shapes these are. Written, it is what that rank of such a group opens in
 * place of the model's file, for the same results; others may have theirs, or the whole. speeds
 * [n_ranks] as in ggufx_group_options, NULL: all the same; a group without speeds then takes the file's.
 * flags: GGUFX_GROUP_LAYERS, for a group of ranks with whole layers: all rows of the matrices of the rank's,
 * of the others one row.
 * ggufx_model_create refuses such a file without a group, in another one, for another rank, other speeds
 * or ranks of the other kind (MISMATCH), and rows that are not what the shapes have room for (SPLIT).
 * Errors: ARGUMENT (rank, n_ranks, which is 2 .. 256, speeds or flags), those of ggufx_model_create,
 * ggufx_writer_copy_meta and _add_tensor; UNSUPPORTED too where `file` is a rank's already or no model
 * that predicts tokens. After an error the writer is as before.
 * Threads: exclusive on writer.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_writer_copy_rank(ggufx_writer *writer, const ggufx_file *file,
                                              uint32_t rank, uint32_t n_ranks,
                                              const uint32_t *speeds, uint32_t flags,
                                              ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
