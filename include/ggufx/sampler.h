/*
 * ggufx/sampler.h: sampler chain, log-probabilities.
 *
 * A sampler chain selects a token id from logits. It applies samplers in the caller's order. Its
 * results are reproducible: the same seed, samplers, logits and accepted tokens give the same ids.
 * This holds on every machine, for every instruction set and any number of threads.
 *
 * Candidates are tokens with their logits. At first they are the vocabulary by id, without tokens
 * that a grammar forbids. Filters remove candidates and leave a list by rank: larger logits first,
 * of equal ones the lower id. At least one candidate stays. Other samplers change logits; a finite
 * logit stays within the finite floats. After the last sampler one candidate is drawn by its
 * weight, with one number of splitmix64.
 *
 * Weights are exp(logit - largest) in binary32. Sums are in binary64: over the vocabulary in 64
 * lanes (id mod 64) and a tree, over a list by rank. p is a weight over the sum of all; weights are
 * compared with p times the sum. A draw u in [0, 1) selects the first candidate by rank whose
 * running sum exceeds u times the sum. While candidates are the vocabulary, it selects the first
 * such lane, then the first such id in it.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_SAMPLER_H
#define GGUFX_SAMPLER_H

#include "grammar.h"
#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sampler chain -------------------------------------------------------------------------- */

/* A chain of samplers, with its random state and the tokens that it accepted; exclusive. */
typedef struct ggufx_sampler ggufx_sampler;

/*
 * Creates an empty chain for vocabularies of up to n_vocab tokens, which samples from the unchanged
 * logits.
 *
 * Takes 28 bytes per token of the vocabulary.
 *
 * Errors: ARGUMENT, MEMORY.   Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_sampler_create(ggufx_sampler **out, const ggufx_runtime *rt,
                                            uint32_t n_vocab, uint64_t seed, ggufx_error *error);
/* Frees a sampler.   Threads: exclusive on sampler.   Since: 0.1. */
GGUFX_API void ggufx_sampler_destroy(ggufx_sampler *sampler);

/*
 * Samples an id from n logits.
 *
 * With a matcher, the chain only sees matching tokens with ids below n, and the matcher accepts the
 * chosen id. A call that fails changes neither sampler nor matcher.
 *
 * out_logprob  {null} the natural log-probability of the id among all n tokens.
 * matcher      {null} tokens that may be sampled; NULL: all.
 *
 * Errors: those of ggufx_matcher_mask; ARGUMENT; VALUE (a NaN or +infinity, or no finite logit);
 * the status of a sampler of the host.
 * Threads: exclusive on sampler and matcher.   Allocates: with a matcher.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_sampler_sample(int32_t *out_id, float *out_logprob,
                                            ggufx_sampler *sampler, ggufx_matcher *matcher,
                                            const float *logits, size_t n, ggufx_error *error);

/*
 * Appends tokens to the history of a sampler, all or none, whether it sampled them or not.
 *
 * Tokens of a prompt may be appended too.
 *
 * Errors: ARGUMENT (index: an id outside of the vocabulary).
 * Threads: exclusive on sampler.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_sampler_accept(ggufx_sampler *sampler, const int32_t *ids, size_t n,
                                            ggufx_error *error);
/* Resets a sampler: no accepted tokens, the random state of the seed, the same chain.
 * Errors: ARGUMENT.   Threads: exclusive on sampler.   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_sampler_reset(ggufx_sampler *sampler, ggufx_error *error);
/* Creates a copy of a sampler with its state. Errors: ARGUMENT, MEMORY.
 * Threads: any number at once (const).   Since: 0.1. */
GGUFX_API ggufx_status ggufx_sampler_clone(ggufx_sampler **out, const ggufx_sampler *sampler,
                                           ggufx_error *error);

/* ---- samplers of a chain -------------------------------------------------------------------- */

/*
 * Each call appends a sampler to a chain. It sees the tokens that are accepted from now on; all its
 * memory is allocated here. A sampler that its numbers switch off is not kept. Numbers are 0 to 1e6
 * unless a range is given.
 */

#define GGUFX_SAMPLER_MAX_LAST_N 1048576u /* tokens that a sampler looks back */
#define GGUFX_SAMPLER_MAX_SAMPLERS 64u    /* samplers of a chain */

/*
 * Keeps the k likeliest candidates.
 *
 * k  0: off.
 *
 * Errors:
 * - ARGUMENT: a number out of range (the message has name and value).
 * - LIMIT: more than GGUFX_SAMPLER_MAX_SAMPLERS.
 * - MEMORY.
 * - STATE: the chain ends with mirostat.
 *
 * Threads: exclusive on sampler.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_sampler_add_top_k(ggufx_sampler *sampler, uint32_t k,
                                               ggufx_error *error);
/*
 * Keeps the fewest candidates by rank whose p sum up to p or more (Holtzman et al., 2020).
 *
 * p  0 to 1; 0 and 1: off.
 *
 * Errors: as ggufx_sampler_add_top_k.   Threads: exclusive on sampler.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_sampler_add_top_p(ggufx_sampler *sampler, float p, ggufx_error *error);
/*
 * Keeps candidates with at least p times the largest weight, which is 1 (Nguyen et al., 2024).
 *
 * p  0 to 1; 0: off.
 *
 * Errors: as ggufx_sampler_add_top_k.   Threads: exclusive on sampler.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_sampler_add_min_p(ggufx_sampler *sampler, float p, ggufx_error *error);
/*
 * Locally typical sampling: keeps the fewest candidates whose p sum up to p or more, in the order
 * of the distance of -log p from the entropy (Meister et al., 2023).
 *
 * The entropy is log total - (sum of w * (logit - largest)) / total. Distances are computed in
 * binary64 and rounded to binary32. If they are equal, the lower id comes first.
 *
 * p  0 to 1; 0 and 1: off.
 *
 * Errors: as ggufx_sampler_add_top_k.   Threads: exclusive on sampler.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_sampler_add_typical(ggufx_sampler *sampler, float p,
                                                 ggufx_error *error);
/*
 * Keeps logits of at least the largest minus n_sigma standard deviations of the remaining logits
 * (Tang et al., 2025).
 *
 * The deviation is in binary64: the mean, then the sum of squared differences from it, / n, root.
 *
 * n_sigma  0: off.
 *
 * Errors: as ggufx_sampler_add_top_k.   Threads: exclusive on sampler.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_sampler_add_top_n_sigma(ggufx_sampler *sampler, float n_sigma,
                                                     ggufx_error *error);
/*
 * Exclude top choices: if two or more candidates have a p of at least `threshold`, only the least
 * likely of them stays.
 *
 * Takes one draw per sample. Candidates stay ordered by id or by rank as before.
 *
 * probability  0 to 1: how often it acts; 0: off, without a draw.
 * threshold    0 to 1; 0 is 0.1.
 *
 * Errors: as ggufx_sampler_add_top_k.   Threads: exclusive on sampler.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_sampler_add_xtc(ggufx_sampler *sampler, float probability,
                                             float threshold, ggufx_error *error);

/*
 * Dynamic temperature: low + (high - low) * e^exponent, low = max(0, temperature - range), high =
 * temperature + range. e is the entropy over that of as many equal candidates.
 */
typedef struct ggufx_temperature_options {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    float range;    /* 0: the temperature is constant */
    float exponent; /* 0 is 1 */
} ggufx_temperature_options;

/*
 * Divides logits by the temperature.
 *
 * temperature  below 2^-20 only the likeliest candidate stays (greedy sampling).
 * options      may be NULL: a constant temperature.
 *
 * Errors: as ggufx_sampler_add_top_k.   Threads: exclusive on sampler.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_sampler_add_temperature(ggufx_sampler *sampler, float temperature,
                                                     const ggufx_temperature_options *options,
                                                     ggufx_error *error);

typedef struct ggufx_penalty_options {
    uint32_t struct_size;
    uint32_t flags;  /* 0 */
    float repeat;    /* divides logits above 0, multiplies others; 0 is 1 */
    float frequency; /* -1e6 to 1e6, subtracted for each occurrence */
    float presence;  /* -1e6 to 1e6, subtracted once */
    uint32_t last_n; /* accepted tokens to count, at most GGUFX_SAMPLER_MAX_LAST_N; 0: off */
} ggufx_penalty_options;

/*
 * Penalizes tokens that occur c times in the last accepted tokens: by `repeat`, then by c *
 * frequency + presence.
 *
 * Errors: as ggufx_sampler_add_top_k; LIMIT (last_n).
 * Threads: exclusive on sampler.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_sampler_add_penalties(ggufx_sampler *sampler,
                                                   const ggufx_penalty_options *options,
                                                   ggufx_error *error);

typedef struct ggufx_dry_options {
    uint32_t struct_size;
    uint32_t flags;                   /* 0 */
    float multiplier;                 /* 0: off */
    float base;                       /* 1 to 1e6; 0 is 1.75 */
    uint32_t allowed_length;          /* 0 is 2 */
    uint32_t last_n;                  /* accepted tokens to search, at most
                                       * GGUFX_SAMPLER_MAX_LAST_N; 0: off */
    const int32_t *sequence_breakers; /* [n_sequence_breakers] ids, which may repeat; copied */
    size_t n_sequence_breakers;
} ggufx_dry_options;

/*
 * Don't repeat yourself (DRY): penalizes tokens that would extend a repeated sequence.
 *
 * If the last L of last_n accepted tokens occurred before, L >= allowed_length, the token that
 * followed loses multiplier * base^(L - allowed_length), rounded once. The largest L of each token
 * counts. Repeats do not cross a sequence breaker, and sequence breakers are not penalized.
 *
 * Errors: as ggufx_sampler_add_top_k; ARGUMENT (index: an id outside of the vocabulary); LIMIT
 * (last_n).
 * Threads: exclusive on sampler.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_sampler_add_dry(ggufx_sampler *sampler,
                                             const ggufx_dry_options *options, ggufx_error *error);

/* A value that is added to the logit of a token. */
typedef struct ggufx_logit_bias {
    int32_t id; /* token of the vocabulary */
    float bias; /* finite, or -infinity */
} ggufx_logit_bias;

/*
 * Adds biases to logits; -infinity bans a token.
 *
 * biases  each id once; copied.
 *
 * Errors: as ggufx_sampler_add_top_k; ARGUMENT (index: an id outside of the vocabulary, a NaN or
 * +infinity); DUPLICATE (an id with two biases).
 * Threads: exclusive on sampler.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_sampler_add_logit_bias(ggufx_sampler *sampler,
                                                    const ggufx_logit_bias *biases, size_t n_biases,
                                                    ggufx_error *error);

typedef struct ggufx_mirostat_options {
    uint32_t struct_size;
    uint32_t flags;   /* 0 */
    uint32_t version; /* 1 or 2; 0 is 2 */
    uint32_t m;       /* version 1: candidates of the slope, at least 2; 0 is 100 */
    float tau;        /* target surprise in bits; 0 is 5 */
    float eta;        /* learning rate; 0 is 0.1 */
} ggufx_mirostat_options;

/*
 * Mirostat, version 1 or 2 (Basu et al., 2021): keeps the surprise -log2 p of tokens near tau. Must
 * be last in a chain.
 *
 * mu starts as 2 tau. Accepting the drawn token subtracts eta times the excess of its surprise,
 * among the candidates kept, over tau. Version 2 keeps the ranks up to the first whose surprise is
 * above mu. Version 1 keeps (e 2^mu / (1 - n_vocab^-e))^(1 / s) ranks. s is the slope of log p over
 * log rank of the m likeliest, e = s - 1; log(p / p') is the difference of the logits.
 *
 * Errors: as ggufx_sampler_add_top_k.   Threads: exclusive on sampler.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_sampler_add_mirostat(ggufx_sampler *sampler,
                                                  const ggufx_mirostat_options *options,
                                                  ggufx_error *error);

/* A token that may be sampled. */
typedef struct ggufx_candidate {
    int32_t id;  /* token of the vocabulary */
    float logit; /* -infinity: removed */
} ggufx_candidate;

/*
 * Adds a sampler of the host: `apply` changes the logits of the n remaining candidates.
 *
 * They come by id or by rank and may be reordered. -infinity removes a candidate; one must stay.
 * OK goes on, any other status ends the call with it. It must not call into the sampler.
 *
 * user  must live as long as the sampler and its clones.
 *
 * Errors: as ggufx_sampler_add_top_k.   Threads: exclusive on sampler.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_sampler_add_host(ggufx_sampler *sampler,
                                              ggufx_status (*apply)(void *user,
                                                                    ggufx_candidate *candidates,
                                                                    size_t n),
                                              void *user, ggufx_error *error);

/* ---- defaults of the model's author --------------------------------------------------------- */

/* Samplers of a chain in the order of a file (general.sampling.sequence). */
typedef uint32_t ggufx_sampler_kind;
enum {
    GGUFX_SAMPLER_TOP_K = 1,
    GGUFX_SAMPLER_TOP_P = 2,
    GGUFX_SAMPLER_MIN_P = 3,
    GGUFX_SAMPLER_TYPICAL = 4,
    GGUFX_SAMPLER_TOP_N_SIGMA = 5,
    GGUFX_SAMPLER_XTC = 6,
    GGUFX_SAMPLER_TEMPERATURE = 7,
    GGUFX_SAMPLER_PENALTIES = 8,
    GGUFX_SAMPLER_DRY = 9
};

/* Keys general.sampling.* of a file, and tokenizer.ggml.suppress_tokens. */
typedef uint32_t ggufx_sampling_flags;
#define GGUFX_SAMPLING_TEMPERATURE 1u      /* temp */
#define GGUFX_SAMPLING_TOP_K 2u            /* top_k */
#define GGUFX_SAMPLING_TOP_P 4u            /* top_p */
#define GGUFX_SAMPLING_MIN_P 8u            /* min_p */
#define GGUFX_SAMPLING_XTC_PROBABILITY 16u /* xtc_probability */
#define GGUFX_SAMPLING_XTC_THRESHOLD 32u   /* xtc_threshold */
#define GGUFX_SAMPLING_LAST_N 64u          /* penalty_last_n */
#define GGUFX_SAMPLING_REPEAT 128u         /* penalty_repeat */
#define GGUFX_SAMPLING_MIROSTAT 256u       /* mirostat */
#define GGUFX_SAMPLING_TAU 512u            /* mirostat_tau */
#define GGUFX_SAMPLING_ETA 1024u           /* mirostat_eta */
#define GGUFX_SAMPLING_SEQUENCE 2048u      /* sequence */
#define GGUFX_SAMPLING_SUPPRESSED 4096u    /* suppress_tokens, with at least one id */

#define GGUFX_SAMPLING_MAX_SAMPLERS 16u /* entries of ggufx_sampling_facts.samplers */

/* Sampling defaults of a file. Fields of keys that `flags` does not name are 0. */
typedef struct ggufx_sampling_facts {
    uint32_t struct_size;       /* set by the caller */
    ggufx_sampling_flags flags; /* GGUFX_SAMPLING_*: keys of the file with a usable value */
    ggufx_sampling_flags
        ignored;           /* GGUFX_SAMPLING_*: keys with a value out of range or of another type */
    uint32_t top_k;        /* 0: off; -1 in the file is 0 */
    float temperature;     /* 0 to 1e6 */
    float top_p;           /* 0 to 1 */
    float min_p;           /* 0 to 1 */
    float xtc_probability; /* 0 to 1 */
    float xtc_threshold;   /* 0 to 1 */
    float repeat;          /* 0 to 1e6 */
    /* At most GGUFX_SAMPLER_MAX_LAST_N, which -1 in the file stands for: the whole context. */
    uint32_t last_n;
    uint32_t mirostat;               /* 0: off; version 1 or 2 */
    float tau;                       /* 0 to 1e6 */
    float eta;                       /* 0 to 1e6 */
    uint32_t n_samplers;             /* samplers of the sequence */
    ggufx_sampler_kind samplers[16]; /* GGUFX_SAMPLER_*, in the order of the file */
    uint32_t reserved;
    uint64_t n_suppressed; /* tokens that no sampler of the model may choose */
} ggufx_sampling_facts;

/*
 * Reads the sampling defaults that a model's author stored in the file, and the suppressed tokens.
 *
 * Defaults are the keys general.sampling.*. Suppressed tokens (tokenizer.ggml.suppress_tokens) must
 * not be sampled; give them a bias of -infinity. At most `capacity` of their ids are written to
 * out_suppressed, each once, in ascending order, without ids outside of the vocabulary. It may be
 * NULL if capacity is 0.
 *
 * A key with an unusable value counts as absent and sets its bit in out->ignored. out->struct_size
 * must be set; *out is filled on CAPACITY too.
 *
 * Errors: ARGUMENT, CAPACITY (there are more ids), MEMORY.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_file_sampling(ggufx_sampling_facts *out, int32_t *out_suppressed,
                                           size_t capacity, const ggufx_file *file,
                                           ggufx_error *error);

/* ---- log-probabilities ---------------------------------------------------------------------- */

/*
 * Computes the natural log-probabilities of the k likeliest among n tokens, or of k given tokens.
 *
 * out_ids       {len: k} the k likeliest by rank, k <= n, or the given tokens; may be NULL if k is
 *               0 or tokens are given.
 * out_logprobs  {len: k} their log-probabilities; may be NULL if k is 0.
 * tokens        {null} {len: k} ids below n; NULL: the k likeliest.
 *
 * Each is logit - largest - log(sum of weights) in binary64, rounded once; the sum is that of a
 * vocabulary. The log-probability of a logit of -infinity is -infinity.
 *
 * Errors: ARGUMENT (index: that of a token), VALUE (a NaN or +infinity, or no finite logit).
 * Threads: any number at once.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_logprobs(int32_t *out_ids, float *out_logprobs, size_t k,
                                      const ggufx_runtime *rt, const float *logits, size_t n,
                                      const int32_t *tokens, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
