/*
 * ggufx/measure.h: how well a model predicts a text, how far it is from another one, which of
 * several endings it expects.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_MEASURE_H
#define GGUFX_MEASURE_H

#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GGUFX_MEASURE_COMPARED 1u   /* facts: saved logits were read, members of `base` hold */
#define GGUFX_MEASURE_SAME_MODEL 2u /* facts: of the same model with the same adapters */

#define GGUFX_MEASURE_SAME_TOP 4u /* row: the likeliest token is that of the file */

/* A prediction that was scored. */
typedef struct ggufx_measure_row {
    double loss;       /* negative log-likelihood of the token that came */
    double base_loss;  /* what saved logits lose; 0 without them, as the next two */
    double divergence; /* sum p log(p / q): p those of the file, q the model's */
    uint32_t flags;    /* GGUFX_MEASURE_SAME_TOP */
    int32_t token;     /* that came */
} ggufx_measure_row;

/* Errors are standard errors; of a quantile, half the distance between the values one standard
 * error of its rank below and above it. Logarithms are natural. */
typedef struct ggufx_measure_facts {
    uint32_t struct_size;  /* set by the caller */
    uint32_t flags;        /* GGUFX_MEASURE_COMPARED, _SAME_MODEL */
    double perplexity;     /* exp of the mean negative log-likelihood */
    double standard_error; /* of perplexity */
    uint64_t n_chunks;
    uint64_t n_tokens; /* of all chunks, overlaps counted again */
    uint64_t n_scored; /* predictions scored */
    /* With saved logits; else 0. */
    double base_perplexity; /* what they predict */
    double base_error;      /* of base_perplexity */
    double log_ratio;       /* log(perplexity / base_perplexity) */
    double log_ratio_error; /* of the pairs of losses */
    double kl; /* mean of sum p log(p / q) per prediction: p those of the file, q the model's */
    double kl_error;        /* of kl */
    double kl_median;       /* 0 in running facts, as all quantiles */
    double kl_median_error; /* of kl_median */
    double kl_99;           /* 99 of 100 predictions are below */
    double kl_99_error;     /* of kl_99 */
    double kl_max;          /* the largest */
    double same_top;        /* share of predictions whose likeliest token is that of the file */
    double same_top_error;  /* of same_top */
    double rms_dp;          /* root of the mean square of q - p of the token that came, 0 .. 1 */
    double rms_dp_error;    /* of rms_dp */
} ggufx_measure_facts;

/* All zero means default. */
typedef struct ggufx_measure_options {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const void *next;
    /* 0: chunks one after another, of which the second half is scored. Else each chunk begins
     * `stride` tokens behind the one before and its last `stride` predictions are scored, each of
     * which sees n_context - stride tokens or more; less than n_context. */
    uint32_t stride;
    uint32_t reserved0; /* 0 */
    /* The logits of all predictions that are scored, 16 bits each, to a file (beside its name, then
     * renamed) or into the host's hands; at most one of the two. NULL: none. */
    const char *save_path;
    ggufx_status (*write)(void *user, const void *data, size_t n);
    void *write_user; /* for write */
    /* Saved ones to compare with, which must be of the same vocabulary, chunks and first tokens;
     * there may be more chunks than are asked for. NULL: none. A reader gives all n bytes. */
    const char *base_path;
    ggufx_status (*read)(void *user, void *data, size_t n);
    void *read_user; /* for read */
    /* Gets the running result after each chunk; non-zero stops. NULL: none. */
    int32_t (*report)(void *user, const ggufx_measure_facts *running);
    void *report_user;              /* for report */
    const ggufx_progress *progress; /* counts tokens; NULL: none */
    uint64_t reserved[4];
    /* Gets the predictions in the order of the text, some at a time; non-zero stops. A text that is
     * measured in parts, cut between chunks, has the figures of the whole by ggufx_measure_total.
     * NULL: none. */
    int32_t (*rows)(void *user, const ggufx_measure_row *rows, size_t n);
    void *rows_user;     /* for rows */
    uint64_t base_chunk; /* of the saved chunks the one that the text begins with; those before are
                            read, and checked, all the same */
} ggufx_measure_options;

/* Fill with defaults (all zero but struct_size).   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_measure_options_init(ggufx_measure_options *options);

/*
 * Perplexity of a model over token ids in chunks of n_context tokens, each for itself: token 0 of
 * each is replaced by the id `bos` unless that is -1; tokens that fill no chunk are dropped. Logits
 * can be saved, and compared with saved ones: Kullback-Leibler divergence, prediction by prediction.
 * With BATCH_INVARIANT or TILES the figures depend on neither n_batch nor threads.
 *
 * Saved logits take 16 + 2 * vocabulary bytes a prediction, steps of (largest - least) / 65,535:
 * the divergence of a model from itself is about 1e-8. They are streamed; memory is that of 32 rows
 * and 4 bytes a prediction. The documentation ("File format notes") describes the format.
 *
 * session must be empty and hold n_context tokens; it is empty again afterwards. options may be
 * NULL. After a failure no file is left, and *out is as it was.
 * Errors: ARGUMENT (fewer tokens than one chunk), STATE, CANCELLED, MEMORY, VALUE (a logit is
 * infinite or not a number); of files IO, TRUNCATED, MAGIC, VERSION, MALFORMED, CHECKSUM, MISMATCH
 * (of another vocabulary, text or kind of chunks); what write, read and the executor fail with.
 * Threads: exclusive on session; uses the runtime's executor.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_measure(ggufx_measure_facts *out, ggufx_session *session,
                                     const int32_t *tokens, size_t n_tokens, uint32_t n_context,
                                     int32_t bos, const ggufx_measure_options *options,
                                     ggufx_error *error);

/*
 * The figures of predictions that were measured in several runs: those of one run over the whole
 * text, to the last bit, where the rows are all of its rows in the order of the text.
 *
 * rows       [n_rows] as the hook `rows` of ggufx_measure_options got them
 * n_chunks   of which they are, n_context tokens each: passed on into the facts
 * flags      GGUFX_MEASURE_COMPARED: with saved logits; _SAME_MODEL is passed on
 *
 * After a failure *out is as it was.
 * Errors: ARGUMENT, MEMORY, VALUE (a row that no run gives: NaN, a divergence below 0, with saved
 * logits anything infinite).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_measure_total(ggufx_measure_facts *out, const ggufx_runtime *rt,
                                           const ggufx_measure_row *rows, size_t n_rows,
                                           uint64_t n_chunks, uint32_t n_context, uint32_t flags,
                                           ggufx_error *error);

/*
 * Logarithms of the probabilities of several endings of one context, as choices of an answer.
 *
 * out        [n_endings] sum over the tokens of an ending
 * context    [n_context] token ids, at least one
 * endings    ids of all endings, one after another
 * n_tokens   [n_endings] how many ids each has, at least one
 * progress   counts tokens; NULL: none
 *
 * session must be empty and hold the context and the longest ending; it is empty again afterwards.
 * The context is computed once. After a failure out is as it was.
 * Errors: ARGUMENT, CAPACITY (longer than the session), STATE, CANCELLED, MEMORY, VALUE, what the
 * executor fails with.
 * Threads: exclusive on session; uses the runtime's executor.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_measure_endings(double *out, ggufx_session *session,
                                             const int32_t *context, size_t n_context,
                                             const int32_t *endings, const size_t *n_tokens,
                                             size_t n_endings, const ggufx_progress *progress,
                                             ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
