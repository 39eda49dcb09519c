/*
 * ggufx/model.h: run a language model: tokenizer, model, session.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_MODEL_H
#define GGUFX_MODEL_H

#include "device.h"
#include "file.h"
#include "group.h"
#include "matmul.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tokenizer ------------------------------------------------------------------------------ */

/* Converts text to token ids and back. Immutable; keeps its file alive. */
typedef struct ggufx_tokenizer ggufx_tokenizer;

/*
 * Creates the tokenizer that a file describes.
 *
 * Errors:
 * - ARGUMENT, MEMORY, MISSING.
 * - LIMIT: token texts are too long for the search.
 * - VOCAB: counts, types, merges or special ids do not fit together.
 * - UNSUPPORTED: the message names the kind, or the pre-tokenizer and the known ones.
 *
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_tokenizer_create(ggufx_tokenizer **out, const ggufx_file *file,
                                              ggufx_error *error);
/* Releases the caller's reference.   Threads: exclusive on tokenizer.   Since: 0.1. */
GGUFX_API void ggufx_tokenizer_destroy(ggufx_tokenizer *tokenizer);

/* Flags of ggufx_tokenize. */
typedef uint32_t ggufx_tokenize_flags;
#define GGUFX_TOKENIZE_ADD_SPECIAL 1u   /* add BOS, EOS or a separator as the file asks */
#define GGUFX_TOKENIZE_PARSE_SPECIAL 2u /* "<s>" in the text is the control token */

/*
 * Tokenizes a UTF-8 text. Invalid bytes become byte tokens if the vocabulary has them.
 *
 * Writes at most `capacity` ids and always sets *out_needed to their full number; CAPACITY if that
 * is larger.
 *
 * Errors:
 * - ARGUMENT, CAPACITY, LIMIT, MEMORY.
 * - UNSUPPORTED: the file has ids without texts.
 * - VOCAB: a byte has no token, or a character map points outside of itself.
 *
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_tokenize(int32_t *out_ids, size_t capacity, size_t *out_needed,
                                      const ggufx_tokenizer *tokenizer, const char *text,
                                      size_t length, ggufx_tokenize_flags flags,
                                      ggufx_error *error);

/* Token ids of one text. It never grows. */
typedef struct ggufx_token_list {
    const int32_t *tokens; /* ids of the vocabulary */
    size_t n_tokens;
} ggufx_token_list;

/* Flags of ggufx_detokenize. */
typedef uint32_t ggufx_detokenize_flags;
#define GGUFX_DETOKENIZE_KEEP_SPECIAL 1u /* write control tokens too */
#define GGUFX_DETOKENIZE_KEEP_SPACE 2u /* keep the space that the tokenizer added before the text */
#define GGUFX_DETOKENIZE_CLEAN_SPACES 4u /* remove spaces before punctuation, as llama.cpp does */
/* ggufx_detokenize_stream: no more ids follow */
#define GGUFX_DETOKENIZE_FLUSH 8u
/*
 * Converts token ids to text, not NUL-terminated. One id may be a part of a character.
 *
 * Writes at most `capacity` bytes and always sets *out_needed; CAPACITY if that is larger. The text
 * is unchanged, except with GGUFX_DETOKENIZE_CLEAN_SPACES in vocabularies with
 * GGUFX_TOKENIZER_CLEAN_SPACES. These then lose spaces:
 *
 * - "?", "!", ".", ",", "'s", "'m", "'re", "'ve": the space before them
 * - "'" between two spaces: both
 *
 * Errors: ARGUMENT (an id outside of the vocabulary), CAPACITY.
 * Threads: any number at once.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_detokenize(char *out, size_t capacity, size_t *out_needed,
                                        const ggufx_tokenizer *tokenizer, const int32_t *ids,
                                        size_t n_ids, ggufx_detokenize_flags flags,
                                        ggufx_error *error);

/* State between two parts of a text. The struct never grows. */
typedef struct ggufx_detokenizer_state {
    uint64_t waiting; /* bytes of an incomplete character, in an internal form; 0 at the start */
    ggufx_detokenize_flags flags; /* set by the caller, GGUFX_DETOKENIZE_FLUSH for the last part */
    uint32_t reserved;
} ggufx_detokenizer_state;

/*
 * Converts token ids to text as ggufx_detokenize does, for ids that come one after another
 * (streaming).
 *
 * Bytes of a character are kept in *state until it is complete or invalid. Each part is therefore
 * valid UTF-8 if the text is. With GGUFX_DETOKENIZE_FLUSH all bytes are written. The parts together
 * are the bytes that ggufx_detokenize returns for all ids. After a failure the state is as before.
 *
 * Errors: as ggufx_detokenize, ARGUMENT (an invalid state).
 * Threads: any number at once, exclusive on state.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_detokenize_stream(char *out, size_t capacity, size_t *out_needed,
                                               ggufx_detokenizer_state *state,
                                               const ggufx_tokenizer *tokenizer, const int32_t *ids,
                                               size_t n_ids, ggufx_error *error);

/* Properties of a token. */
typedef uint32_t ggufx_token_flags;
#define GGUFX_TOKEN_UNKNOWN 1u      /* stands for text without a token */
#define GGUFX_TOKEN_CONTROL 2u      /* "<s>": has no text of its own */
#define GGUFX_TOKEN_USER_DEFINED 4u /* user-defined: matched as a whole in every text */
#define GGUFX_TOKEN_UNUSED 8u       /* never produced by the tokenizer */
#define GGUFX_TOKEN_BYTE 16u        /* one byte, "<0x0A>" */
#define GGUFX_TOKEN_EOG 32u         /* end-of-generation token: EOS, EOT, EOM */

typedef struct ggufx_token_facts {
    uint32_t struct_size; /* set by the caller */
    ggufx_token_flags flags;
    int32_t id;      /* index in the vocabulary */
    float score;     /* as stored in the file */
    ggufx_text text; /* as stored in the file */
} ggufx_token_facts;

/* Describes a token. out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_token_info(ggufx_token_facts *out, const ggufx_tokenizer *tokenizer,
                                        int32_t id, ggufx_error *error);

/* Properties of a tokenizer. */
typedef uint32_t ggufx_tokenizer_flags;
#define GGUFX_TOKENIZER_ADD_BOS 1u       /* ADD_SPECIAL adds BOS before a text */
#define GGUFX_TOKENIZER_ADD_EOS 2u       /* ADD_SPECIAL adds EOS after a text */
#define GGUFX_TOKENIZER_ADD_SEP 4u       /* a separator is added after a text, or between two */
#define GGUFX_TOKENIZER_ADD_SPACE 8u     /* a space is added before a text */
#define GGUFX_TOKENIZER_CLEAN_SPACES 16u /* GGUFX_DETOKENIZE_CLEAN_SPACES has an effect */

/* Special tokens are found by their key, or else by their text or the default of the kind of
 * vocabulary; an id of -1: none. */
typedef struct ggufx_tokenizer_facts {
    uint32_t struct_size; /* set by the caller */
    ggufx_tokenizer_flags flags;
    const char *kind;  /* tokenizer.ggml.model: "llama"; valid for the life of the process */
    uint32_t n_tokens; /* tokens of the vocabulary */
    int32_t bos;       /* start of a text; [CLS] */
    int32_t eos;       /* end of a text */
    int32_t unknown;   /* stands for text without a token */
    /* {null} pre-tokenizer of BPE: "llama-bpe", else NULL; valid for the life of the process */
    const char *pre;
    int32_t eot;            /* end of a turn */
    int32_t eom;            /* end of a message that a tool answers */
    int32_t separator;      /* between two texts; [SEP] */
    int32_t pad;            /* padding; [PAD] */
    int32_t mask;           /* token to be predicted; [MASK] */
    int32_t fim_prefix;     /* fill-in-the-middle: before the prefix */
    int32_t fim_suffix;     /* before the suffix */
    int32_t fim_middle;     /* before the middle, which the model generates */
    int32_t fim_pad;        /* padding */
    int32_t fim_repository; /* before the name of a repository */
    int32_t fim_separator;  /* between files */
    uint32_t reserved;
} ggufx_tokenizer_facts;

/* Describes a tokenizer. out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_tokenizer_info(ggufx_tokenizer_facts *out,
                                            const ggufx_tokenizer *tokenizer, ggufx_error *error);

/* Properties of a pre-tokenizer. */
typedef uint32_t ggufx_pre_flags;
#define GGUFX_PRE_ADD_BOS 1u       /* texts start with BOS unless the file says otherwise */
#define GGUFX_PRE_IGNORE_MERGES 2u /* pieces that are tokens are used without merges */
#define GGUFX_PRE_ADD_SEP 4u       /* pairs of texts have a separator */
#define GGUFX_PRE_KEEP_SPACES 8u   /* GGUFX_DETOKENIZE_CLEAN_SPACES has no effect */

/* A pre-tokenizer: splits a text before BPE merges. */
typedef struct ggufx_pre_tokenizer_facts {
    uint32_t struct_size; /* set by the caller */
    ggufx_pre_flags flags;
    const char *name;  /* tokenizer.ggml.pre: "llama-bpe"; valid for the life of the process */
    const char *rules; /* name of its rules; equal for pre-tokenizers that split equally */
    /* Its steps as in tokenizer.json, each terminated by NUL; absent if they are not known: 'S' and
     * the pattern of a Split, 'D' single digits, 'G' the pattern and bytes of GPT-2, 'B' bytes. */
    ggufx_text pipeline;
    /* Unicode version of its character classes: "15.0.0"; valid for the life of the process */
    const char *unicode;
} ggufx_pre_tokenizer_facts;

/* Returns the number of pre-tokenizers of this library.   Threads: any.   Since: 0.1. */
GGUFX_API size_t ggufx_pre_tokenizer_count(void);

/* Describes pre-tokenizer `index`. out->struct_size must be set. Errors: ARGUMENT.
 * Threads: any.   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_pre_tokenizer_at(ggufx_pre_tokenizer_facts *out, size_t index,
                                              ggufx_error *error);

/* ---- model ---------------------------------------------------------------------------------- */

/* Weights bound to the graph of an architecture. Immutable; keeps its file alive. */
typedef struct ggufx_model ggufx_model;

/* Overrides a metadata value of the file, or adds a key. */
typedef struct ggufx_model_override {
    const char *key;   /* "llama.rope.freq_base" */
    const char *value; /* a number, "true", "false" or a string, according to the key */
} ggufx_model_override;

typedef struct ggufx_model_options {
    uint32_t struct_size;
    uint32_t flags;                        /* 0 */
    const ggufx_model_override *overrides; /* [n_overrides], read by the call only */
    size_t n_overrides;
    const ggufx_progress *progress; /* counts layers; NULL: cannot be cancelled */
    /* group of ranks that run the model together (group.h); NULL: none */
    const ggufx_group_options *group;
    /* Device (device.h) for the products of the output matrix and of the last n_device_layers
     * layers. If it is exact, results are bit-identical. NULL: the CPU. */
    const ggufx_device *device;
    uint32_t n_device_layers; /* number of last layers on the device; 0: all */
    uint32_t reserved;
} ggufx_model_options;

/*
 * Creates a model: binds the weights of a file to the graph of its architecture.
 *
 * Weights are not copied, except to a device. options may be NULL.
 *
 * Errors:
 * - ARGUMENT: also a file opened for metadata only, an override with an invalid value or of a key
 *   that the model does not use.
 * - CANCELLED, MEMORY, VALUE_TYPE, HYPERPARAMETER, SHAPE, TYPE.
 * - MISSING: a key or tensor.
 * - SPLIT: parts are missing.
 * - UNSUPPORTED: the message says what; also a device with a group.
 * - Group: MISMATCH (a rank has another library, file or options), IO, the status of its functions.
 * - Device: those of ggufx_tensor_upload. Later calls on a model whose device is lost fail with
 *   DEVICE.
 *
 * Threads: any number at once; one at a time for a group.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_model_create(ggufx_model **out, const ggufx_runtime *rt,
                                          const ggufx_file *file,
                                          const ggufx_model_options *options, ggufx_error *error);
/* Releases the caller's reference.   Threads: exclusive on model.   Since: 0.1. */
GGUFX_API void ggufx_model_destroy(ggufx_model *model);

/* Properties of a model. */
typedef uint32_t ggufx_model_flags;
#define GGUFX_MODEL_EMBEDDING_ONLY 1u /* predicts no tokens: use embed.h; it has no sessions */
#define GGUFX_MODEL_EMBEDS 2u         /* the file describes pooling for embeddings or scores */

typedef struct ggufx_model_facts {
    uint32_t struct_size; /* set by the caller */
    ggufx_model_flags flags;
    const char *architecture; /* "llama"; valid for the life of the process */
    uint64_t n_parameters;    /* values of all tensors */
    uint64_t weight_bytes;    /* bytes of all tensors */
    uint32_t n_vocab;         /* tokens of the vocabulary */
    uint32_t n_context;       /* trained context */
    uint32_t n_embedding;     /* values of a hidden state */
    uint32_t n_layers;
    uint32_t n_heads;
    uint32_t n_kv_heads;
    uint32_t head_dim;        /* values of a head */
    uint32_t n_device_layers; /* layers on the device, beside the output matrix; 0: no device */
    /* Identity of the model in snapshots and saved logits: a checksum of the shapes and types of
     * all matrices and of the values of all vectors. */
    uint64_t identity;
    uint64_t device_bytes; /* bytes of matrices on the device */
} ggufx_model_facts;

/* Describes a model. out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_model_info(ggufx_model_facts *out, const ggufx_model *model,
                                        ggufx_error *error);

/* Kinds of layers. */
typedef uint32_t ggufx_layer_kind;
enum {
    GGUFX_LAYER_ATTENTION = 1, /* keys and values of all tokens, or of a window */
    GGUFX_LAYER_RECURRENT = 2  /* a recurrent state of constant size */
};

/* Properties of a layer. */
typedef uint32_t ggufx_layer_flags;
#define GGUFX_LAYER_V_IN_K 1u /* values are the first head_dim_v coordinates of keys */

typedef struct ggufx_layer_facts {
    uint32_t struct_size; /* set by the caller */
    ggufx_layer_flags flags;
    ggufx_layer_kind kind;
    uint32_t n_heads;    /* query heads, as in ggufx_attention_hook; 0 without attention */
    uint32_t n_kv_heads; /* heads of keys and values */
    uint32_t head_dim_k; /* values of a query or key head */
    uint32_t head_dim_v; /* values of a value head */
    uint32_t window;     /* tokens that a token sees (llama4: at most); 0 = all */
    uint32_t kv_layer;   /* layer of the keys and values that it reads, mostly itself */
    float scale;         /* scale of the scores; 0 = 1 / sqrt(head_dim_k) */
    float softcap;       /* soft cap of the scores; 0: none */
    uint32_t reserved;
    uint64_t state_bytes; /* bytes of the recurrent state of a sequence */
    /* {null} {len: n_heads} attention sink logits, or NULL; valid as long as the model */
    const float *sink_logits;
} ggufx_layer_facts;

/* Describes a layer. out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_model_layer_info(ggufx_layer_facts *out, const ggufx_model *model,
                                              uint32_t layer, ggufx_error *error);

/*
 * Writes the graph of a file's model as readable text: a line per operation, equal layers once.
 *
 * The file may be opened for metadata only. Writes at most `capacity` bytes (no NUL) and always
 * sets *out_needed; CAPACITY if that is larger. The wording may change between versions.
 *
 * Errors: as ggufx_model_create, CAPACITY.   Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_model_describe_graph(char *out, size_t capacity, size_t *out_needed,
                                                  const ggufx_file *file, ggufx_error *error);

/* ---- session -------------------------------------------------------------------------------- */

/* One sequence, or many (batch.h): their KV caches and tokens. Exclusive. */
typedef struct ggufx_session ggufx_session;

/* no checkpoints, except the state before the last decode */
#define GGUFX_SESSION_NO_CHECKPOINTS 0xffffffffu

/* Flags of a session. */
typedef uint32_t ggufx_session_flags;
#define GGUFX_SESSION_HAS_TYPE_K 1u /* type_k counts even if it is 0 (GGUFX_TYPE_F32) */
#define GGUFX_SESSION_HAS_TYPE_V 2u /* type_v counts even if it is 0 */

typedef struct ggufx_session_options {
    uint32_t struct_size;
    ggufx_session_flags flags; /* GGUFX_SESSION_HAS_TYPE_K, _HAS_TYPE_V */
    /* maximum number of tokens of a sequence; 0 = the trained context, at most 8192 */
    uint32_t n_context;
    uint32_t n_batch;  /* tokens computed at once; 0 = 512 */
    ggufx_type type_k; /* type of the keys; 0 without GGUFX_SESSION_HAS_TYPE_K = F16 */
    ggufx_type type_v; /* type of the values; 0 without GGUFX_SESSION_HAS_TYPE_V = F16 */
    ggufx_matmul_flags matmul_flags; /* GGUFX_MATMUL_* of all products */
    uint32_t reserved;
    /* Maximum number of tokens of all sequences together, which then share memory. It is allocated
     * as tokens arrive; a shared prefix counts once; tokens without memory are CAPACITY. 0, or more
     * than all sequences can hold: each has its own memory. */
    uint64_t n_context_total;
    /* Checkpoints of recurrent states for ggufx_session_truncate, in addition to the state
     * before the last decode. At most 4096; 0 = 8, or one per 64 tokens if the context has less
     * than 512; GGUFX_SESSION_NO_CHECKPOINTS = none. No effect on models without recurrent
     * layers. */
    uint32_t n_checkpoints;
    /* number of sequences of n_context tokens each (batch.h); 0 = 1, at most 65536 */
    uint32_t n_sequences;
} ggufx_session_options;

/*
 * Creates a session and allocates all its memory.
 *
 * This is KV caches of n_context tokens for each of n_sequences, unless they share n_context_total,
 * and scratch memory for n_batch tokens. options may be NULL. The default of n_context does not
 * depend on the machine; ggufx_estimate tells if it fits.
 *
 * Errors: ARGUMENT, MEMORY, TYPE, UNSUPPORTED (an embedding-only model).
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_session_create(ggufx_session **out, const ggufx_model *model,
                                            const ggufx_session_options *options,
                                            ggufx_error *error);
/* Frees a session.   Threads: exclusive on session.   Since: 0.1. */
GGUFX_API void ggufx_session_destroy(ggufx_session *session);

/* Options of a session, with the defaults filled in, and the memory of its caches. */
typedef struct ggufx_session_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    uint32_t n_context;   /* maximum number of tokens of a sequence */
    uint32_t n_batch;     /* tokens computed at once */
    ggufx_type type_k;    /* type of the keys */
    ggufx_type type_v;    /* type of the values */
    uint32_t n_sequences; /* number of sequences */
    uint32_t reserved;
    uint64_t n_context_total; /* tokens for which sequences share memory; 0: each has its own */
    uint64_t cache_bytes;     /* bytes allocated for keys, values and states */
    /* allocated pages, used or not; shared pages count once. A page holds 64 tokens of a layer */
    uint64_t n_pages;
    uint64_t n_shared_pages; /* references of sequences to pages that other sequences hold too */
    uint64_t n_tokens;       /* tokens of all sequences */
    uint64_t n_tokens_left;  /* with n_context_total: tokens that still fit, in whole pages */
    uint64_t embedded_bytes; /* bytes of input rows that the caller passed */
} ggufx_session_facts;

/* Describes a session. out->struct_size must be set. Takes time linear in the number of pages.
 * Errors: ARGUMENT.   Threads: any number at once (const).   Since: 0.1. */
GGUFX_API ggufx_status ggufx_session_info(ggufx_session_facts *out, const ggufx_session *session,
                                          ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
