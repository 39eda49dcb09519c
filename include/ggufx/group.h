/*
 * ggufx/group.h: one model on several processes or machines: tensor and pipeline parallelism.
 *
 * Every rank opens the same file, or its own part of it (ggufx_writer_copy_shard), and makes the
 * same calls with the same arguments. With tensor parallelism a rank has some rows of each matrix,
 * some attention heads with their KV caches, and some heads of recurrent states. It reads no other
 * weights.
 *
 * The ranks exchange results by all-gather and never add partial sums. Results are therefore
 * bit-identical to those of one process, for any number of ranks.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_GROUP_H
#define GGUFX_GROUP_H

#include "write.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of a communicator. */
typedef uint32_t ggufx_group_flags;
/* All ranks are on one machine: messages are cheap, and no computation overlaps with them. */
#define GGUFX_GROUP_SHARED_MEMORY 1u

/*
 * Communicator of the host: all-gather, broadcast and barrier between the ranks of a group.
 *
 * Implementations: libggufx-mpi for MPI; NCCL, Gloo, sockets or threads by the host. Ranks are
 * numbered 0 .. size - 1; this is `rank`. All ranks make the same calls in the same order, one at a
 * time. Calls come from the thread that called the library, or from a thread of the session while
 * the former computes (MPI: MPI_THREAD_SERIALIZED). The latter has 512 KiB of stack. A call that
 * fails fills *error, with the rank at fault in index if it is known; the group is not used again.
 * After a call has returned it no longer accesses its arguments.
 *
 * allgather   out [size][n_bytes] from `in` [n_bytes] of each rank.
 * allgatherv  copies n_bytes[r] bytes of each rank r to out + offsets[r]; `in` has n_bytes[rank]
 *             bytes. Both arrays are equal on all ranks.
 * broadcast   copies data [n_bytes] of rank `root` to all.
 * barrier     returns after all ranks have called it.
 * abort       makes current and later calls of the other ranks fail with IO, a message and an
 *             index, if they can be reached. Only this rank calls it.
 * destroy     may be NULL.
 *
 * timeout_ms limits the time that a rank waits for the others; after it the call fails with IO.
 */
typedef struct ggufx_group {
    uint32_t struct_size;
    ggufx_group_flags flags; /* GGUFX_GROUP_SHARED_MEMORY, equal on all ranks */
    void *user;
    uint32_t rank; /* index of this rank */
    uint32_t size; /* number of ranks, 1 .. 256 */
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

/* Flags of a partition. */
typedef uint32_t ggufx_group_options_flags;
#define GGUFX_GROUP_PIPELINE 1u /* pipeline parallelism: a rank has whole layers */

/*
 * Partition of a model over the ranks of a group.
 *
 * All zero except `group` means the default, tensor parallelism: a rank has some rows of each
 * matrix and some heads. It waits for the others four times per layer and token.
 *
 * With GGUFX_GROUP_PIPELINE (pipeline parallelism) a rank has some consecutive layers and all of
 * their caches. The first rank reads the embedding, the last one computes the logits. For a token
 * the ranks work one after the other, and each waits for one message. This suits slow links, and
 * models that exceed the memory of a machine. Layers are assigned by their bytes so that the
 * slowest rank is as fast as possible. Layers that read the keys of another layer stay with it.
 * Ranks without layers are possible: slow ones, or more ranks than layers.
 *
 * Rules for the ranks of a model:
 *
 * - ggufx_model_create and ggufx_session_create are calls of all ranks. The first compares library,
 *   file and options and reports differences (MISMATCH). The second compares options.
 * - Decoding, truncating and all other calls on a session are calls of all ranks with equal
 *   arguments. All ranks get the same results.
 * - An error on one rank fails the call on all ranks, with the same message. A cancellation on one
 *   rank cancels the call on all. The session is as before the call.
 * - The group is dead if a rank is lost (IO: a message did not arrive in time), or has no memory to
 *   edit a sequence. Its calls then fail with STATE, and caches are as before the call.
 * - A report between the decodes of a longer call (ggufx_eval_perplexity) stops it on all ranks or
 *   on none.
 * - Sessions of a group are not used concurrently. Their snapshots contain only tokens
 *   (ggufx_session_save).
 * - Adapters, attention hooks, embedders and importance matrices are UNSUPPORTED.
 */
typedef struct ggufx_group_options {
    uint32_t struct_size;
    ggufx_group_options_flags flags;
    const ggufx_group *group; /* copied; destroy(user) runs once, as that of all hooks */
    /* {len: group.size} weights of the ranks, such as relative speeds, 1 .. 2^20: rows or layers
     * are assigned in proportion; read by the call only. NULL: those of a rank's file
     * (ggufx_writer_copy_shard), else equal. */
    const uint32_t *weights;
    /* Timeout of a message; with GGUFX_GROUP_PIPELINE per 16 tokens of the batch. 0 = 8,000. */
    uint32_t timeout_ms;
    /* The same until the first call has ended, because files may not be in the page cache. 0 =
     * 600,000. */
    uint32_t start_timeout_ms;
} ggufx_group_options;

/*
 * Sets the content of a writer to the file of one rank: the keys of a model, and its rows of the
 * tensors.
 *
 * The rank opens this file in place of the model's file, with the same results. Other ranks may
 * open their own files or the whole. All keys of `file` are copied, as ggufx_writer_copy_meta does.
 * Keys "ggufx.rank.*" name the rank, its rows and the original shapes. For each tensor the file
 * contains:
 *
 * - the rows that rank `rank` of n_ranks reads, as a tensor of two dimensions if these are not all
 * - embeddings, norms and biases as a whole
 * - one row, if the rank does not read the tensor
 *
 * Parameters:
 *
 * weights  {null} {len: n_ranks} as in ggufx_group_options; NULL: equal. A group without weights
 *          uses those of the file.
 * flags    GGUFX_GROUP_PIPELINE for pipeline parallelism: all rows of the rank's matrices, one row
 *          of others.
 *
 * ggufx_model_create refuses such a file without a group, or for another group, rank, weights or
 * kind of parallelism (MISMATCH). It refuses rows that the shapes have no room for (SPLIT).
 *
 * Errors:
 * - ARGUMENT: rank, weights, flags, or n_ranks, which is 2 .. 256.
 * - UNSUPPORTED: also if `file` is a rank's file or no model that predicts tokens.
 * - Those of ggufx_model_create, ggufx_writer_copy_meta and ggufx_writer_add_tensor.
 *
 * After an error the writer is as before.
 * Threads: exclusive on writer.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_writer_copy_shard(ggufx_writer *writer, const ggufx_file *file,
                                               uint32_t rank, uint32_t n_ranks,
                                               const uint32_t *weights,
                                               ggufx_group_options_flags flags, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
