/*
 * ggufx/model.h: run a language model: tokenizer, model, session, sampler, perplexity.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_MODEL_H
#define GGUFX_MODEL_H

#include "file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tokenizer ------------------------------------------------------------------------------ */

/* Text to token ids and back, immutable; keeps its file alive. */
typedef struct ggufx_tokenizer ggufx_tokenizer;

/* Build the tokenizer a file describes. Errors: ARGUMENT, MEMORY, MISSING, VOCAB (counts, types or
 * special ids that do not fit), UNSUPPORTED (the text names the kind).
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_tokenizer_create(ggufx_tokenizer **out, const ggufx_file *file,
                                              ggufx_error *error);
/* Drop the caller's reference.   Threads: exclusive on tokenizer.   Since: 0.1. */
GGUFX_API void ggufx_tokenizer_destroy(ggufx_tokenizer *tokenizer);

#define GGUFX_TOKENIZE_ADD_SPECIAL 1u   /* add BOS/EOS as the file asks */
#define GGUFX_TOKENIZE_PARSE_SPECIAL 2u /* "<s>" in the text is the control token */

/*
 * Token ids of a UTF-8 text (invalid bytes become byte tokens). Writes at most `capacity` ids and
 * always sets *out_needed to the full count; CAPACITY when it is larger than capacity.
 * Errors: ARGUMENT, CAPACITY, MEMORY, VOCAB (a byte that has no token).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_tokenize(int32_t *out_ids, size_t capacity, size_t *out_needed,
                                      const ggufx_tokenizer *tokenizer, const char *text,
                                      size_t length, uint32_t flags, ggufx_error *error);

#define GGUFX_DETOKENIZE_KEEP_SPECIAL 1u /* write control tokens too */
#define GGUFX_DETOKENIZE_KEEP_SPACE 2u   /* keep the space the tokenizer put before the text */

/* Bytes of a list of ids (not NUL-terminated; one id may be part of a character). Writes at most
 * `capacity` bytes and always sets *out_needed; CAPACITY when that is larger.
 * Errors: ARGUMENT (an id outside of the vocabulary), CAPACITY.
 * Threads: any number at once.   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_detokenize(char *out, size_t capacity, size_t *out_needed,
                                        const ggufx_tokenizer *tokenizer, const int32_t *ids,
                                        size_t n_ids, uint32_t flags, ggufx_error *error);

#define GGUFX_TOKEN_UNKNOWN 1u /* stands for what has no token */
#define GGUFX_TOKEN_CONTROL 2u /* "<s>": no text of its own */
#define GGUFX_TOKEN_USER 4u    /* added to the vocabulary, whole in every text */
#define GGUFX_TOKEN_UNUSED 8u  /* no text becomes it */
#define GGUFX_TOKEN_BYTE 16u   /* one byte, "<0x0A>" */
#define GGUFX_TOKEN_END 32u    /* ends generation: EOS, EOT, EOM */

typedef struct ggufx_token_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* GGUFX_TOKEN_* */
    int32_t id;           /* its place in the vocabulary */
    float score;          /* as stored in the file */
    const char *text; /* as stored in the file, any byte */
    size_t text_length;
} ggufx_token_facts;

/* Describe a token; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_token_info(ggufx_token_facts *out, const ggufx_tokenizer *tokenizer,
                                        int32_t id, ggufx_error *error);

typedef struct ggufx_tokenizer_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    const char *kind;     /* "llama"; valid for ever */
    uint32_t n_tokens;
    int32_t bos; /* -1 when there is none */
    int32_t eos;     /* the same */
    int32_t unknown; /* the same */
} ggufx_tokenizer_facts;

/* Describe a tokenizer; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_tokenizer_info(ggufx_tokenizer_facts *out,
                                            const ggufx_tokenizer *tokenizer, ggufx_error *error);

/* ---- model ---------------------------------------------------------------------------------- */

/* Weights bound to a graph, immutable; keeps its file alive. */
typedef struct ggufx_model ggufx_model;

typedef struct ggufx_model_options {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const void *next;
    uint64_t reserved[4];
} ggufx_model_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_model_options_init(ggufx_model_options *options);

/*
 * Bind a file to the graph of its architecture; no weight is copied. options may be NULL.
 * Errors: ARGUMENT (also a file opened for metadata only), MEMORY, MISSING (key or tensor), KVTYPE,
 * HPARAM, SHAPE, TYPE, SPLIT (parts are missing), UNSUPPORTED (the text says what is not supported).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_model_create(ggufx_model **out, const ggufx_runtime *rt,
                                          const ggufx_file *file,
                                          const ggufx_model_options *options, ggufx_error *error);
/* Drop the caller's reference.   Threads: exclusive on model.   Since: 0.1. */
GGUFX_API void ggufx_model_destroy(ggufx_model *model);

typedef struct ggufx_model_facts {
    uint32_t struct_size;     /* set by the caller */
    uint32_t flags;           /* 0 */
    const char *architecture; /* "llama"; valid for ever */
    uint64_t n_parameters;
    uint64_t weight_bytes;    /* of all its tensors */
    uint32_t n_vocab;
    uint32_t n_context; /* trained context */
    uint32_t n_embedding;
    uint32_t n_layers;
    uint32_t n_heads;
    uint32_t n_kv_heads;
    uint32_t head_dim;        /* values of a head */
    uint32_t reserved;
} ggufx_model_facts;

/* Describe a model; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_model_info(ggufx_model_facts *out, const ggufx_model *model,
                                        ggufx_error *error);

/* ---- session -------------------------------------------------------------------------------- */

/* One conversation: a KV cache, its position and the last logits; exclusive. */
typedef struct ggufx_session ggufx_session;

typedef struct ggufx_session_options {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const void *next;
    uint32_t n_context;    /* tokens at most; 0 = the trained context */
    uint32_t n_batch;      /* tokens computed at once; 0 = 512 */
    uint32_t type_k;       /* GGUFX_KV_* of the cache */
    uint32_t type_v;       /* GGUFX_KV_* of the cache */
    uint32_t matmul_flags; /* GGUFX_MATMUL_* of all products */
    uint32_t reserved0;
    uint64_t reserved[3];
} ggufx_session_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_session_options_init(ggufx_session_options *options);

/* Create a session and take all its memory (cache of n_context tokens, scratch of n_batch).
 * options may be NULL. Errors: ARGUMENT, MEMORY, TYPE.   Threads: any number at once.
 * Since: 0.1. */
GGUFX_API ggufx_status ggufx_session_create(ggufx_session **out, const ggufx_model *model,
                                            const ggufx_session_options *options,
                                            ggufx_error *error);
/* Free a session.   Threads: exclusive on session.   Since: 0.1. */
GGUFX_API void ggufx_session_destroy(ggufx_session *session);

/*
 * What the attention of each layer read and gave, shown while a decode runs: for statistics,
 * calibration and comparisons. `layer` is called on the thread of the decode, for each batch and
 * layer; the arrays are valid during the call: q and out f32 [n_tokens][n_heads][head_dim], k and v
 * f32 [n_tokens][n_kv_heads][head_dim], q and k with their positions (first_token ..) turned in.
 * It returns 0, else the decode ends with CANCELLED. It must not call back into the session.
 */
typedef struct ggufx_attention_hook {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const void *next;
    void *user;
    int32_t (*layer)(void *user, uint32_t layer, uint64_t first_token, size_t n_tokens,
                     const float *q, const float *k, const float *v, const float *out);
} ggufx_attention_hook;

#define GGUFX_DECODE_ALL_LOGITS 1u /* keep the logits of all n_tokens tokens, not of the last */

typedef struct ggufx_decode_options {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_DECODE_* */
    const void *next;
    const ggufx_progress *progress; /* tokens done; NULL: cannot be cancelled */
    float *logits;                  /* with ALL_LOGITS: f32 [n_tokens][n_vocab] of the caller's */
    size_t n_logits;                /* its floats */
    uint64_t reserved[2];
    const ggufx_attention_hook *attention; /* NULL: not shown */
} ggufx_decode_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_decode_options_init(ggufx_decode_options *options);

/*
 * Append tokens to the conversation and compute the logits after the last one. All or nothing:
 * after a failure the session is as before. options may be NULL.
 * Errors: ARGUMENT (an id outside of the vocabulary, index says which), CAPACITY (context full),
 * CANCELLED, VALUE (NaN arose in the model).
 * Threads: exclusive on session; uses the runtime's executor.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_session_decode(ggufx_session *session, const int32_t *tokens,
                                            size_t n_tokens, const ggufx_decode_options *options,
                                            ggufx_error *error);

/* Copy the logits after the last decoded token: n_out = n_vocab floats. Errors: ARGUMENT, STATE
 * (nothing decoded yet).   Threads: any number at once (const).   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_session_logits(float *out, size_t n_out, const ggufx_session *session,
                                            ggufx_error *error);

/* Tokens in the conversation.   Threads: any number at once (const).   Since: 0.1. */
GGUFX_API uint64_t ggufx_session_length(const ggufx_session *session);

/* Keep the first n_tokens tokens; the logits are gone until the next decode. Errors: ARGUMENT.
 * Threads: exclusive on session.   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_session_truncate(ggufx_session *session, uint64_t n_tokens,
                                              ggufx_error *error);

/* ---- sampler -------------------------------------------------------------------------------- */

/* Logits to one id; holds its random state; exclusive. The same seed, options and logits give the
 * same ids on every machine. */
typedef struct ggufx_sampler ggufx_sampler;

typedef struct ggufx_sampler_options {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const void *next;
    float temperature; /* 0 = greedy: the largest logit, the lowest id among equals */
    float top_p;       /* keep the likeliest whose probabilities reach top_p; 0 or 1 = off */
    float min_p;       /* drop tokens below min_p times the likeliest one's probability; 0 = off */
    uint32_t top_k;    /* keep the k likeliest; 0 = off */
    uint64_t seed;     /* of its random state */
    uint64_t reserved[2];
} ggufx_sampler_options;

/* Fill with defaults: greedy.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_sampler_options_init(ggufx_sampler_options *options);

/* Create a sampler for vocabularies of up to n_vocab tokens. Filters run in the order top_k,
 * top_p, min_p, temperature. options may be NULL. Errors: ARGUMENT (a number that
 * is negative or not finite, top_p or min_p above 1), MEMORY.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_sampler_create(ggufx_sampler **out, const ggufx_runtime *rt,
                                            uint32_t n_vocab,
                                            const ggufx_sampler_options *options,
                                            ggufx_error *error);
/* Free a sampler.   Threads: exclusive on sampler.   Since: 0.1. */
GGUFX_API void ggufx_sampler_destroy(ggufx_sampler *sampler);

/* Choose an id from n logits. out_logprob may be NULL: natural logarithm of the id's probability
 * before the filters. Errors: ARGUMENT, VALUE (a NaN or +infinity, or no finite logit).
 * Threads: exclusive on sampler.   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_sampler_sample(int32_t *out_id, float *out_logprob,
                                            ggufx_sampler *sampler, const float *logits, size_t n,
                                            ggufx_error *error);

/* ---- perplexity ----------------------------------------------------------------------------- */

typedef struct ggufx_perplexity_facts {
    uint32_t struct_size;  /* set by the caller */
    uint32_t flags;        /* 0 */
    double perplexity;     /* exp of the mean negative log-likelihood */
    double standard_error; /* of the perplexity */
    uint64_t n_chunks;
    uint64_t n_tokens; /* in all chunks */
    uint64_t n_scored; /* predictions scored */
} ggufx_perplexity_facts;

/*
 * Perplexity of a model over token ids in chunks of n_context tokens: token 0 of each chunk is
 * replaced by the id `bos` unless that is -1, and predictions at positions n_context / 2 to
 * n_context - 2 are scored, as the field's tools do. A rest shorter than a chunk is dropped.
 * report (may be NULL) gets the running result after each chunk; non-zero stops.
 * session must be empty and hold n_context tokens; it is empty again afterwards.
 * Errors: ARGUMENT (fewer tokens than one chunk), STATE, CANCELLED, VALUE, MEMORY.
 * Threads: exclusive on session.   Since: 0.1.
 */
GGUFX_API ggufx_status
ggufx_perplexity(ggufx_perplexity_facts *out, ggufx_session *session, const int32_t *tokens,
                 size_t n_tokens, uint32_t n_context, int32_t bos,
                 int32_t (*report)(void *user, const ggufx_perplexity_facts *running), void *user,
                 ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
