/*
 * ggufx/sampler.h: samplers as a chain of links in the caller's order, logarithms of probabilities,
 * texts that end a generation.
 *
 * A chain is a ggufx_sampler (model.h) and works wherever one does: ggufx_sampler_sample,
 * ggufx_sampler_sample_matching. Its bits are defined: the same seed, links, logits and accepted
 * tokens give the same ids on every machine, instruction set and number of threads.
 *
 * Candidates are tokens with their logits: first all of the vocabulary but those that a grammar
 * forbids, by id. Filters take candidates away and leave a list by rank, the larger logit first, of
 * equal ones the lower id; at least one stays. Other links change logits; a finite one stays within
 * the finite floats. Behind the last link one of them is drawn by its weight, with one number of
 * splitmix64.
 *
 * Weights are exp(logit - largest) in binary32; sums are in binary64, of the vocabulary in 64 lanes
 * (id mod 64) and a tree, of a list by rank. p is a weight over the sum of all. A draw u in [0, 1)
 * takes the first candidate by rank whose running sum exceeds u times the sum; while candidates are
 * the vocabulary, the first such lane, then the first such id in it.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_SAMPLER_H
#define GGUFX_SAMPLER_H

#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- links ---------------------------------------------------------------------------------- */

/* What a link is. Members of ggufx_sampler_link that the kind does not name must be 0. */
enum {
    /* The k likeliest. k 0: off. */
    GGUFX_LINK_TOP_K = 1,
    /* The fewest by rank whose p add up to p or more (Holtzman et al., 2020). 0 and 1: off. */
    GGUFX_LINK_TOP_P = 2,
    /* Those of at least p times the likeliest one's probability (Nguyen et al., 2024). 0: off. */
    GGUFX_LINK_MIN_P = 3,
    /* The fewest whose p add up to p or more, those first whose -log p is nearest to the entropy, of
     * equal ones the lower id; distances in binary32 (Meister et al., 2023). 0 and 1: off. */
    GGUFX_LINK_TYPICAL = 4,
    /* Those of at least the largest logit minus n_sigma standard deviations of all logits that are
     * left (Tang et al., 2025). 0: off. */
    GGUFX_LINK_TOP_N_SIGMA = 5,
    /* With `probability` (one draw of every sample): of those with a p of `threshold` or more only
     * the least likely stays, if there are two or more. probability 0: off, nothing is drawn;
     * threshold 0 is 0.1. What is left is by id or by rank as before. */
    GGUFX_LINK_XTC = 6,
    /* Divides by `temperature`; below 2^-20 the likeliest alone stays. With range > 0 the
     * temperature is low + (high - low) * e^exponent with low = max(0, temperature - range), high =
     * temperature + range, e = entropy over that of as many equal candidates; exponent 0 is 1. */
    GGUFX_LINK_TEMPERATURE = 7,
    /* Of the last n_last accepted tokens, c times each: logits above 0 are divided by `repetition`,
     * others multiplied; then c * frequency + presence is subtracted. repetition 0 is 1; n_last 0:
     * off. */
    GGUFX_LINK_PENALTIES = 8,
    /* Don't repeat yourself: where the last L of n_last accepted tokens stood before, L >=
     * allowed_length, multiplier * base^(L - allowed_length) is subtracted from the logit of the
     * token that followed, for the largest L of each. No repeat goes over a breaker, and no breaker
     * is penalized. base 0 is 1.75, allowed_length 0 is 2; multiplier or n_last 0: off. */
    GGUFX_LINK_DRY = 9,
    /* Adds `biases`; -infinity bans a token. */
    GGUFX_LINK_BIAS = 10,
    /* Mirostat, version 1 or 2 (Basu et al., 2021): keeps the surprise -log2 p of tokens near tau
     * (0 is 5). mu begins as 2 tau; accepting the token that was drawn subtracts eta (0 is 0.1)
     * times what its surprise among those kept has above tau. Version 2 keeps the ranks up to the
     * first whose surprise is above mu; version 1 takes e = s - 1 from the m likeliest (0 is 100), s
     * the slope of log p over log rank, and keeps (e 2^mu / (1 - n_vocab^-e))^(1 / s). Last. */
    GGUFX_LINK_MIROSTAT = 11,
    /* The host's own: see `link`. */
    GGUFX_LINK_HOST = 12
};

/* A token that may be chosen. */
typedef struct ggufx_candidate {
    int32_t id;  /* of the vocabulary */
    float logit; /* -infinity: taken away */
} ggufx_candidate;

/* Added to the logit of a token. */
typedef struct ggufx_logit_bias {
    int32_t id; /* of the vocabulary */
    float bias; /* finite, or -infinity */
} ggufx_logit_bias;

typedef struct ggufx_sampler_link {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const void *next;
    uint32_t kind;           /* GGUFX_LINK_* */
    uint32_t k;              /* TOP_K */
    float p;                 /* TOP_P, MIN_P, TYPICAL: 0 to 1 */
    float n_sigma;           /* TOP_N_SIGMA */
    float probability;       /* XTC: 0 to 1 */
    float threshold;         /* XTC: 0 to 1 */
    float temperature;       /* TEMPERATURE */
    float range;             /* TEMPERATURE */
    float exponent;          /* TEMPERATURE */
    float repetition;        /* PENALTIES */
    float frequency;         /* PENALTIES: may be negative, down to -1e6 */
    float presence;          /* PENALTIES: the same */
    uint32_t n_last;         /* PENALTIES, DRY: at most GGUFX_LINK_MOST_LAST */
    float multiplier;        /* DRY */
    float base;              /* DRY: 1 or more */
    uint32_t allowed_length; /* DRY */
    float tau;               /* MIROSTAT */
    float eta;               /* MIROSTAT */
    uint32_t m;              /* MIROSTAT 1: 2 or more */
    uint32_t version;        /* MIROSTAT: 1 or 2 */
    const int32_t *breakers; /* DRY: ids, any number of times; copied */
    size_t n_breakers;
    const ggufx_logit_bias *biases; /* BIAS: each id once; copied */
    size_t n_biases;
    /*
     * HOST: changes logits of the n candidates that are left; they come by id or by rank, and may
     * be put into any order. -infinity takes a candidate away; one must stay. Anything but 0 ends
     * the call with CANCELLED. It must not call into the sampler. `user` must live as long as the
     * sampler and its clones.
     */
    int32_t (*link)(void *user, ggufx_candidate *candidates, size_t n);
    void *user;
    uint64_t reserved[4];
} ggufx_sampler_link;

#define GGUFX_LINK_MOST_LAST 1048576u /* tokens that a link looks back at most */
#define GGUFX_LINK_MOST_LINKS 64u     /* of a chain */

/* Fill with zeros and struct_size.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_sampler_link_init(ggufx_sampler_link *link);

/* A chain without links for vocabularies of up to n_vocab tokens: it draws by the logits as they
 * are. Takes 28 bytes per token of the vocabulary. Errors: ARGUMENT, MEMORY.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_sampler_create_chain(ggufx_sampler **out, const ggufx_runtime *rt,
                                                  uint32_t n_vocab, uint64_t seed,
                                                  ggufx_error *error);

/* Put a link behind those that a chain has; one that is off by its numbers is not kept. It sees the
 * tokens that are accepted from now on. All memory is taken here.
 * Errors: ARGUMENT (a number out of its range, by name and value; an id outside of the vocabulary,
 * index says which), DUPLICATE (an id with two biases), LIMIT (n_last, more than 64 links), MEMORY,
 * STATE (a sampler that is no chain, a link behind MIROSTAT).
 * Threads: exclusive on sampler.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_sampler_add(ggufx_sampler *sampler, const ggufx_sampler_link *link,
                                         ggufx_error *error);

/* Tell a sampler which tokens the text goes on with, whoever chose them: all or none. Tokens of a
 * prompt may be told, too. Samplers that ggufx_sampler_create made have no use for it.
 * Errors: ARGUMENT (index: an id outside of the vocabulary).
 * Threads: exclusive on sampler.   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_sampler_accept(ggufx_sampler *sampler, const int32_t *ids, size_t n,
                                            ggufx_error *error);
/* Back to how it was made, with its links: no token accepted, the random state that of the seed.
 * Errors: ARGUMENT.   Threads: exclusive on sampler.   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_sampler_reset(ggufx_sampler *sampler, ggufx_error *error);
/* Another sampler that goes on exactly as this one would. Errors: ARGUMENT, MEMORY.
 * Threads: shared on sampler.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_sampler_clone(ggufx_sampler **out, const ggufx_sampler *sampler,
                                           ggufx_error *error);

/* ---- defaults of the model's author ------------------------------------------------------- */

/* Keys general.sampling.* of a file, and tokenizer.ggml.suppress_tokens. */
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
    uint32_t struct_size;  /* set by the caller */
    uint32_t flags;        /* GGUFX_SAMPLING_*: keys of the file with a usable value */
    uint32_t ignored;      /* GGUFX_SAMPLING_*: keys with a value out of range or of another type */
    uint32_t top_k;        /* 0: off; -1 in the file is 0 */
    float temperature;     /* 0 to 1e6 */
    float top_p;           /* 0 to 1 */
    float min_p;           /* 0 to 1 */
    float xtc_probability; /* 0 to 1 */
    float xtc_threshold;   /* 0 to 1 */
    float repetition;      /* 0 to 1e6 */
    uint32_t n_last;       /* up to GGUFX_LINK_MOST_LAST, which -1 in the file is: the context */
    uint32_t mirostat;     /* 0: off; version 1 or 2 */
    float tau;             /* 0 to 1e6 */
    float eta;             /* 0 to 1e6 */
    uint32_t n_links;      /* of the sequence */
    uint32_t links[16];    /* GGUFX_LINK_*, in the order of the file */
    uint32_t reserved;
    uint64_t n_suppressed; /* tokens that no sampler of the model may choose */
} ggufx_sampling_facts;

/*
 * Read the sampling defaults that a model's author stored in the file (keys general.sampling.*), and
 * the tokens that no sampler may choose (tokenizer.ggml.suppress_tokens), to be given a bias of
 * -infinity. At most `capacity` ids are written to out_suppressed (may be NULL where capacity is 0),
 * each once, in ascending order, without those outside of the vocabulary. A key with an unusable
 * value counts as absent and has its bit in out->ignored. out->struct_size must be set; *out is
 * filled on CAPACITY as well.
 * Errors: ARGUMENT, CAPACITY (there are more ids), MEMORY.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_file_sampling(ggufx_sampling_facts *out, int32_t *out_suppressed,
                                           size_t capacity, const ggufx_file *file,
                                           ggufx_error *error);

/* ---- logarithms of probabilities ------------------------------------------------------------ */

/*
 * Natural logarithms of probabilities among n tokens: of the token `chosen` in *out_chosen (may be
 * NULL, then chosen is not looked at), and of the k likeliest by rank, k <= n, in out_ids[k] and
 * out_logprobs[k] (may be NULL where k is 0). Each is logit - largest - log(sum of weights) in
 * binary64, rounded once; the sum is that of a vocabulary. -infinity for a logit of that.
 * Errors: ARGUMENT, VALUE (a NaN or +infinity, or no finite logit).
 * Threads: any number at once.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_logprobs(int32_t *out_ids, float *out_logprobs, size_t k,
                                      float *out_chosen, const ggufx_runtime *rt,
                                      const float *logits, size_t n, int32_t chosen,
                                      ggufx_error *error);

/* ---- texts that end a generation ------------------------------------------------------------ */

/* Looks for texts in bytes that come piece by piece. Exclusive. */
typedef struct ggufx_stop ggufx_stop;

/* A text of any bytes. */
typedef struct ggufx_stop_text {
    const char *text; /* not empty */
    size_t length;    /* its bytes */
} ggufx_stop_text;

/* Look for n_texts texts, which are copied. Linear in their bytes, 1 MiB at most together.
 * Errors: ARGUMENT (index: an empty text), LIMIT, MEMORY.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_stop_create(ggufx_stop **out, const ggufx_runtime *rt,
                                         const ggufx_stop_text *texts, size_t n_texts,
                                         ggufx_error *error);
/* Free it.   Threads: exclusive on stop.   Since: 0.1. */
GGUFX_API void ggufx_stop_destroy(ggufx_stop *stop);

typedef struct ggufx_stop_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    int32_t found;        /* which text was found, -1 = none yet */
    uint32_t reserved;
    uint64_t n_shown; /* bytes, of all that was fed, that belong to no text and may not begin one */
    uint64_t n_taken; /* bytes looked at: all that was fed, or up to the end of the text found */
} ggufx_stop_facts;

/*
 * The next bytes of the text. Bytes from out->n_shown to n_taken are held back: they may begin one
 * of the texts, or are the one found. That is the first that ends; of those that end at the same
 * byte the longest, of equal ones the first. Linear in length. out->struct_size must be set; it is
 * filled after success.
 * Errors: ARGUMENT, STATE (one was found: ggufx_stop_reset).
 * Threads: exclusive on stop.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_stop_feed(ggufx_stop_facts *out, ggufx_stop *stop, const char *text,
                                       size_t length, ggufx_error *error);
/* To the begin of another text. Errors: ARGUMENT.
 * Threads: exclusive on stop.   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_stop_reset(ggufx_stop *stop, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
