/*
 * ggufx/sampler.h: sampler chain, log-probabilities.
 *
 * A sampler chain is a ggufx_sampler (model.h) and works wherever one does: ggufx_sampler_sample,
 * ggufx_sampler_sample_matching. It applies samplers in the caller's order. Its results are
 * reproducible: the same seed, samplers, logits and accepted tokens give the same ids. This holds
 * on every machine, for every instruction set and any number of threads.
 *
 * Candidates are tokens with their logits. At first they are the vocabulary by id, without tokens
 * that a grammar forbids. Filters remove candidates and leave a list by rank: larger logits first,
 * of equal ones the lower id. At least one candidate stays. Other samplers change logits; a finite
 * logit stays within the finite floats. After the last sampler one candidate is drawn by its
 * weight, with one number of splitmix64.
 *
 * Weights are exp(logit - largest) in binary32. Sums are in binary64: over the vocabulary in 64
 * lanes (id mod 64) and a tree, over a list by rank. p is a weight over the sum of all. A draw u in
 * [0, 1) selects the first candidate by rank whose running sum exceeds u times the sum. While
 * candidates are the vocabulary, it selects the first such lane, then the first such id in it.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_SAMPLER_H
#define GGUFX_SAMPLER_H

#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- samplers of a chain -------------------------------------------------------------------- */

/* Kinds of samplers in a chain. Fields of ggufx_sampler_link that a kind does not name must
 * be 0. */
typedef uint32_t ggufx_link_kind;
enum {
    GGUFX_LINK_TOP_K = 1, /* Keeps the k likeliest. k 0: off. */
    /* Keeps the fewest by rank whose p sum up to p or more (Holtzman et al., 2020). 0 and 1:
     * off. */
    GGUFX_LINK_TOP_P = 2,
    /* Keeps those with at least p times the largest probability (Nguyen et al., 2024). 0: off. */
    GGUFX_LINK_MIN_P = 3,
    /* Locally typical sampling: keeps the fewest whose p sum up to p or more, in the order of the
     * distance of -log p from the entropy. If distances are equal, the lower id comes first;
     * distances are in binary32 (Meister et al., 2023). 0 and 1: off. */
    GGUFX_LINK_TYPICAL = 4,
    /* Keeps logits of at least the largest minus n_sigma standard deviations of the remaining
     * logits (Tang et al., 2025). 0: off. */
    GGUFX_LINK_TOP_N_SIGMA = 5,
    /* Exclude top choices, with `probability`: if two or more have a p of at least `threshold`,
     * only the least likely of them stays. Takes one draw per sample. probability 0: off, without a
     * draw; threshold 0 is 0.1. Candidates stay ordered by id or by rank as before. */
    GGUFX_LINK_XTC = 6,
    /* Divides logits by `temperature`; below 2^-20 only the likeliest stays. With range > 0 the
     * temperature is dynamic: low + (high - low) * e^exponent, low = max(0, temperature - range),
     * high = temperature + range. e is the entropy over that of as many equal candidates; exponent
     * 0 is 1. */
    GGUFX_LINK_TEMPERATURE = 7,
    /* Penalizes tokens that occur c times in the last n_last accepted tokens. Logits above 0 are
     * divided by `repetition`, others multiplied. Then c * frequency + presence is subtracted.
     * repetition 0 is 1; n_last 0: off. */
    GGUFX_LINK_PENALTIES = 8,
    /*
     * Don't repeat yourself: penalizes tokens that would extend a repeated sequence. If the last L
     * of n_last accepted tokens occurred before, L >= allowed_length, the token that followed loses
     * multiplier * base^(L - allowed_length). The largest L of each token counts. Repeats do not
     * cross a breaker, and breakers are not penalized. base 0 is 1.75, allowed_length 0 is 2;
     * multiplier or n_last 0: off.
     */
    GGUFX_LINK_DRY = 9,
    GGUFX_LINK_BIAS = 10, /* Adds `biases` to logits; -infinity bans a token. */
    /*
     * Mirostat, version 1 or 2 (Basu et al., 2021): keeps the surprise -log2 p of tokens near tau
     * (0 is 5).
     *
     * mu starts as 2 tau. Accepting the drawn token subtracts eta (0 is 0.1) times the excess of
     * its surprise, among the candidates kept, over tau. Version 2 keeps the ranks up to the first
     * whose surprise is above mu. Version 1 keeps (e 2^mu / (1 - n_vocab^-e))^(1 / s) ranks. s is
     * the slope of log p over log rank of the m likeliest (0 is 100), e = s - 1. Must be last in a
     * chain.
     */
    GGUFX_LINK_MIROSTAT = 11,
    GGUFX_LINK_HOST = 12 /* A sampler of the host: see `link`. */
};

/* A token that may be sampled. */
typedef struct ggufx_candidate {
    int32_t id;  /* token of the vocabulary */
    float logit; /* -infinity: removed */
} ggufx_candidate;

/* A value that is added to the logit of a token. */
typedef struct ggufx_logit_bias {
    int32_t id; /* token of the vocabulary */
    float bias; /* finite, or -infinity */
} ggufx_logit_bias;

/* A sampler of a chain, with its parameters. */
typedef struct ggufx_sampler_link {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    ggufx_link_kind kind;
    uint32_t k;              /* TOP_K */
    float p;                 /* TOP_P, MIN_P, TYPICAL: 0 to 1 */
    float n_sigma;           /* TOP_N_SIGMA */
    float probability;       /* XTC: 0 to 1 */
    float threshold;         /* XTC: 0 to 1 */
    float temperature;       /* TEMPERATURE */
    float range;             /* TEMPERATURE */
    float exponent;          /* TEMPERATURE */
    float repetition;        /* PENALTIES */
    float frequency;         /* PENALTIES: may be negative, at least -1e6 */
    float presence;          /* PENALTIES: may be negative, at least -1e6 */
    uint32_t n_last;         /* PENALTIES, DRY: at most GGUFX_LINK_MOST_LAST */
    float multiplier;        /* DRY */
    float base;              /* DRY: at least 1 */
    uint32_t allowed_length; /* DRY */
    float tau;               /* MIROSTAT */
    float eta;               /* MIROSTAT */
    uint32_t m;              /* MIROSTAT 1: at least 2 */
    uint32_t version;        /* MIROSTAT: 1 or 2 */
    const int32_t *breakers; /* [n_breakers] DRY: ids, which may repeat; copied */
    size_t n_breakers;
    const ggufx_logit_bias *biases; /* [n_biases] BIAS: each id once; copied */
    size_t n_biases;
    /* HOST: changes the logits of the n remaining candidates. They come by id or by rank and may be
     * reordered. -infinity removes a candidate; one must stay. A non-zero result ends the call with
     * CANCELLED. It must not call into the sampler. */
    int32_t (*link)(void *user, ggufx_candidate *candidates, size_t n);
    void *user; /* HOST: must live as long as the sampler and its clones */
} ggufx_sampler_link;

#define GGUFX_LINK_MOST_LAST 1048576u /* tokens that a sampler looks back */
#define GGUFX_LINK_MOST_LINKS 64u     /* samplers of a chain */

/*
 * Creates an empty chain for vocabularies of up to n_vocab tokens, which samples from the unchanged
 * logits.
 *
 * Takes 28 bytes per token of the vocabulary.
 *
 * Errors: ARGUMENT, MEMORY.   Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_sampler_create_chain(ggufx_sampler **out, const ggufx_runtime *rt,
                                                  uint32_t n_vocab, uint64_t seed,
                                                  ggufx_error *error);

/*
 * Appends a sampler to a chain.
 *
 * A sampler that its parameters switch off is not kept. It sees the tokens that are accepted from
 * now on. All memory is allocated here.
 *
 * Errors:
 * - ARGUMENT: a parameter out of range (the message has name and value); an id outside of the
 *   vocabulary (index: the token).
 * - DUPLICATE: an id with two biases.
 * - LIMIT: n_last, more than 64 samplers.
 * - MEMORY.
 * - STATE: the sampler is not a chain; MIROSTAT is not last.
 *
 * Threads: exclusive on sampler.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_sampler_add(ggufx_sampler *sampler, const ggufx_sampler_link *link,
                                         ggufx_error *error);

/*
 * Appends tokens to the history of a sampler, all or none, whether it sampled them or not.
 *
 * Tokens of a prompt may be appended too. Samplers of ggufx_sampler_create ignore them.
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

/* ---- defaults of the model's author --------------------------------------------------------- */

/* Keys general.sampling.* of a file, and tokenizer.ggml.suppress_tokens. */
typedef uint32_t ggufx_sampling_flags;
#define GGUFX_SAMPLING_TEMPERATURE 1u      /* temp */
#define GGUFX_SAMPLING_TOP_K 2u            /* top_k */
#define GGUFX_SAMPLING_TOP_P 4u            /* top_p */
#define GGUFX_SAMPLING_MIN_P 8u            /* min_p */
#define GGUFX_SAMPLING_XTC_PROBABILITY 16u /* xtc_probability */
#define GGUFX_SAMPLING_XTC_THRESHOLD 32u   /* xtc_threshold */
#define GGUFX_SAMPLING_N_LAST 64u          /* penalty_last_n */
#define GGUFX_SAMPLING_REPETITION 128u     /* penalty_repeat */
#define GGUFX_SAMPLING_MIROSTAT 256u       /* mirostat */
#define GGUFX_SAMPLING_TAU 512u            /* mirostat_tau */
#define GGUFX_SAMPLING_ETA 1024u           /* mirostat_eta */
#define GGUFX_SAMPLING_LINKS 2048u         /* sequence */
#define GGUFX_SAMPLING_SUPPRESSED 4096u    /* suppress_tokens, with at least one id */

#define GGUFX_SAMPLING_MOST_LINKS 16u /* entries of ggufx_sampling_facts.links */

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
    float repetition;      /* 0 to 1e6 */
    /* At most GGUFX_LINK_MOST_LAST, which -1 in the file stands for: the whole context. */
    uint32_t n_last;
    uint32_t mirostat;         /* 0: off; version 1 or 2 */
    float tau;                 /* 0 to 1e6 */
    float eta;                 /* 0 to 1e6 */
    uint32_t n_links;          /* samplers of the sequence */
    ggufx_link_kind links[16]; /* GGUFX_LINK_*, in the order of the file */
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
 * Computes the natural log-probabilities of a chosen token and of the k likeliest, among n tokens.
 *
 * out_chosen    {null} log-probability of `chosen`; NULL: `chosen` is ignored.
 * out_ids       {len: k} the k likeliest by rank, k <= n; may be NULL if k is 0.
 * out_logprobs  {len: k} their log-probabilities; may be NULL if k is 0.
 *
 * Each is logit - largest - log(sum of weights) in binary64, rounded once; the sum is that of a
 * vocabulary. The log-probability of a logit of -infinity is -infinity.
 *
 * Errors: ARGUMENT, VALUE (a NaN or +infinity, or no finite logit).
 * Threads: any number at once.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_logprobs(int32_t *out_ids, float *out_logprobs, size_t k,
                                      float *out_chosen, const ggufx_runtime *rt,
                                      const float *logits, size_t n, int32_t chosen,
                                      ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
