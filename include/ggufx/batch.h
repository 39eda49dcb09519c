/*
 * ggufx/batch.h: many conversations in one session, computed together.
 *
 * A session made with n_sequences has sequences 0 .. n_sequences - 1, each of up to n_context
 * tokens; ggufx_session_decode and ggufx_session_truncate are about sequence 0. One call appends
 * tokens to many: weights are read once for all of them. With GGUFX_MATMUL_BATCH_INVARIANT or
 * GGUFX_MATMUL_TILES the logits of a sequence do not depend, to the bit, on what else is in its
 * calls, on how its tokens were cut into calls, or on n_batch; without, the bits of products depend
 * on how many tokens are computed at once.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_BATCH_H
#define GGUFX_BATCH_H

#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GGUFX_BATCH_LOGITS 1u     /* of its last token */
#define GGUFX_BATCH_ALL_LOGITS 2u /* of each of its tokens */
/* Where the tokens end is a place that cuts and copies come back to without computing anything
 * again: the end of a system prompt, of a turn. It takes one of n_checkpoints, the first one that
 * was asked for stays. Without effect on models that have no recurrent layers. */
#define GGUFX_BATCH_MARK 4u
#define GGUFX_BATCH_EMBED 8u      /* the hidden state of its last token, behind the last norm */
#define GGUFX_BATCH_ALL_EMBED 16u /* of each of its tokens */

/* Tokens to append to a sequence. The caller sets what it does not use to 0. */
typedef struct ggufx_batch_item {
    uint32_t sequence;     /* below n_sequences, another one in each item of a call */
    uint32_t flags;        /* GGUFX_BATCH_* */
    const int32_t *tokens; /* [n_tokens], read by the call only; may be NULL beside embeddings */
    size_t n_tokens;       /* >= 1 */
    /* f32 [n_tokens][n_embedding], finite: what the first layer gets in place of the rows of
     * token_embd times the factor that some models have (an image, say, or a soft prompt); learned
     * positions are added as ever. NULL: the tokens' own. tokens are then what stands for them where
     * a model looks ids up elsewhere, and NULL is 0 for all. The rows are kept as long as their
     * tokens may be computed again. */
    const float *embeddings;
    size_t n_embeddings; /* its floats: n_tokens * n_embedding; 0 without */
    /* [n_tokens] places in the text, ascending, the first one behind that of the sequence's last
     * token; NULL: without gaps. */
    const int32_t *positions;
} ggufx_batch_item;

/* matmul_flags of the options count, not those of the session: a server may want TILES for prompts
 * and BATCH_INVARIANT for tokens. What is computed again later is so as it was the first time. */
#define GGUFX_BATCH_MATMUL 1u

typedef struct ggufx_batch_options {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_BATCH_MATMUL */
    const void *next;
    const ggufx_progress *progress; /* tokens done; NULL: cannot be cancelled */
    float *logits;         /* [n_rows][n_vocab] of the caller's: item after item, a row of each with
                            * LOGITS, n_tokens rows with ALL_LOGITS; NULL where there are none */
    size_t n_logits;       /* its floats: n_rows * n_vocab */
    uint32_t item_size;    /* sizeof(ggufx_batch_item), set by the caller */
    uint32_t matmul_flags; /* GGUFX_MATMUL_* with GGUFX_BATCH_MATMUL; else 0 */
    uint64_t reserved[4];
    float *embeddings;   /* [n_rows][n_embedding], as logits for EMBED and ALL_EMBED */
    size_t n_embeddings; /* its floats: n_rows * n_embedding */
} ggufx_batch_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_batch_options_init(ggufx_batch_options *options);

/*
 * Append the tokens of n_items items, each to a sequence of its own, and compute the rows that are
 * asked for, at most n_batch tokens of all items at a time. All or nothing: after a failure
 * every sequence is as before, and what stands in `logits` and `embeddings` is of no use. The order
 * of items decides that of the rows and changes no other number.
 * The last logits of ggufx_session_decode are gone where sequence 0 takes part.
 * Errors: ARGUMENT (index: the item; an id outside of the vocabulary, a position, a sequence that
 * there is not or that has two items, lengths), CAPACITY (index: the item; the context, or the
 * memory that sequences share, is full), CANCELLED, VALUE (NaN arose in the model; index: an item
 * whose embeddings are not finite), MEMORY, what the executor fails with.
 * Threads: exclusive on session; uses the runtime's executor.   Allocates: no, but for embeddings,
 * for sequences that took part in a copy or lost tokens before others (pages that they no longer
 * share, or fill in part, are taken anew), and with n_context_total.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_session_decode_batch(ggufx_session *session,
                                                  const ggufx_batch_item *items, size_t n_items,
                                                  const ggufx_batch_options *options,
                                                  ggufx_error *error);

/* Tokens of a sequence; 0 of one that there is not.
 * Threads: any number at once (const).   Since: 0.1. */
GGUFX_API uint64_t ggufx_session_sequence_length(const ggufx_session *session, uint32_t sequence);

/* ggufx_session_truncate of a sequence; with n_tokens 0 it is as new.
 * Errors: ARGUMENT (more than there are; no such sequence).
 * Threads: exclusive on session.   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_session_sequence_truncate(ggufx_session *session, uint32_t sequence,
                                                       uint64_t n_tokens, ggufx_error *error);

/*
 * Take tokens `first` .. first + n_tokens - 1 out of a sequence: those behind them move up in the
 * list and stay at their positions. Their keys and values stay as they are, too: computed when the
 * text was whole, which is what makes this cheap, and not what a text without that part would give
 * (ggufx_session_sequence_truncate, and decode the rest anew). Only what later cuts make necessary
 * is computed again, in the text that is left. The last logits stay.
 * A full context goes on when its oldest tokens are removed and ggufx_session_sequence_shift closes
 * the gap.
 * Errors: ARGUMENT (more than there are; no such sequence), MEMORY, STATE (the next token would see
 * tokens that a window has dropped), UNSUPPORTED (recurrent layers; not at the end of a sequence).
 * Nothing has changed then.
 * Threads: exclusive on session.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_session_sequence_remove(ggufx_session *session, uint32_t sequence,
                                                     uint64_t first, uint64_t n_tokens,
                                                     ggufx_error *error);

/*
 * Add delta to the positions of tokens `first` .. first + n_tokens - 1, which must still be
 * ascending. Nothing that is stored changes: queries are turned the other way instead, so shifting
 * back gives every bit again.
 * Errors: ARGUMENT (positions that are negative, descend or are too large; more tokens than there
 * are; no such sequence), MEMORY, STATE (as for remove), UNSUPPORTED (a model that adds embeddings
 * of positions). Nothing has changed then.
 * Threads: exclusive on session.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_session_sequence_shift(ggufx_session *session, uint32_t sequence,
                                                    uint64_t first, uint64_t n_tokens,
                                                    int32_t delta, ggufx_error *error);

/* Positions of tokens `first` .. first + n_tokens - 1, and their ids in out_ids; either may be NULL.
 * Errors: ARGUMENT.   Threads: any number at once (const).   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_session_sequence_tokens(int32_t *out_ids, int32_t *out_positions,
                                                     const ggufx_session *session,
                                                     uint32_t sequence, uint64_t first,
                                                     uint64_t n_tokens, ggufx_error *error);

/*
 * Let an empty sequence begin with the first n_tokens tokens of another one, as if it had decoded
 * them itself: what comes then has the same bits. Pages of keys and values, and states, are shared;
 * what lies behind the last place that ggufx_session_truncate could go back to is computed again by
 * the next call, at most 63 tokens in most models.
 * Errors: ARGUMENT (more tokens than there are; no such sequence), MEMORY, MISMATCH (they have other
 * adapters, adapter.h), STATE (`to` is not empty, or is `from`). Nothing has changed then.
 * Threads: exclusive on session.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_session_sequence_copy(ggufx_session *session, uint32_t from,
                                                   uint32_t to, uint64_t n_tokens,
                                                   ggufx_error *error);

typedef struct ggufx_session_memory_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    uint64_t cache_bytes; /* taken for keys, values and states */
    /* Of 64 tokens of a layer. */
    uint64_t n_pages;        /* taken, used or not; shared ones count once */
    uint64_t n_shared_pages; /* places in sequences that hold a page others hold too */
    uint64_t n_tokens;       /* of all sequences */
    uint64_t n_tokens_left;  /* with n_context_total: for which memory is left, in whole pages */
    uint64_t embedded_bytes; /* taken for embeddings that were given */
} ggufx_session_memory_facts;

/* Memory of the caches of a session; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once (const).   Since: 0.1. */
GGUFX_API ggufx_status ggufx_session_memory(ggufx_session_memory_facts *out,
                                            const ggufx_session *session, ggufx_error *error);

#define GGUFX_SESSION_ALL 0xffffffffu /* a snapshot of all sequences */

/*
 * Write a snapshot of a sequence, or of GGUFX_SESSION_ALL: its tokens, keys, values and states as
 * they are, without logits and checkpoints. What sequences share is written for each, and is each
 * one's own when it is loaded, which may be more than n_context_total has room for (CAPACITY).
 * A rank of a group writes tokens alone, as any of them does, also where the group has lost one:
 * a session without a group or a group of any size loads them, and its next call computes what the
 * caches held, each token in its own mode: with the same bits where no neighbour changes one
 * (GGUFX_MATMUL_BATCH_INVARIANT, _TILES). It would be something else where tokens before others were
 * removed or moved: such a sequence is refused (UNSUPPORTED).
 *
 * write  called with consecutive pieces of the snapshot; a status other than GGUFX_OK ends the
 *        call, which returns it.
 * Errors: ARGUMENT; VALUE (a state holds NaN or an infinity); UNSUPPORTED; what `write` returns.
 * Threads: any number at once (const).   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_session_save(const ggufx_session *session, uint32_t sequence,
                                          ggufx_status (*write)(void *user, const void *data,
                                                                size_t n),
                                          void *user, ggufx_error *error);

/*
 * Replace a sequence, or all, by a snapshot that ggufx_session_save wrote of one, or of as many, in
 * a session of the same model, adapters and cache types; what is decoded then has every bit that it
 * would have had there. While it is read the memory of what is replaced is taken once more.
 * A call of all ranks of a group, who all read the same (else MISMATCH) of what a rank has written.
 *
 * read   fills all n bytes and returns GGUFX_OK, or another status (at the end of the data:
 *        GGUFX_E_TRUNCATED), which ends the call.
 * Errors: ARGUMENT, MAGIC, VERSION, MISMATCH (what differs), MALFORMED, CHECKSUM, CAPACITY, MEMORY;
 * what `read` returns. In all of them the session is as it was.
 * Threads: exclusive on session.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_session_load(ggufx_session *session, uint32_t sequence,
                                          ggufx_status (*read)(void *user, void *data, size_t n),
                                          void *user, ggufx_error *error);

/* ggufx_session_save to a file (UTF-8), which is written, replaced and protected as that of
 * ggufx_kv_save_path. Errors: as there, VALUE, UNSUPPORTED.
 * Threads: any number at once (const), on different paths.   Allocates: a buffer.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_session_save_path(const ggufx_session *session, uint32_t sequence,
                                               const char *path, ggufx_error *error);

/* ggufx_session_load from a file (UTF-8), which must end with the snapshot. Errors: as there, IO
 * (with system_error), TRUNCATED. In all of them the session is as it was.
 * Threads: exclusive on session.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_session_load_path(ggufx_session *session, uint32_t sequence,
                                               const char *path, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
