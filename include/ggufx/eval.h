/*
 * ggufx/eval.h: perplexity, KL divergence from saved logits, multiple-choice continuations.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_EVAL_H
#define GGUFX_EVAL_H

#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of a measurement and of its rows. */
typedef uint32_t ggufx_eval_flags;
#define GGUFX_EVAL_COMPARED 1u   /* facts: saved logits were read, the fields about them are set */
#define GGUFX_EVAL_SAME_MODEL 2u /* facts: these logits are of the same model and adapters */
#define GGUFX_EVAL_SAME_TOP 4u   /* row: the likeliest token is that of the saved logits */

/* A prediction that was scored. */
typedef struct ggufx_eval_row {
    double loss;           /* negative log-likelihood of the token in the text */
    double reference_loss; /* the same for the saved logits; 0 without them, as are the next two */
    /* sum p log(p / q), p of the saved logits, q of the model */
    double kl_divergence;
    ggufx_eval_flags flags; /* GGUFX_EVAL_SAME_TOP */
    int32_t token;          /* token in the text */
} ggufx_eval_row;

/* Results of a measurement. Errors are standard errors. The error of a quantile is half the
 * distance between the values one standard error of its rank below and above it. Logarithms are
 * natural. */
typedef struct ggufx_eval_facts {
    uint32_t struct_size;   /* set by the caller */
    ggufx_eval_flags flags; /* GGUFX_EVAL_COMPARED, _SAME_MODEL */
    double perplexity;      /* exp of the mean negative log-likelihood */
    double standard_error;  /* standard error of the perplexity */
    uint64_t n_chunks;
    uint64_t n_tokens; /* tokens of all chunks; overlaps count repeatedly */
    uint64_t n_scored; /* predictions scored */
    /* Comparison with saved logits; else 0. */
    double reference_perplexity; /* perplexity of the saved logits */
    double reference_error;      /* standard error of reference_perplexity */
    double log_ratio;            /* log(perplexity / reference_perplexity) */
    double log_ratio_error;      /* standard error of log_ratio, from pairs of losses */
    /* mean KL divergence per prediction: sum p log(p / q), p of the saved logits, q of the model */
    double kl;
    double kl_error;        /* standard error of kl */
    double kl_median;       /* median KL divergence; 0 in running results, as are all quantiles */
    double kl_median_error; /* error of kl_median */
    double kl_99;           /* 99th percentile of the KL divergence */
    double kl_99_error;     /* error of kl_99 */
    double kl_max;          /* maximum KL divergence */
    double same_top_token;  /* share of predictions with the same likeliest token */
    double same_top_token_error; /* standard error of same_top_token */
    double rms_delta_p;          /* root mean square of q - p of the token in the text, 0 .. 1 */
    double rms_delta_p_error;    /* standard error of rms_delta_p */
} ggufx_eval_facts;

/* Options of a measurement. All zero means default. */
typedef struct ggufx_eval_options {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    /* 0: separate chunks, whose second half is scored. Otherwise each chunk begins `stride` tokens
     * after the previous one, and its last `stride` predictions are scored. Each of these sees at
     * least n_context - stride tokens. stride is less than n_context. */
    uint32_t stride;
    uint32_t reserved;
    /* File for the logits of all scored predictions, 16 bits each, by atomic replace. NULL: none.
     * Not together with `write`. */
    const char *save_path;
    /* Gets the same bytes in place of a file. NULL: none. */
    ggufx_status (*write)(void *user, const void *data, size_t n);
    void *write_user; /* first argument of write */
    /* File of saved logits to compare with. They must have the same vocabulary, chunks and first
     * tokens, and may have more chunks. NULL: none. Not together with `read`. */
    const char *reference_path;
    /* Reads all n bytes of the same from elsewhere. NULL: none. */
    ggufx_status (*read)(void *user, void *data, size_t n);
    void *read_user; /* first argument of read */
    /* Gets the running result after each chunk. A result other than GGUFX_OK ends the call with it.
     * NULL: none. */
    ggufx_status (*report)(void *user, const ggufx_eval_facts *running);
    void *report_user;              /* first argument of report */
    const ggufx_progress *progress; /* counts tokens; NULL: none */
    /* Gets the scored predictions in the order of the text, in pieces. A result other than GGUFX_OK
     * ends the call with it. ggufx_eval_merge computes the results of a text that is measured in
     * parts, cut between chunks. NULL: none. */
    ggufx_status (*rows)(void *user, const ggufx_eval_row *rows, size_t n);
    void *rows_user; /* first argument of rows */
    /* First chunk of the saved logits that belongs to these tokens. Earlier chunks are read and
     * checked. */
    uint64_t reference_chunk;
} ggufx_eval_options;

/*
 * Measures the perplexity of a model over token ids, and its KL divergence from saved logits.
 *
 * The ids are processed in independent chunks of n_context tokens. Token 0 of each is replaced by
 * the id `bos` unless that is -1. Tokens that fill no chunk are dropped. Logits can be saved for a
 * later comparison. With GGUFX_MATMUL_BATCH_INVARIANT or GGUFX_MATMUL_TILED the results are
 * independent of n_batch and threads.
 *
 * Saved logits take 16 + 2 * vocabulary bytes per prediction, in steps of (largest - least) /
 * 65,535: the divergence of a model from itself is about 1e-8. They are streamed; memory is that of
 * 32 rows and 4 bytes per prediction. The documentation ("File format notes") describes the format.
 *
 * session must be empty and hold n_context tokens; it is empty again afterwards. options may be
 * NULL. After a failure no file is left, and *out is as before.
 *
 * Errors:
 * - ARGUMENT: fewer tokens than one chunk.
 * - STATE, CANCELLED, MEMORY.
 * - VALUE: a logit is infinite or NaN.
 * - Files: IO, TRUNCATED, MAGIC, VERSION, MALFORMED, CHECKSUM, MISMATCH (another vocabulary, text
 *   or kind of chunks).
 * - The status of a failed `write`, `read` or executor.
 *
 * Threads: exclusive on session; uses the runtime's executor.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_eval_perplexity(ggufx_eval_facts *out, ggufx_session *session,
                                             const int32_t *tokens, size_t n_tokens,
                                             uint32_t n_context, int32_t bos,
                                             const ggufx_eval_options *options, ggufx_error *error);

/*
 * Computes the results of predictions that were measured in several runs.
 *
 * They have the bits of one run over the whole text if the rows are all of its rows in the order of
 * the text.
 *
 * rows      [n_rows] as `rows` of ggufx_eval_options got them.
 * n_chunks  number of their chunks, of n_context tokens each; copied to the facts.
 * flags     GGUFX_EVAL_COMPARED with saved logits; _SAME_MODEL is copied to the facts.
 *
 * After a failure *out is as before.
 *
 * Errors: ARGUMENT, MEMORY, VALUE (an impossible row: NaN, a divergence below 0, or an infinity
 * with saved logits).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_eval_merge(ggufx_eval_facts *out, const ggufx_runtime *rt,
                                        const ggufx_eval_row *rows, size_t n_rows,
                                        uint64_t n_chunks, uint32_t n_context,
                                        ggufx_eval_flags flags, ggufx_error *error);

/*
 * Computes the log-probabilities of several continuations of one context: a multiple-choice
 * question.
 *
 * out            {len: n_continuations} sum over the tokens of a continuation.
 * context        [n_context] token ids, at least one.
 * continuations  at least one id each.
 * progress       counts tokens; NULL: none.
 *
 * session must be empty and hold the context and the longest continuation; it is empty again
 * afterwards. The context is computed once. After a failure `out` is as before.
 *
 * Errors: ARGUMENT, CAPACITY (longer than the session), STATE, CANCELLED, MEMORY, VALUE, the status
 * of a failed executor.
 * Threads: exclusive on session; uses the runtime's executor.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_eval_continuations(double *out, ggufx_session *session,
                                                const int32_t *context, size_t n_context,
                                                const ggufx_token_list *continuations,
                                                size_t n_continuations,
                                                const ggufx_progress *progress, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
