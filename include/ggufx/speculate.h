/*
 * ggufx/speculate.h: speculative decoding by prompt lookup, a draft model or the host.
 *
 * A speculator drives a session. It proposes draft tokens, computes the logits of all of them in
 * one decode, and samples as plain decoding would. A sampled token that differs from the draft ends
 * the step. Draft tokens come from one of these sources:
 *
 * - prompt lookup: tokens that followed the last tokens earlier in the sequence
 * - a draft model, which is smaller and has the same vocabulary
 * - a callback of the host
 *
 * The ids, and the random draws of the sampler, are exactly those of plain decoding, for any
 * sampler chain or grammar. Rejected draft tokens cost only time. This requires logits that are
 * independent of the number of tokens computed at once: GGUFX_MATMUL_BATCH_INVARIANT or
 * GGUFX_MATMUL_TILES.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_SPECULATE_H
#define GGUFX_SPECULATE_H

#include "grammar.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Draft tokens and their acceptance. Exclusive, with its sessions. */
typedef struct ggufx_speculator ggufx_speculator;

#define GGUFX_SPECULATOR_MOST_DRAFTED 31u /* draft tokens per step */
#define GGUFX_SPECULATOR_MOST_STOPS 1024u /* end-of-generation ids */

/* Source and number of draft tokens. All zero means default: prompt lookup. */
typedef struct ggufx_speculator_options {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    /* {keeps} Session of a draft model with the same vocabulary, which proposes its likeliest
     * tokens. The speculator owns the content of its sequence 0. Its context limits drafting. NULL:
     * no draft model. */
    ggufx_session *draft;
    /* Draft tokens of the host: writes up to `most` ids to `out` and returns their number; a larger
     * one is ARGUMENT. The sequence is text[n_text], then `last`. It must not call into the
     * speculator or its sessions. NULL: prompt lookup, or `draft`. Not together with `draft`. */
    size_t (*guess)(void *user, int32_t *out, size_t most, const int32_t *text, size_t n_text,
                    int32_t last);
    void *user;           /* first argument of `guess` */
    const int32_t *stops; /* [n_stops] end-of-generation ids, copied; they end a step too */
    size_t n_stops;       /* at most GGUFX_SPECULATOR_MOST_STOPS */
    /* Draft tokens per step; 0 = 7, at most 31. After rejections the speculator drafts fewer, then
     * pauses. */
    uint32_t n_draft;
    /* prompt lookup: last tokens that must have occurred before; 0 = 3, at most 32 */
    uint32_t n_match;
} ggufx_speculator_options;

/*
 * Creates a speculator for sequence 0 of a session, which must outlive it.
 *
 * session  {keeps} the call continues its sequence 0.
 *
 * options may be NULL. Memory: n_draft + 1 rows of logits, and 8 to 12 bytes per token of the
 * context for prompt lookup.
 *
 * Errors:
 * - ARGUMENT: also a session without GGUFX_MATMUL_BATCH_INVARIANT and GGUFX_MATMUL_TILES.
 * - LIMIT, MEMORY.
 * - MISMATCH: the vocabularies differ (index: the first token that does).
 *
 * Threads: exclusive on both sessions.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_speculator_create(ggufx_speculator **out, ggufx_session *session,
                                               const ggufx_speculator_options *options,
                                               ggufx_error *error);
/* Frees a speculator.   Threads: exclusive on speculator.   Since: 0.1. */
GGUFX_API void ggufx_speculator_destroy(ggufx_speculator *speculator);

/*
 * Generates the next tokens of the sequence, at least one and at most `capacity`.
 *
 * They are the tokens of this loop:
 *
 *     ggufx_session_logits, ggufx_sampler_sample (with a matcher ggufx_sampler_sample_matching),
 *     ggufx_sampler_accept, ggufx_session_decode of the id
 *
 * The session does not yet contain the last returned id; the next call decodes it first. If the
 * session was changed since the last call (decode, truncate, copy, load), generation continues from
 * there. It must then have logits, and the last id is not added.
 *
 * out_ids       the tokens.
 * out_logprobs  {null} as of ggufx_sampler_sample.
 * out_n         number of tokens.
 * matcher       {null} NULL: no grammar.
 * progress      NULL: cannot be cancelled; its counts are those of the running decode.
 *
 * A call that fails changes neither session, sampler nor matcher, and the next one starts at the
 * same position. A draft session may hold other tokens. If sampling fails after the first token
 * because the grammar has ended, the call returns the earlier tokens and succeeds.
 *
 * Errors: ARGUMENT; STATE (the session has no logits); those of ggufx_session_decode on both
 * sessions and of the functions above.
 * Threads: exclusive on speculator, its sessions, sampler and matcher; uses the runtime's executor.
 * Allocates: with a matcher.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_speculator_next(int32_t *out_ids, float *out_logprobs, size_t capacity,
                                             size_t *out_n, ggufx_speculator *speculator,
                                             ggufx_sampler *sampler, ggufx_matcher *matcher,
                                             const ggufx_progress *progress, ggufx_error *error);

typedef struct ggufx_speculator_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    uint64_t n_calls;     /* calls of ggufx_speculator_next that returned tokens */
    uint64_t n_tokens;    /* tokens that these calls returned */
    uint64_t n_drafted;   /* draft tokens */
    uint64_t n_accepted;  /* draft tokens that the sampler accepted */
    uint64_t bytes;       /* allocated bytes without the object itself */
} ggufx_speculator_facts;

/* Describes a speculator: its tokens and acceptance. out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once (const).   Since: 0.1. */
GGUFX_API ggufx_status ggufx_speculator_info(ggufx_speculator_facts *out,
                                             const ggufx_speculator *speculator,
                                             ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
