/*
 * ggufx/model.h: run a language model: tokenizer, model, session, sampler, perplexity.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_MODEL_H
#define GGUFX_MODEL_H

#include "device.h"
#include "file.h"
#include "group.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tokenizer ------------------------------------------------------------------------------ */

/* Text to token ids and back, immutable; keeps its file alive. */
typedef struct ggufx_tokenizer ggufx_tokenizer;

/* Build the tokenizer a file describes. Errors: ARGUMENT, LIMIT (texts too long to be searched
 * for), MEMORY, MISSING, VOCAB (counts, types, merges or special ids that do not fit), UNSUPPORTED
 * (the text names the kind, or the pre-tokenizer and those that are known).
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_tokenizer_create(ggufx_tokenizer **out, const ggufx_file *file,
                                              ggufx_error *error);
/* Drop the caller's reference.   Threads: exclusive on tokenizer.   Since: 0.1. */
GGUFX_API void ggufx_tokenizer_destroy(ggufx_tokenizer *tokenizer);

#define GGUFX_TOKENIZE_ADD_SPECIAL 1u   /* add BOS, EOS, a separator as the file asks */
#define GGUFX_TOKENIZE_PARSE_SPECIAL 2u /* "<s>" in the text is the control token */

/*
 * Token ids of a UTF-8 text (invalid bytes become byte tokens where the vocabulary has them).
 * Writes at most `capacity` ids and always sets *out_needed to the full count; CAPACITY when it is
 * larger than capacity.
 * Errors: ARGUMENT, CAPACITY, LIMIT, MEMORY, UNSUPPORTED (the file has ids without texts), VOCAB
 * (a byte that has no token, a character map that leads out of itself).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_tokenize(int32_t *out_ids, size_t capacity, size_t *out_needed,
                                      const ggufx_tokenizer *tokenizer, const char *text,
                                      size_t length, uint32_t flags, ggufx_error *error);

#define GGUFX_DETOKENIZE_KEEP_SPECIAL 1u /* write control tokens too */
#define GGUFX_DETOKENIZE_KEEP_SPACE 2u   /* keep the space the tokenizer put before the text */
#define GGUFX_DETOKENIZE_CLEAN_SPACES 4u /* take spaces out as the field's programs do */
/* Bytes of a list of ids (not NUL-terminated; one id may be part of a character). Writes at most
 * `capacity` bytes and always sets *out_needed; CAPACITY when that is larger. The text is as it
 * was; with CLEAN_SPACES, in vocabularies with GGUFX_TOKENIZER_CLEAN_SPACES, " ?" " !" " ." " ,"
 * " 's" " 'm" " 're" " 've" lose the space and " ' " both.
 * Errors: ARGUMENT (an id outside of the vocabulary), CAPACITY.
 * Threads: any number at once.   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_detokenize(char *out, size_t capacity, size_t *out_needed,
                                        const ggufx_tokenizer *tokenizer, const int32_t *ids,
                                        size_t n_ids, uint32_t flags, ggufx_error *error);

#define GGUFX_DETOKENIZE_LAST 8u /* ggufx_detokenize_part: no more ids follow */

/* What stands between two parts of a text. The caller sets all of it to 0; it never grows. */
typedef struct ggufx_detokenize_state {
    uint64_t waiting;     /* bytes that wait, in a form of the library's own */
    uint64_t reserved[3]; /* 0 */
} ggufx_detokenize_state;

/* As ggufx_detokenize for ids that come one after another: bytes of a character wait in *state
 * until it is whole or cannot become so, so that every part is UTF-8 where the text is; with LAST
 * all that waits is written. The parts together are the bytes that ggufx_detokenize gives for all
 * ids. After a failure the state is as before.
 * Errors: as ggufx_detokenize, ARGUMENT (a state that no call has left).
 * Threads: any number at once, exclusive on state.   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_detokenize_part(char *out, size_t capacity, size_t *out_needed,
                                             ggufx_detokenize_state *state,
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
    const char *text;     /* as stored in the file, any byte */
    size_t text_length;
} ggufx_token_facts;

/* Describe a token; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_token_info(ggufx_token_facts *out, const ggufx_tokenizer *tokenizer,
                                        int32_t id, ggufx_error *error);

#define GGUFX_TOKENIZER_ADD_BOS 1u       /* ADD_SPECIAL puts BOS in front of a text */
#define GGUFX_TOKENIZER_ADD_EOS 2u       /* and EOS behind it */
#define GGUFX_TOKENIZER_ADD_SEP 4u       /* a separator stands behind a text, or between two */
#define GGUFX_TOKENIZER_ADD_SPACE 8u     /* a space is put in front of a text */
#define GGUFX_TOKENIZER_CLEAN_SPACES 16u /* GGUFX_DETOKENIZE_CLEAN_SPACES has an effect */

typedef struct ggufx_tokenizer_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* GGUFX_TOKENIZER_* */
    const char *kind;     /* tokenizer.ggml.model: "llama"; valid for ever */
    uint32_t n_tokens;
    int32_t bos;     /* -1 when there is none */
    int32_t eos;     /* the same */
    int32_t unknown; /* the same */
    const char *pre; /* pre-tokenizer of BPE: "llama-bpe", else NULL; valid for ever */
} ggufx_tokenizer_facts;

/* Describe a tokenizer; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_tokenizer_info(ggufx_tokenizer_facts *out,
                                            const ggufx_tokenizer *tokenizer, ggufx_error *error);

/* Tokens with a meaning of their own. */
enum {
    GGUFX_SPECIAL_BOS = 0, /* begins a text; [CLS] */
    GGUFX_SPECIAL_EOS = 1, /* ends a text */
    GGUFX_SPECIAL_EOT = 2, /* ends a turn */
    GGUFX_SPECIAL_EOM = 3, /* ends a message that a tool answers */
    GGUFX_SPECIAL_UNKNOWN = 4,
    GGUFX_SPECIAL_SEPARATOR = 5, /* between two texts; [SEP] */
    GGUFX_SPECIAL_PAD = 6,
    GGUFX_SPECIAL_MASK = 7,
    GGUFX_SPECIAL_FIM_PREFIX = 8,      /* what stands before a gap to fill */
    GGUFX_SPECIAL_FIM_SUFFIX = 9,      /* what stands behind it */
    GGUFX_SPECIAL_FIM_MIDDLE = 10,     /* what fills it */
    GGUFX_SPECIAL_FIM_PAD = 11,        /* of texts that are filled up */
    GGUFX_SPECIAL_FIM_REPOSITORY = 12, /* name of a repository */
    GGUFX_SPECIAL_FIM_SEPARATOR = 13   /* between files */
};

/* The id of a special token (GGUFX_SPECIAL_*) by its key, else by its text; -1 where the vocabulary
 * has none, or no tokenizer or another number is given.
 * Threads: any number at once.   Allocates: no.   Since: 0.1. */
GGUFX_API int32_t ggufx_tokenizer_special(const ggufx_tokenizer *tokenizer, uint32_t which);

#define GGUFX_PRE_ADD_BOS 1u       /* texts begin with BOS unless the file says otherwise */
#define GGUFX_PRE_IGNORE_MERGES 2u /* pieces that are tokens are taken before any merge */
#define GGUFX_PRE_ADD_SEP 4u       /* pairs of texts have a separator */
#define GGUFX_PRE_KEEP_SPACES 8u   /* GGUFX_DETOKENIZE_CLEAN_SPACES has no effect */

/* A pre-tokenizer: how BPE cuts texts before it merges. */
typedef struct ggufx_pre_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* GGUFX_PRE_* */
    const char *name;     /* tokenizer.ggml.pre: "llama-bpe"; valid for ever */
    const char *rules;    /* the name its rules go by; equal where texts are cut equally */
    const char *steps;   /* its steps in tokenizer.json, each with a NUL behind: 'S' and the pattern
                             of a Split, 'D' single digits, 'G' GPT-2's pattern and bytes, 'B' bytes;
                             NULL where they are not known */
    size_t steps_length; /* with every NUL */
} ggufx_pre_facts;

/* How many pre-tokenizers this library has.   Threads: any.   Since: 0.1. */
GGUFX_API size_t ggufx_tokenizer_pre_count(void);

/* Describe one; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any.   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_tokenizer_pre(ggufx_pre_facts *out, size_t index, ggufx_error *error);

/* The version of Unicode that texts are cut by, "15.0.0".   Threads: any.   Since: 0.1. */
GGUFX_API const char *ggufx_tokenizer_unicode(void);

/* ---- model ---------------------------------------------------------------------------------- */

/* Weights bound to a graph, immutable; keeps its file alive. */
typedef struct ggufx_model ggufx_model;

/* A key of the file as if it had another value, or of one that lacks it. */
typedef struct ggufx_model_override {
    const char *key;   /* "llama.rope.freq_base" */
    const char *value; /* a number, "true", "false" or text, as the key needs it */
} ggufx_model_override;

typedef struct ggufx_model_options {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const void *next;
    uint64_t reserved[4];
    const ggufx_model_override *overrides; /* [n_overrides], read by the call only */
    size_t n_overrides;
    const ggufx_progress *progress;   /* layers bound; NULL: cannot be cancelled */
    const ggufx_group_options *group; /* ranks that run the model together (group.h); NULL: alone */
    /* Where the products of the output matrix and of the last n_device_layers layers (0: of all) are
     * calculated (device.h): with the bits they have without it, if it is exact. NULL: here. */
    const ggufx_device *device;
    uint32_t n_device_layers;
    uint32_t reserved0;
} ggufx_model_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_model_options_init(ggufx_model_options *options);

/*
 * Bind a file to the program of its architecture; no weight is copied but those that go to a device.
 * options may be NULL.
 * Errors: ARGUMENT (also a file opened for metadata only, an override that is no such value or that
 * the model has no use for), CANCELLED, MEMORY, MISSING (key or tensor), KVTYPE,
 * HPARAM, SHAPE, TYPE, SPLIT (parts are missing), UNSUPPORTED (the text says what is not
 * supported; a device and a group), of a group MISMATCH (a rank has another library, file or
 * options), IO, what its functions fail with; of a device what ggufx_tensor_upload does. A call on a
 * model whose device is lost is DEVICE.
 * Threads: any number at once; of a group one.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_model_create(ggufx_model **out, const ggufx_runtime *rt,
                                          const ggufx_file *file,
                                          const ggufx_model_options *options, ggufx_error *error);
/* Drop the caller's reference.   Threads: exclusive on model.   Since: 0.1. */
GGUFX_API void ggufx_model_destroy(ggufx_model *model);

#define GGUFX_MODEL_EMBEDS_ONLY 1u /* it predicts no token: embed.h, no session */
#define GGUFX_MODEL_EMBEDS 2u      /* the file says how it makes embeddings or scores */

typedef struct ggufx_model_facts {
    uint32_t struct_size;     /* set by the caller */
    uint32_t flags;           /* GGUFX_MODEL_* */
    const char *architecture; /* "llama"; valid for ever */
    uint64_t n_parameters;
    uint64_t weight_bytes; /* of all its tensors */
    uint32_t n_vocab;
    uint32_t n_context; /* trained context */
    uint32_t n_embedding;
    uint32_t n_layers;
    uint32_t n_heads;
    uint32_t n_kv_heads;
    uint32_t head_dim; /* values of a head */
    uint32_t reserved;
    uint64_t identity; /* tells models apart, as in snapshots and saved logits: a checksum of shapes
                        * and types of all matrices and of the values of all vectors */
    uint64_t device_bytes;    /* of matrices that lie on a device, */
    uint32_t n_device_layers; /* which are those of so many layers and the output matrix; 0: none */
    uint32_t reserved1;
} ggufx_model_facts;

/* Describe a model; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_model_info(ggufx_model_facts *out, const ggufx_model *model,
                                        ggufx_error *error);

/* What mixes the tokens of a layer. */
enum {
    GGUFX_LAYER_ATTENTION = 1, /* keys and values of all tokens, or of a window */
    GGUFX_LAYER_RECURRENT = 2  /* a state of one size */
};

#define GGUFX_LAYER_V_IN_K 1u /* values are the first head_dim_v coordinates of keys */

typedef struct ggufx_layer_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* GGUFX_LAYER_V_IN_K */
    uint32_t kind;        /* GGUFX_LAYER_* */
    uint32_t n_heads;     /* of attention, the shapes that ggufx_attention_hook sees; else 0 */
    uint32_t n_kv_heads;  /* of keys and values */
    uint32_t head_dim_k;  /* values of a query and a key */
    uint32_t head_dim_v;  /* of a value and a result */
    uint32_t window;      /* tokens it sees, in llama4 at most; 0 = all */
    uint32_t reads_layer; /* whose keys and values it reads: its own, mostly */
    float scale;          /* of scores; 0 = 1 / sqrt(head_dim_k) */
    float softcap;        /* 0: none */
    uint32_t reserved;
    uint64_t state_bytes; /* of a recurrent layer, per sequence */
    const float *sinks;   /* [n_heads] logits of the model, or NULL; valid as long as it is */
} ggufx_layer_facts;

/* Describe a layer; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_model_layer(ggufx_layer_facts *out, const ggufx_model *model,
                                         uint32_t layer, ggufx_error *error);

/*
 * What a model of this file computes, as text for people: a line per step, equal layers told once.
 * The file may be open for metadata only. Writes at most `capacity` bytes (no NUL) and always sets
 * *out_needed; CAPACITY when that is larger. The words may change from version to version.
 * Errors: as ggufx_model_create, CAPACITY.   Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_file_graph(char *out, size_t capacity, size_t *out_needed,
                                        const ggufx_file *file, ggufx_error *error);

/* ---- session -------------------------------------------------------------------------------- */

/* A conversation, or many (batch.h): caches, tokens and the last logits; exclusive. */
typedef struct ggufx_session ggufx_session;

#define GGUFX_SESSION_NO_CHECKPOINTS 0xffffffffu /* no states but those of before a decode */

typedef struct ggufx_session_options {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    const void *next;
    uint32_t n_context;    /* tokens of a conversation at most; 0 = the trained context, 8192 where
                            * that is more */
    uint32_t n_batch;      /* tokens computed at once; 0 = 512 */
    uint32_t type_k;       /* GGUFX_KV_* of the cache */
    uint32_t type_v;       /* GGUFX_KV_* of the cache */
    uint32_t matmul_flags; /* GGUFX_MATMUL_* of all products */
    uint32_t reserved0;
    /* Tokens of all conversations together, for which they share memory: it is taken as they come,
     * what two of them share counts once, and what has no room is CAPACITY. 0, or more than all of
     * them hold: each has memory for its own. */
    uint64_t n_context_total;
    uint64_t reserved[2];
    uint32_t n_checkpoints; /* copies of the states of recurrent layers that are kept for
                             * ggufx_session_truncate, at most 4096, beside the one of before the
                             * last decode; 0 = 8, in a context of less than 512 tokens one per
                             * 64; GGUFX_SESSION_NO_CHECKPOINTS = none.
                             * Without effect on models that have no such layers */
    uint32_t
        n_sequences; /* conversations, each of n_context tokens (batch.h); 0 = 1, at most 65536 */
} ggufx_session_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_session_options_init(ggufx_session_options *options);

/* Create a session and take all its memory (caches of n_context tokens for each of n_sequences,
 * unless they share n_context_total, scratch of n_batch).
 * options may be NULL. What n_context 0 means does not depend on the machine: whether it fits is
 * ggufx_estimate's to say. Errors: ARGUMENT, MEMORY, TYPE, UNSUPPORTED (it makes embeddings only).
 * Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_session_create(ggufx_session **out, const ggufx_model *model,
                                            const ggufx_session_options *options,
                                            ggufx_error *error);
/* Free a session.   Threads: exclusive on session.   Since: 0.1. */
GGUFX_API void ggufx_session_destroy(ggufx_session *session);

/* What a session was made with: its options with the defaults put in. */
typedef struct ggufx_session_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    uint32_t n_context;   /* tokens that it holds at most */
    uint32_t n_batch;     /* tokens computed at once */
    uint32_t type_k;      /* GGUFX_KV_* of the cache */
    uint32_t type_v;      /* GGUFX_KV_* of the cache */
    uint32_t n_sequences; /* conversations */
    uint32_t reserved;
    uint64_t n_context_total; /* tokens for which they share memory; 0: each has its own */
} ggufx_session_facts;

/* Describe a session; out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any number at once (const).   Since: 0.1. */
GGUFX_API ggufx_status ggufx_session_info(ggufx_session_facts *out, const ggufx_session *session,
                                          ggufx_error *error);

/*
 * What the attention of each layer read and gave, shown while a decode runs: for statistics,
 * calibration and comparisons. `layer` is called on the thread of the decode, for each batch and
 * layer that has keys of its own; the arrays are valid during the call: q and out f32 [n_tokens][n_heads][head_dim], k and v
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
 * after a failure the session is as before. options may be NULL. After ggufx_session_truncate the
 * call may have tokens of before to compute again first: they are in no logits, in no call of the
 * attention hook and not counted by progress, which is polled all the same.
 * Errors: ARGUMENT (an id outside of the vocabulary, index says which), CAPACITY (context full),
 * CANCELLED, VALUE (NaN arose in the model), what the executor fails with.
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

/*
 * Keep the first n_tokens tokens; the logits are gone until the next decode, which goes on as if
 * the others had never come: with the bits of a session that decoded these tokens alone. (The bits
 * of products depend on how many tokens are computed at once, 1 to 3 or more, and with experts on
 * which: see GGUFX_MATMUL_BATCH_INVARIANT, with which no cut or batch changes a bit.)
 *
 * The call itself takes next to no time. What it costs falls to the next decode, which computes
 * again the tokens that the caches had to let go beside those that were cut: from the last place at
 * or before n_tokens where all of the following holds.
 *   Keys and values of quantized types: the end of a page of 64 tokens, or any place in the first
 *   page, in the last one, and in that in which the last decode began.
 *   Layers with a window: any place in the last 320 of the most tokens there were, or the start.
 *   Recurrent layers: where the tokens of the last decode began, or a checkpoint (n_checkpoints).
 *   They lie at ends of decodes, and of batches within one, that reached another page of 64 tokens;
 *   where they are too few those that stay have distances from the end that about double.
 * So it is at most 63 tokens for most models, and the whole conversation at worst; more cuts before
 * that decode are fine. If it fails or is cancelled, the one after it begins with them anew.
 * Errors: ARGUMENT (more than there are).
 * Threads: exclusive on session.   Allocates: no.   Since: 0.1.
 */
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
                                            uint32_t n_vocab, const ggufx_sampler_options *options,
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
GGUFX_API ggufx_status ggufx_perplexity(ggufx_perplexity_facts *out, ggufx_session *session,
                                        const int32_t *tokens, size_t n_tokens, uint32_t n_context,
                                        int32_t bos,
                                        int32_t (*report)(void *user,
                                                          const ggufx_perplexity_facts *running),
                                        void *user, ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
