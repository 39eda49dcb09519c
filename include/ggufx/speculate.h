/*
 * ggufx/speculate.h: several tokens of a text for the price of little more than one.
 *
 * A speculator drives a session: it guesses how the text goes on (a draft: what followed the last
 * tokens earlier in the text, what a smaller model says, or what the host says), computes the
 * logits of all its tokens in one decode, and lets the sampler choose as it would have without: a
 * token that it did not guess ends the step. So the ids, and the draws of the sampler, are exactly
 * those of decoding one token after another, for any sampler, chain or grammar, whatever was
 * guessed; a wrong guess costs time only. This needs logits that do not depend on how many tokens
 * are computed at once: GGUFX_MATMUL_BATCH_INVARIANT or GGUFX_MATMUL_TILES.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_SPECULATE_H
#define GGUFX_SPECULATE_H

#include "grammar.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Guesses, and what became of them. Exclusive, with its sessions. */
typedef struct ggufx_speculator ggufx_speculator;

#define GGUFX_SPECULATOR_MOST_DRAFTED 31u /* tokens guessed in a step */
#define GGUFX_SPECULATOR_MOST_STOPS 1024u /* ids that end a text */

typedef struct ggufx_speculator_options {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const void *next;
    /* A session of another model with the same vocabulary, which guesses the likeliest tokens: its
     * sequence 0 is the speculator's, whatever it holds. It must outlive the speculator. NULL: no
     * model guesses. Guessing ends where its context does. */
    ggufx_session *draft;
    /* The host's own guess: up to `most` ids in out, and how many; more than that is ARGUMENT. The
     * text is text[n_text], then `last`. It must not call into the speculator or its sessions. NULL:
     * the text is looked up, or `draft` asked. Not together with that. */
    size_t (*guess)(void *user, int32_t *out, size_t most, const int32_t *text, size_t n_text,
                    int32_t last);
    void *user;
    const int32_t *stops; /* [n_stops] ids that end a text: copied; a step ends with one, too */
    size_t n_stops;       /* at most GGUFX_SPECULATOR_MOST_STOPS */
    uint32_t n_draft; /* tokens guessed in a step at most; 0 = 7, the limit is 31. Where guesses are
                       * wrong it guesses fewer, then pauses */
    uint32_t n_match; /* looking up: tokens at the end of the text that stood before; 0 = 3, at
                       * most 32 */
    uint64_t reserved[4];
} ggufx_speculator_options;

/* Fill with defaults: looked up in the text.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_speculator_options_init(ggufx_speculator_options *options);

/*
 * A speculator for sequence 0 of a session, which must outlive it. options may be NULL. Takes
 * n_draft + 1 rows of logits; to look up, 8 to 12 bytes per token of the context.
 * Errors: ARGUMENT (also a session whose matmul_flags have neither BATCH_INVARIANT nor TILES),
 * LIMIT, MEMORY, MISMATCH (the vocabularies differ; index is the first token that does).
 * Threads: exclusive on both sessions.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_speculator_create(ggufx_speculator **out, ggufx_session *session,
                                               const ggufx_speculator_options *options,
                                               ggufx_error *error);
/* Free a speculator.   Threads: exclusive on speculator.   Since: 0.1. */
GGUFX_API void ggufx_speculator_destroy(ggufx_speculator *speculator);

/*
 * The next tokens of the text: at least one, at most `capacity`, as
 *
 *     ggufx_session_logits, ggufx_sampler_sample (with a matcher ggufx_sampler_sample_matching),
 *     ggufx_sampler_accept, ggufx_session_decode of the id
 *
 * in a loop would give them. The text is what the session holds; the last id that was given is not
 * in it yet, the next call decodes it first. A session that was decoded into, cut, copied or loaded
 * since the last call goes on from there: then it must have logits, the last id is not added.
 *
 * out_ids       [capacity]
 * out_logprobs  [capacity] as ggufx_sampler_sample gives them, or NULL
 * out_n         how many
 * matcher       NULL: any token fits
 * progress      NULL: cannot be cancelled; its numbers are those of the decode that runs
 * A call that fails has changed neither session nor sampler nor matcher, and the next one begins
 * where it did; a draft session may hold other tokens. Where sampling fails behind the first token
 * (the grammar has ended), the call gives those before and succeeds.
 * Errors: ARGUMENT; STATE (the session has no logits); as ggufx_session_decode of both sessions and
 * the functions above.
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
    uint64_t n_calls;     /* of ggufx_speculator_next that gave something */
    uint64_t n_tokens;    /* they gave */
    uint64_t n_drafted;   /* guessed */
    uint64_t n_accepted;  /* of these, chosen by the sampler */
    uint64_t bytes;       /* taken from the allocator beside the object itself */
} ggufx_speculator_facts;

/* What became of guesses; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once (const).   Since: 0.1. */
GGUFX_API ggufx_status ggufx_speculator_info(ggufx_speculator_facts *out,
                                             const ggufx_speculator *speculator,
                                             ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
