/*
 * ggufx/batch.h: many sequences in one session, decoded in batches.
 *
 * A session created with n_sequences has sequences 0 .. n_sequences - 1, each of up to n_context
 * tokens. One batch call appends tokens to many sequences and reads the weights once for all of
 * them: prefill for many tokens of a sequence, decode for one.
 *
 * GGUFX_MATMUL_BATCH_INVARIANT and GGUFX_MATMUL_TILED make logits independent of the batch. A
 * sequence then has the same bits for any other sequences, any partition of its tokens into calls
 * and any n_batch. Without them the bits of products depend on the number of tokens that are
 * computed at once.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_BATCH_H
#define GGUFX_BATCH_H

#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of an item of a batch. */
typedef uint32_t ggufx_decode_flags;
#define GGUFX_DECODE_LOGITS 1u     /* logits of the item's last token */
#define GGUFX_DECODE_ALL_LOGITS 2u /* logits of each of its tokens */
/* Keeps a checkpoint of recurrent states at the end of the item's tokens: the end of a system
 * prompt, or of a turn. Truncations and copies that end there recompute nothing. It takes one of
 * n_checkpoints; when these run out, the first such checkpoint of a sequence stays. No effect on
 * models without recurrent layers. */
#define GGUFX_DECODE_CHECKPOINT 4u
#define GGUFX_DECODE_HIDDEN 8u      /* hidden state of its last token, after the last norm */
#define GGUFX_DECODE_ALL_HIDDEN 16u /* hidden states of each of its tokens */

/* Tokens to append to a sequence. Unused fields must be 0. */
typedef struct ggufx_decode_item {
    uint32_t struct_size; /* that of the first item is the distance of all */
    ggufx_decode_flags flags;
    uint32_t sequence; /* below n_sequences; each item of a call has another one */
    uint32_t reserved;
    const int32_t *tokens; /* {null} read by the call only; NULL: with input_rows alone */
    size_t n_tokens;       /* at least 1 */
    /*
     * {null} f32 [n_tokens][n_embedding], finite: the input of the first layer, such as an image or
     * a soft prompt. NULL: the embeddings of the tokens.
     *
     * They replace the rows of token_embd, including the factor that some models apply. Learned
     * positions are added as usual. `tokens` are then only used if a model looks ids up elsewhere;
     * NULL means id 0. The rows are kept as long as their tokens may be recomputed.
     */
    const float *input_rows;
    size_t n_input_rows; /* floats of input_rows: n_tokens * n_embedding; 0 without */
    /* {null} {len: n_tokens} positions, ascending, after that of the sequence's last token; NULL:
     * without gaps */
    const int32_t *positions;
} ggufx_decode_item;

/*
 * Observer of the attention of each layer during a decode, for statistics, calibration and
 * comparisons.
 *
 * layer is called on the thread of the decode, for each batch and each layer with its own keys. The
 * arrays are valid during the call.
 *
 * q, out  f32 [n_tokens][n_heads][head_dim].
 * k, v    f32 [n_tokens][n_kv_heads][head_dim].
 *
 * q and k include RoPE of their positions, from first_token on. A result other than GGUFX_OK ends
 * the decode with it. The hook must not call back into the session.
 */
typedef struct ggufx_attention_hook {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    void *user;
    ggufx_status (*layer)(void *user, uint32_t layer, uint64_t first_token, size_t n_tokens,
                          const float *q, const float *k, const float *v, const float *out);
} ggufx_attention_hook;

/* Flags of a batch. */
typedef uint32_t ggufx_decode_options_flags;
/* Uses matmul_flags of these options in place of those of the session. A server may use
 * GGUFX_MATMUL_TILED for prompts and GGUFX_MATMUL_BATCH_INVARIANT for generated tokens. Recomputed
 * tokens keep the mode of their first computation. */
#define GGUFX_DECODE_HAS_MATMUL_FLAGS 1u
/* Logits and hidden states may hold NaN; without it the call fails with VALUE. The other ranks of a
 * group need it to repeat a ggufx_session_step. */
#define GGUFX_DECODE_KEEP_NAN 2u

typedef struct ggufx_decode_options {
    uint32_t struct_size;
    ggufx_decode_options_flags flags;
    const ggufx_progress *progress; /* counts tokens; NULL: cannot be cancelled */
    /* f32 [n_rows][n_vocab], a buffer of the caller, in the order of the items. Items with LOGITS
     * have one row, items with ALL_LOGITS n_tokens rows. NULL if there are none. */
    float *logits;
    size_t n_logits;                 /* floats of logits: n_rows * n_vocab */
    ggufx_matmul_flags matmul_flags; /* GGUFX_MATMUL_* with GGUFX_DECODE_HAS_MATMUL_FLAGS, else 0 */
    uint32_t reserved;
    /* f32 [n_rows][n_embedding]: rows of HIDDEN and ALL_HIDDEN, in the order of logits */
    float *hidden;
    size_t n_hidden;                       /* floats of hidden: n_rows * n_embedding */
    const ggufx_attention_hook *attention; /* needs a batch of one item; NULL: none */
} ggufx_decode_options;

/*
 * Appends tokens to several sequences and computes the requested rows of logits and hidden states.
 *
 * Each of the n_items items belongs to another sequence. At most n_batch tokens of all items are
 * computed at once. After a failure every sequence is as before, and the content of `logits` and
 * `hidden` is undefined. The order of items decides the order of rows and changes no value.
 * After ggufx_session_truncate the call may first recompute earlier tokens. These give no rows, are
 * not passed to the attention hook, and are not counted by progress, which is polled meanwhile.
 *
 * Errors:
 * - ARGUMENT: an id outside of the vocabulary, a position, lengths, no such sequence, a sequence
 *   with two items (index: the item).
 * - CAPACITY: the context, or the memory that sequences share, is full (index: the item).
 * - CANCELLED.
 * - VALUE: NaN in the model; input_rows that are not finite (index: the item).
 * - MEMORY.
 * - The status of a failed executor.
 *
 * Threads: exclusive on session; uses the runtime's executor.
 * Allocates: only with input_rows, with n_context_total, and for sequences that took part in a copy
 * or lost tokens before others. Pages that these no longer share, or fill in part, are allocated
 * again.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_session_decode(ggufx_session *session, const ggufx_decode_item *items,
                                            size_t n_items, const ggufx_decode_options *options,
                                            ggufx_error *error);

/* Returns the number of tokens of a sequence; 0 if there is no such sequence.
 * Threads: any number at once (const).   Since: 0.1. */
GGUFX_API uint64_t ggufx_session_length(const ggufx_session *session, uint32_t sequence);

/*
 * Keeps the first n_tokens tokens of a sequence. With n_tokens 0 it is like new.
 *
 * The next decode continues with the bits of a sequence that decoded only these tokens. (The bits
 * of products depend on how many tokens are computed at once, 1 to 3 or more, and in models with
 * experts also on which. With GGUFX_MATMUL_BATCH_INVARIANT no truncation or batch changes a bit.)
 *
 * The call itself takes almost no time. The next decode recomputes the tokens that the caches have
 * lost in addition to the removed ones. It starts from the last position at or before n_tokens that
 * satisfies all of these conditions:
 *
 * - Quantized keys and values: the end of a page of 64 tokens, or any position in the first page,
 *   the last one and the page where the last decode began.
 * - Layers with a window: the start, or any of the last 320 positions, counted from the largest
 *   length that the sequence had.
 * - Recurrent layers: the start of the last decode, or a checkpoint (n_checkpoints). Checkpoints
 *   are at ends of decodes, and of batches within one, that reached another page of 64 tokens. If
 *   there are too few, the distances of the remaining ones from the end about double.
 *
 * So at most 63 tokens are recomputed in most models, and the whole sequence at worst. Several
 * truncations before that decode are allowed. If that decode fails or is cancelled, the following
 * one starts the recomputation again.
 *
 * Errors: ARGUMENT (more tokens than it has; no such sequence).
 * Threads: exclusive on session.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_session_truncate(ggufx_session *session, uint32_t sequence,
                                              uint64_t n_tokens, ggufx_error *error);

/*
 * Removes tokens `first` .. first + n_tokens - 1 from a sequence.
 *
 * Later tokens keep their positions, keys and values, which were computed with the removed tokens.
 * The call is therefore cheap, but the result differs from a sequence that never had them. For
 * that, call ggufx_session_truncate and decode the rest again. Later truncations recompute only the
 * tokens that they must, without the removed ones.
 *
 * To continue in a full context, remove the oldest tokens and close the gap with
 * ggufx_session_shift.
 *
 * Errors:
 * - ARGUMENT: more tokens than it has, no such sequence.
 * - MEMORY.
 * - STATE: the next token would see tokens that a sliding window has dropped.
 * - UNSUPPORTED: recurrent layers, unless the tokens are at the end of the sequence.
 *
 * After an error nothing has changed.
 * Threads: exclusive on session.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_session_remove(ggufx_session *session, uint32_t sequence,
                                            uint64_t first, uint64_t n_tokens, ggufx_error *error);

/*
 * Adds delta to the positions of tokens `first` .. first + n_tokens - 1, which must stay ascending.
 *
 * Stored keys do not change; queries are rotated in the opposite direction. Shifting back therefore
 * restores every bit.
 *
 * Errors:
 * - ARGUMENT: positions that become negative, descend or are too large; more tokens than it has; no
 *   such sequence.
 * - MEMORY.
 * - STATE: as ggufx_session_remove.
 * - UNSUPPORTED: a model with learned position embeddings.
 *
 * After an error nothing has changed.
 * Threads: exclusive on session.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_session_shift(ggufx_session *session, uint32_t sequence,
                                           uint64_t first, uint64_t n_tokens, int32_t delta,
                                           ggufx_error *error);

/*
 * Copies the ids and positions of tokens `first` .. first + n_tokens - 1.
 *
 * out_ids        {null} {len: n_tokens} token ids.
 * out_positions  {null} {len: n_tokens} their positions.
 *
 * Errors: ARGUMENT.   Threads: any number at once (const).   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_session_tokens(int32_t *out_ids, int32_t *out_positions,
                                            const ggufx_session *session, uint32_t sequence,
                                            uint64_t first, uint64_t n_tokens, ggufx_error *error);

/*
 * Copies the first n_tokens tokens of a sequence to an empty one, sharing a prefix.
 *
 * Later results have the bits that they would have if `to` had decoded these tokens itself. Pages
 * of keys and values, and recurrent states, are shared. The next call recomputes the tokens after
 * the last position that ggufx_session_truncate could keep: at most 63 in most models.
 *
 * Errors:
 * - ARGUMENT: more tokens than it has, no such sequence.
 * - MEMORY.
 * - MISMATCH: the sequences have different adapters (adapter.h).
 * - STATE: `to` is not empty, or is `from`.
 *
 * After an error nothing has changed.
 * Threads: exclusive on session.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_session_copy(ggufx_session *session, uint32_t from, uint32_t to,
                                          uint64_t n_tokens, ggufx_error *error);

/*
 * Writes a snapshot of a sequence, or of all (GGUFX_ALL_SEQUENCES).
 *
 * It contains tokens, keys, values and states as stored, without logits and checkpoints. Shared
 * pages are written for each sequence and are no longer shared after a load. A load can therefore
 * exceed n_context_total (CAPACITY).
 *
 * A rank of a group writes only tokens. Any rank can do so, even after the group has lost one. A
 * session without a group, or a group of any size, can load them. Its next call recomputes the
 * caches, each token in its original mode. The bits are the same with GGUFX_MATMUL_BATCH_INVARIANT
 * or GGUFX_MATMUL_TILED. Sequences with removed or shifted tokens are refused (UNSUPPORTED),
 * because recomputation would change them.
 *
 * write  called with consecutive pieces of the snapshot. A status other than GGUFX_OK ends the
 *        call, which returns it.
 *
 * Errors: ARGUMENT, VALUE (a state contains NaN or an infinity), UNSUPPORTED, the status of
 * `write`.
 * Threads: any number at once (const).   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_session_save(const ggufx_session *session, uint32_t sequence,
                                          ggufx_status (*write)(void *user, const void *data,
                                                                size_t n),
                                          void *user, ggufx_error *error);

/*
 * Replaces a sequence, or all, by a snapshot of ggufx_session_save.
 *
 * The snapshot must contain one sequence, or as many as the session has. Model, adapters and cache
 * types must be equal. Later results have every bit that they would have had in the saved session.
 * During the load, memory for both the old and the new content is needed. In a group, all ranks
 * call this with the same snapshot (else MISMATCH), which one rank has written.
 *
 * read   fills all n bytes and returns GGUFX_OK, or returns another status, which ends the call. At
 *        the end of the data it returns GGUFX_E_TRUNCATED.
 *
 * Errors: ARGUMENT, MAGIC, VERSION, MISMATCH (the message names the difference), MALFORMED,
 * CHECKSUM, CAPACITY, MEMORY, the status of `read`. After an error the session is as before.
 * Threads: exclusive on session.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_session_load(ggufx_session *session, uint32_t sequence,
                                          ggufx_status (*read)(void *user, void *data, size_t n),
                                          void *user, ggufx_error *error);

/*
 * Writes a snapshot to a file (UTF-8 path).
 *
 * The file is written, replaced and protected as that of ggufx_kv_save_file.
 *
 * Errors: as ggufx_kv_save_file, VALUE, UNSUPPORTED.
 * Threads: any number at once (const), on different paths.   Allocates: a buffer.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_session_save_file(const ggufx_session *session, uint32_t sequence,
                                               const char *path, ggufx_error *error);

/*
 * Replaces a sequence, or all, by a snapshot in a file (UTF-8 path), which must end with the
 * snapshot.
 * Errors: as ggufx_session_load, IO (with system_error), TRUNCATED. After an error the session is
 * as before.
 * Threads: exclusive on session.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_session_load_file(ggufx_session *session, uint32_t sequence,
                                               const char *path, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
