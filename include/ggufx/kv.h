/*
 * ggufx/kv.h: KV cache and attention over it, usable without a model.
 *
 * A cache holds keys and values of n_kv_heads heads per layer and sequence; keys and values have
 * separate KV cache types. The bits of results are defined. They are independent of the instruction
 * set, the threads and the content of other sequences. The partition of tokens into appends matters
 * only for older queries and truncations before ggufx_kv_commit.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_KV_H
#define GGUFX_KV_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Keys and values per layer and sequence. */
typedef struct ggufx_kv ggufx_kv;

/* Attention window of w positions: the positions j that the token at position i sees. */
typedef uint32_t ggufx_window_kind;
enum {
    GGUFX_KV_WINDOW_SLIDING = 0, /* i - w < j <= i */
    GGUFX_KV_WINDOW_CHUNKED = 1, /* w * floor(i / w) <= j <= i */
    /* Positions with |i - j| <= floor(w / 2), also later tokens: for encoders. Queries see the
     * tokens that exist, so append all tokens before the first query. */
    GGUFX_KV_WINDOW_SYMMETRIC = 2
};

/* Flags of a cache, and of a layer. */
typedef uint32_t ggufx_kv_flags;
#define GGUFX_KV_FIT_TQ3_0 1u /* search the scales of TQ3_0: lower error, same bytes */
/* Subtracts means and equalizes channels for all quantized types; see ggufx_kv_calibrate. The
 * default is GX types only. */
#define GGUFX_KV_CENTRE_ALL 2u
#define GGUFX_KV_CENTRE_NONE 4u /* the same for no type */
/* The values of a head are the first head_dim_v coordinates of its keys (MLA). Values take no
 * memory and are not appended. type_v is type_k, or not given. RoPE rotates the coordinates after
 * head_dim_v. */
#define GGUFX_KV_V_IN_K 8u
#define GGUFX_KV_HAS_TYPE_K 16u /* type_k counts even if it is 0 (GGUFX_TYPE_F32) */
#define GGUFX_KV_HAS_TYPE_V 32u /* type_v counts even if it is 0 */
/* Centred keys: the mean is that of keys before RoPE, rotated for each page; see
 * ggufx_kv_calibrate. Lower error where keys have a constant part before RoPE, as those of most
 * models. Needs rope_style INTERLEAVED or NEOX, and frequencies of at most 1 radian per position. */
#define GGUFX_KV_CENTRE_BEFORE_ROPE 64u

/* Options of one layer. Pages that no later token can see are freed, except with symmetric
 * windows. */
typedef struct ggufx_kv_layer_options {
    uint32_t struct_size;
    ggufx_kv_flags flags; /* GGUFX_KV_HAS_TYPE_K, _HAS_TYPE_V */
    ggufx_type type_k;    /* type of the keys; 0 without GGUFX_KV_HAS_TYPE_K = that of the cache */
    ggufx_type type_v; /* type of the values; 0 without GGUFX_KV_HAS_TYPE_V = that of the cache */
    uint32_t window;   /* positions that a token sees, see window_kind; 0 = causal, no limit */
    ggufx_window_kind window_kind; /* GGUFX_KV_WINDOW_*; 0 without a window */
} ggufx_kv_layer_options;

#define GGUFX_KV_NO_SINK_TOKENS 0xffffffffu /* no attention sinks: n_sink_tokens is 0 */

/* Position encoding of the keys, for ggufx_kv_shift. */
typedef uint32_t ggufx_rope_style;
enum {
    GGUFX_ROPE_UNKNOWN = 0,     /* cannot be shifted */
    GGUFX_ROPE_NONE = 1,        /* no RoPE */
    GGUFX_ROPE_INTERLEAVED = 2, /* RoPE of coordinates 2i and 2i + 1 */
    GGUFX_ROPE_NEOX = 3         /* RoPE of coordinates i and i + rope_dims / 2 */
};

typedef struct ggufx_kv_options {
    uint32_t struct_size;
    ggufx_kv_flags flags; /* GGUFX_KV_FIT_TQ3_0, _CENTRE_*, _V_IN_K, _HAS_TYPE_K, _HAS_TYPE_V */
    uint32_t n_layers;    /* at least 1; n_layers * n_sequences is at most 4,194,304 */
    uint32_t n_kv_heads;  /* at least 1 */
    uint32_t n_q_heads;   /* a multiple of n_kv_heads */
    uint32_t head_dim_k;  /* values of a key head, at least 1 */
    /* values of a value head; 0 = head_dim_k, the maximum with GGUFX_KV_V_IN_K */
    uint32_t head_dim_v;
    ggufx_type type_k;    /* type of the keys; 0 without GGUFX_KV_HAS_TYPE_K = F16 */
    ggufx_type type_v;    /* type of the values; 0 without GGUFX_KV_HAS_TYPE_V = F16 */
    uint32_t n_sequences; /* 0 = 1 */
    uint64_t max_tokens;  /* maximum per sequence; 0 = limited by memory */
    /* Attention sinks: first tokens that stay F16 with quantized types, and F32 with BF16. At most
     * 64; 0 = 64 (a page), GGUFX_KV_NO_SINK_TOKENS = none. */
    uint32_t n_sink_tokens;
    ggufx_rope_style rope_style;
    /* Coordinates that RoPE rotates, from the first on; 0 = head_dim_k. With GGUFX_KV_V_IN_K from
     * head_dim_v on; 0 = all after it. */
    uint32_t rope_dims;
    float rope_base;          /* 0 = 10000 */
    float rope_scale;         /* scale of positions; 0 = 1 */
    uint32_t n_layer_options; /* 0, or n_layers */
    /* {len: n_layer_options} read by the call only; NULL if n_layer_options is 0 */
    const ggufx_kv_layer_options *layers;
    uint64_t model; /* id chosen by the caller; snapshots with another one are refused */
    /* [n_rope_frequencies] angle in radians by which RoPE rotates pair i per position, read by the
     * call only. NULL: rope_scale * rope_base^(-2 i / rope_dims). */
    const double *rope_frequencies;
    size_t n_rope_frequencies; /* 0, or rope_dims / 2 */
} ggufx_kv_options;

/*
 * Creates an empty cache.
 *
 * Pages of 64 tokens are allocated when they are needed, or earlier by ggufx_kv_reserve.
 *
 * With quantized types the first n_sink_tokens of a sequence stay F16, and so does the page of its
 * last token. A page is quantized once, when a token is appended after it. A query sees the page of
 * the last token that it sees in F16, and all earlier pages quantized. This holds for any partition
 * of the tokens into appends. Pages that are filled within one append therefore keep both forms
 * until the next append to that layer and sequence, or ggufx_kv_commit. Queries of the appended
 * tokens must come before. Queries of older tokens see the form that is left.
 *
 * With BF16 the first n_sink_tokens stay F32, in a page of twice the size. The first page has room
 * for 64 tokens for any n_sink_tokens. Heads of quantized types have at most 1024 values; those of
 * GX types have a multiple of 16.
 *
 * Errors: ARGUMENT, LIMIT, MEMORY, TYPE.   Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_create(ggufx_kv **out, const ggufx_runtime *rt,
                                       const ggufx_kv_options *options, ggufx_error *error);

/*
 * Returns the bytes that a cache allocates after n_tokens tokens are reserved in every sequence.
 *
 * Appending these tokens takes no more. The object of the handle is included.
 *
 * Errors: ARGUMENT, LIMIT, MEMORY (the sum overflows), TYPE.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_estimate(uint64_t *out, const ggufx_runtime *rt,
                                         const ggufx_kv_options *options, uint64_t n_tokens,
                                         ggufx_error *error);

/* Frees a cache.   Threads: exclusive on kv.   Since: 0.1. */
GGUFX_API void ggufx_kv_destroy(ggufx_kv *kv);

/*
 * Reserves the pages of n_tokens tokens of a sequence in every layer.
 *
 * Appends up to that length then neither fail with MEMORY nor allocate, with these limits:
 *
 * - Layers with a quantized type: appends of at most 64 tokens. Longer ones take an F16 page for
 *   each 64 further tokens until the next append. Between ggufx_kv_begin and its end they take one
 *   more if appends do not end with pages.
 * - Other layers with a window: appends of at most 1024 tokens.
 * - A later copy or removal can require pages that were not reserved.
 *
 * Errors: ARGUMENT, MEMORY (nothing was changed), CAPACITY.
 * Threads: exclusive on kv.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_reserve(ggufx_kv *kv, uint32_t sequence, uint64_t n_tokens,
                                        ggufx_error *error);

/* Tokens that ggufx_kv_append appends to a layer. */
typedef struct ggufx_kv_tokens {
    uint32_t struct_size;
    uint32_t flags;    /* 0 */
    uint32_t layer;    /* index of the layer in the cache */
    uint32_t sequence; /* sequence of all tokens; 0 with `sequences` */
    ggufx_type type; /* type of k and v: GGUFX_TYPE_F32, _F16 or _BF16, in the host's byte order */
    uint32_t reserved;
    size_t n_tokens;
    /* {len: n_tokens} the sequence of each token, or NULL; needs positions */
    const uint32_t *sequences;
    /* {len: n_tokens} not negative, and not descending within a sequence; NULL: the next ones (0,
     * 1, ... without gaps). The causal mask compares positions. Keys are stored as given: the call
     * does not apply RoPE. */
    const int32_t *positions;
    const void *k; /* [n_tokens][n_kv_heads][head_dim_k], copied (quantized) */
    size_t n_k;    /* values from the first to the last one of k */
    const void *v; /* [n_tokens][n_kv_heads][head_dim_v], copied; NULL with GGUFX_KV_V_IN_K */
    size_t n_v;    /* values from the first to the last one of v */
    /* distance of two tokens in values; 0 = dense: n_kv_heads * head_dim_k */
    size_t k_stride;
    size_t v_stride; /* the same of v */
} ggufx_kv_tokens;

/*
 * Appends tokens to one layer of a sequence, or of several, all or nothing.
 *
 * Bits: queries of these tokens before the next append are independent of the partition into
 * appends. Queries of older tokens may depend on it until ggufx_kv_commit. A failed executor costs
 * only parallelism: the work is done on this thread.
 *
 * Errors:
 * - ARGUMENT: lengths, sequences, positions (index: the token).
 * - VALUE: NaN or infinity, or |x| > 65504 for F16 (index: the token).
 * - CAPACITY: max_tokens; nothing was appended.
 * - TYPE: not a type of k and v.
 * - MEMORY.
 *
 * Threads: exclusive on kv.   Allocates: only new pages, see ggufx_kv_reserve.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_append(ggufx_kv *kv, const ggufx_kv_tokens *tokens,
                                       ggufx_error *error);

/* Flags of attention. */
typedef uint32_t ggufx_attend_flags;
/* Every query sees every token; otherwise windows decide, or the causal mask. STATE for a sequence
 * from which a window has dropped tokens. */
#define GGUFX_ATTEND_ALL 1u

typedef struct ggufx_attend_options {
    uint32_t struct_size;
    ggufx_attend_flags flags; /* GGUFX_ATTEND_*; 0 = windows or the causal mask */
    float scale;              /* scale of the scores; 0 = 1 / sqrt(head_dim_k) */
    float softcap;            /* scores become softcap * tanh(score / softcap); 0 = none */
    /* Positions that a query sees; 0 = as the layer. A query sees the intersection of its own
     * window and that of the layer. */
    uint32_t window;
    ggufx_window_kind window_kind; /* GGUFX_KV_WINDOW_* of `window`; 0 without one */
    /* One per query head, or NULL: slope * (key position - query position) is added to a score. */
    const float *alibi_slopes;
    size_t n_alibi_slopes; /* n_q_heads; 0 without slopes */
    /* one per query head, or NULL: the score of an attention sink without a value */
    const float *sink_logits;
    size_t n_sink_logits;           /* n_q_heads; 0 without sinks */
    const ggufx_progress *progress; /* NULL: cannot be cancelled */
} ggufx_attend_options;

/* Queries over a layer. */
typedef struct ggufx_kv_queries {
    uint32_t struct_size;
    uint32_t flags;    /* 0 */
    uint32_t layer;    /* index of the layer in the cache */
    uint32_t sequence; /* sequence of all queries; 0 with `sequences` */
    size_t n_queries;
    /* {len: n_queries} query i reads sequences[i], which may repeat; NULL: `sequence` */
    const uint32_t *sequences;
    /* {len: n_queries} not negative; NULL: those of the last n_queries tokens, or with `sequences`
     * that of the last token of each */
    const int32_t *positions;
    const float *q; /* f32, [n_queries][n_q_heads][head_dim_k] */
    size_t n_q;     /* floats of q */
} ggufx_kv_queries;

/*
 * Computes the attention of queries over one layer of a sequence, or each of its own sequence.
 *
 * Query head h reads KV head h / (n_q_heads / n_kv_heads). The bits and the memory of a query are
 * independent of the other queries.
 *
 * out      f32, [n_queries][n_q_heads][head_dim_v], n_out floats in all.
 * lse      {null} f32, [n_queries][n_q_heads], n_lse floats in all: log of the sum of exp(score).
 * options  NULL = defaults.
 *
 * A query that sees no token gives 0 and lse = -infinity; with a sink, lse is its logit. A NaN or
 * infinity in a query head, or a score that overflows, gives NaN (0x7fc00000) in that head's output
 * and lse. After a cancellation out and lse are unspecified.
 *
 * Errors:
 * - ARGUMENT (index: the query, or the head of a slope or sink logit), CANCELLED.
 * - MEMORY: only during another call on this cache.
 * - STATE: a query would see tokens that the window of the layer has dropped. Tokens that the first
 *   query of an append needs are kept for the queries of that append.
 *
 * Threads: any number at once (const); uses the runtime's executor.
 * Allocates: only during another call on this cache.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_attend(float *out, size_t n_out, float *lse, size_t n_lse,
                                       const ggufx_kv *kv, const ggufx_kv_queries *queries,
                                       const ggufx_attend_options *options, ggufx_error *error);

/* Tokens of a layer of a sequence: `first` .. first + n_tokens - 1. */
typedef struct ggufx_kv_range {
    uint32_t struct_size;
    uint32_t flags;    /* 0 */
    uint32_t layer;    /* index of the layer in the cache */
    uint32_t sequence; /* index of the sequence */
    uint64_t first;    /* index of the first token in the layer's sequence */
    uint64_t n_tokens;
} ggufx_kv_range;

/*
 * Dequantizes tokens of a layer to f32.
 *
 * The result is in the basis in which they were appended, with shifted keys at their current
 * positions.
 *
 * k  {null} [n_tokens][n_kv_heads][head_dim_k].
 * v  {null} [n_tokens][n_kv_heads][head_dim_v].
 *
 * Errors: ARGUMENT (range, or tokens that the window of the layer has dropped).
 * Threads: any number at once (const).   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_read(float *k, size_t n_k, float *v, size_t n_v, const ggufx_kv *kv,
                                     const ggufx_kv_range *range, ggufx_error *error);

/*
 * Computes the scores of queries against every token of a layer, without masks and biases.
 *
 * A score is q.k * scale in f32, with the keys of ggufx_kv_read. Attention computes scores of
 * quantized keys in integers, so its own differ in the last bits. Tokens that a window has dropped
 * have the score -infinity.
 *
 * out      f32, [n_queries][n_q_heads][tokens of the layer], n_out floats in all.
 * queries  of one sequence, without positions.
 * scale    0 = 1 / sqrt(head_dim_k).
 *
 * Errors: ARGUMENT.   Threads: any number at once (const).   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_scores(float *out, size_t n_out, const ggufx_kv *kv,
                                       const ggufx_kv_queries *queries, float scale,
                                       ggufx_error *error);

/* Returns the number of tokens of a sequence: the minimum over its layers. Errors: ARGUMENT.
 * Threads: any number at once (const).   Since: 0.1. */
GGUFX_API ggufx_status ggufx_kv_length(uint64_t *out, const ggufx_kv *kv, uint32_t sequence,
                                       ggufx_error *error);

/* Copies the positions of tokens first .. first + n - 1 of a sequence (first layer).
 * out  {len: n} the positions.
 * Errors: ARGUMENT.   Threads: any number at once (const).   Since: 0.1. */
GGUFX_API ggufx_status ggufx_kv_positions(int32_t *out, const ggufx_kv *kv, uint32_t sequence,
                                          uint64_t first, uint64_t n, ggufx_error *error);

/*
 * Keeps the first n_tokens tokens of a sequence in every layer.
 *
 * Nothing is quantized again, and the memory stays allocated. The cut may go through a quantized
 * page. If the F16 form of that page is left, later tokens are appended to it, as if the removed
 * tokens had never existed. Otherwise the page stays quantized, and the next token starts a new
 * page. The F16 form is left:
 *
 * - after the last append, until the next one or ggufx_kv_commit
 * - for the page in which the last call began (ggufx_kv_begin)
 *
 * Errors: ARGUMENT (longer than the sequence), STATE (the next token would see tokens that the
 * window of a layer has dropped).
 * Threads: exclusive on kv.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_truncate(ggufx_kv *kv, uint32_t sequence, uint64_t n_tokens,
                                         ggufx_error *error);

/*
 * Begins a call on a sequence, so that ggufx_kv_rollback can restore its present content bit by
 * bit.
 *
 * This includes pages that were not quantized, and pages that windows drop later. The call ends
 * with ggufx_kv_commit, ggufx_kv_begin, ggufx_kv_truncate to fewer tokens, or a function that
 * removes, shifts, requantizes, compacts or loads.
 *
 * Errors: ARGUMENT, MEMORY (a table; none if pages were reserved).
 * Threads: exclusive on kv.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_begin(ggufx_kv *kv, uint32_t sequence, ggufx_error *error);

/*
 * Commits the appends to a sequence, after the queries of its tokens.
 *
 * The copies for a rollback, and the F16 forms of quantized pages, are freed. In layers with a
 * quantized type some bits depend on the sizes of the appends since the last commit:
 *
 * - Queries of tokens older than the last append see their page in F16 if that form is left,
 *   otherwise quantized.
 * - Tokens appended after a cut within such a page continue it in F16 if that form is left.
 *   Otherwise the page stays quantized and cut. Cuts are ggufx_kv_truncate, ggufx_kv_remove of the
 *   last tokens and ggufx_kv_copy of the first ones.
 *
 * The start of the last append decides which pages have both forms. Other bits never depend on the
 * sizes:
 *
 * - layers with float types only
 * - results of ggufx_kv_read, ggufx_kv_scores and ggufx_kv_save
 * - queries of the tokens of the last append
 *
 * After this call no bits do: every page is quantized except the sinks and the page of the last
 * token.
 *
 * Errors: ARGUMENT.   Threads: exclusive on kv.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_commit(ggufx_kv *kv, uint32_t sequence, ggufx_error *error);

/*
 * Rolls a sequence back to ggufx_kv_begin.
 *
 * Without ggufx_kv_begin all layers are cut to ggufx_kv_length, for an append that failed after
 * some of the layers.
 *
 * Errors: ARGUMENT, STATE (as ggufx_kv_truncate; a layer has several appends that others lack).
 * Threads: exclusive on kv.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_rollback(ggufx_kv *kv, uint32_t sequence, ggufx_error *error);

/*
 * Removes tokens `first` .. first + n_tokens - 1 of a sequence from every layer.
 *
 * Other tokens keep their positions. A page is freed when none of its tokens is left.
 *
 * Errors:
 * - ARGUMENT: more tokens than ggufx_kv_length.
 * - MEMORY: a table; nothing was changed.
 * - STATE: the window has dropped a part of the tokens; the next token would see dropped tokens.
 *
 * Threads: exclusive on kv.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_remove(ggufx_kv *kv, uint32_t sequence, uint64_t first,
                                       uint64_t n_tokens, ggufx_error *error);

/*
 * Copies tokens `first` .. first + n_tokens - 1 of a sequence to an empty one.
 *
 * Both share the pages. An append to a shared page copies it first. The tokens keep their
 * positions.
 *
 * Errors:
 * - ARGUMENT: as ggufx_kv_remove.
 * - MEMORY: a table; nothing was changed.
 * - STATE: `to` is not empty, or is `from`; the window has dropped a part, or tokens that the token
 *   after the range would see.
 *
 * Threads: exclusive on kv.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_copy(ggufx_kv *kv, uint32_t from, uint32_t to, uint64_t first,
                                     uint64_t n_tokens, ggufx_error *error);

/*
 * Adds delta to the positions of tokens `first` .. first + n_tokens - 1 of a sequence.
 *
 * Stored keys do not change: queries are rotated in the opposite direction, so shifting back
 * restores every bit.
 *
 * Errors:
 * - ARGUMENT: as ggufx_kv_remove; positions would descend, be negative or exceed INT32_MAX; keys
 *   would rotate by more than 2^31 radians.
 * - UNSUPPORTED: GGUFX_ROPE_UNKNOWN.
 * - MEMORY: a table; nothing was changed.
 * - STATE: the window has dropped a part of the tokens, or the next token would see dropped tokens.
 *
 * Threads: exclusive on kv.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_shift(ggufx_kv *kv, uint32_t sequence, uint64_t first,
                                      uint64_t n_tokens, int32_t delta, ggufx_error *error);

/* Clears all sequences except one and frees their pages. Errors: ARGUMENT.
 * Threads: exclusive on kv.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_kv_keep(ggufx_kv *kv, uint32_t sequence, ggufx_error *error);

/*
 * Sets the means and equalizers of a layer, for all sequences, also after ggufx_kv_clear.
 *
 * By default each sequence computes them from the first page that it quantizes, so that sequences
 * do not change each other's bits. Stored keys are (k - mu_k) / eq_k, stored values v - mu_v;
 * results are corrected for it.
 *
 * With GGUFX_KV_CENTRE_BEFORE_ROPE mu_k is the mean of keys before RoPE. A stored key is then
 * (k - R mu_k) / eq_k. R is the average rotation of the 64 positions from that of the page's first
 * token on, when the page is quantized. All keys of a page have the same R, also with positions
 * that skip or repeat; shifts do not change it.
 *
 * mu_k  {null} {len: n_k} f32, [n_kv_heads][head_dim_k]; NULL = 0.
 * eq_k  {null} f32, [n_kv_heads][head_dim_k], above 0; NULL = 1.
 * mu_v  {null} f32, [n_kv_heads][head_dim_v]; NULL = 0.
 *
 * Errors: ARGUMENT (lengths, values), UNSUPPORTED (a layer without centring), STATE (pages are
 * quantized already).
 * Threads: exclusive on kv.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_calibrate(ggufx_kv *kv, uint32_t layer, const float *mu_k,
                                          const float *eq_k, size_t n_k, const float *mu_v,
                                          size_t n_v, ggufx_error *error);

/*
 * Writes a snapshot of a sequence, or of all (GGUFX_ALL_SEQUENCES).
 *
 * Quantized pages are written as they are. Shared pages are written for each sequence.
 *
 * write  called with consecutive pieces of the snapshot. A status other than GGUFX_OK ends the
 *        call, which returns it.
 *
 * Errors: ARGUMENT, the status of `write`.
 * Threads: any number at once (const).   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_save(const ggufx_kv *kv, uint32_t sequence,
                                     ggufx_status (*write)(void *user, const void *data, size_t n),
                                     void *user, ggufx_error *error);

/*
 * Replaces a sequence, or all, by a snapshot of ggufx_kv_save, of one sequence or of all.
 *
 * The cache must have the layers, heads, types, windows, sinks, RoPE and model of the saved one.
 * Loaded tokens give every bit that the saved ones gave. Memory reserved for a replaced sequence is
 * freed.
 *
 * read   fills all n bytes and returns GGUFX_OK, or returns another status, which ends the call. At
 *        the end of the data it returns GGUFX_E_TRUNCATED.
 *
 * Errors: ARGUMENT, MAGIC, VERSION, MISMATCH (the message names the difference), MALFORMED,
 * CHECKSUM, CAPACITY, MEMORY, the status of `read`. After an error the cache is as before.
 * Threads: exclusive on kv.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_load(ggufx_kv *kv, uint32_t sequence,
                                     ggufx_status (*read)(void *user, void *data, size_t n),
                                     void *user, ggufx_error *error);

/*
 * Writes a snapshot to a file (UTF-8 path) by atomic replace.
 *
 * The snapshot is written as PATH.part, synced to disk and renamed. An existing file is replaced as
 * a whole or stays as it was. A failed call leaves no file. A new file is private to its owner
 * (mode 0600), because it contains the conversation. A replaced file keeps its mode; a symbolic
 * link stays, and its target is replaced.
 *
 * Errors: ARGUMENT, MEMORY, IO (with system_error; also if `path` exists and is not a regular
 * file), STATE (another call writes PATH.part).
 * Threads: any number at once (const), on different paths.   Allocates: a buffer.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_save_file(const ggufx_kv *kv, uint32_t sequence, const char *path,
                                          ggufx_error *error);

/*
 * Replaces a sequence, or all, by a snapshot in a file (UTF-8 path), which must end with the
 * snapshot.
 * Errors: as ggufx_kv_load, IO (with system_error), TRUNCATED. After an error the cache is as
 * before.
 * Threads: exclusive on kv.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_load_file(ggufx_kv *kv, uint32_t sequence, const char *path,
                                          ggufx_error *error);

#define GGUFX_TYPE_KEEP 0xffffffffu     /* the present type of a layer */
#define GGUFX_KV_ALL_LAYERS 0xffffffffu /* all layers, in place of a layer index */

/*
 * Changes the types of keys and values of a layer, or of all (GGUFX_KV_ALL_LAYERS).
 *
 * The content is dequantized and quantized again. A smaller type loses precision; a larger one does
 * not restore it. A type that does not change keeps every bit. Positions, shifts and page sharing
 * stay. With quantized types the last tokens of a sequence stay F16. Its first n_sink_tokens stay
 * F16, or F32 with BF16, if the sequence still begins at its first page.
 *
 * type_k, type_v  GGUFX_TYPE_*; GGUFX_TYPE_KEEP = as it is.
 * progress        NULL: cannot be cancelled. Counts heads of pages.
 *
 * The new pages of all layers of the call exist beside the old ones until it ends: one layer per
 * call needs the least memory. Reserved pages without tokens are freed; reserve them again. Means
 * and equalizers stay where they existed; other keys and values get theirs from the first page that
 * is quantized. Pages keep their tokens, so the memory can differ from ggufx_kv_estimate by a page
 * per sequence and layer.
 *
 * Errors: ARGUMENT, TYPE, UNSUPPORTED (heads of more than 1024 values), VALUE (a float is too large
 * for its new type), MEMORY, CANCELLED. After an error nothing has changed.
 * Threads: exclusive on kv; uses the runtime's executor.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_requantize(ggufx_kv *kv, uint32_t layer, ggufx_type type_k,
                                           ggufx_type type_v, const ggufx_progress *progress,
                                           ggufx_error *error);

/*
 * Merges partly filled pages of a sequence, or of all (GGUFX_ALL_SEQUENCES), and frees unused
 * pages.
 *
 * Truncations, removals and shifts leave such pages. Neighbouring parts with equal shifts are
 * merged into as few pages as they fill. Full pages, shared pages, sinks and the page for the next
 * token are not changed. Reserved pages stay.
 *
 * This is lossy for quantized types: the tokens of merged parts are dequantized and quantized once
 * more. Float types keep their values.
 *
 * progress  NULL: cannot be cancelled. Counts heads of pages.
 *
 * Errors: ARGUMENT, UNSUPPORTED (heads of more than 1024 values), MEMORY, CANCELLED. After an error
 * nothing has changed.
 * Threads: exclusive on kv; uses the runtime's executor.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_compact(ggufx_kv *kv, uint32_t sequence,
                                        const ggufx_progress *progress, ggufx_error *error);

/* Removes all tokens of all sequences and frees the pages. Errors: ARGUMENT.
 * Threads: exclusive on kv.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_kv_clear(ggufx_kv *kv, ggufx_error *error);

typedef struct ggufx_kv_facts {
    uint32_t struct_size; /* set by the caller */
    uint32_t flags;       /* 0 */
    ggufx_type type_k;    /* type of the keys; with GGUFX_KV_ALL_LAYERS the default of layers */
    ggufx_type type_v;    /* type of the values */
    uint64_t n_tokens;    /* tokens of all sequences, in the first layer for GGUFX_KV_ALL_LAYERS */
    uint64_t n_pages;     /* allocated pages, used or not; shared pages count once */
    uint64_t n_plain_pages;   /* pages among them that are not quantized: sinks and last tokens */
    uint64_t n_shared_pages;  /* references of sequences to pages that other sequences hold too */
    uint64_t page_bytes;      /* bytes of the pages */
    uint64_t bytes_per_token; /* bytes of quantized keys and values per token */
    double bits_per_value;    /* bits per value, as stored in full pages */
    /* Mean squared error over mean square of quantized keys, in the basis of the type; 0 without
     * any. */
    double k_error;
    double v_error; /* the same of the values; k_error with GGUFX_KV_V_IN_K */
} ggufx_kv_facts;

/* Describes a layer, or the cache (GGUFX_KV_ALL_LAYERS). out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once (const).   Since: 0.1. */
GGUFX_API ggufx_status ggufx_kv_info(ggufx_kv_facts *out, const ggufx_kv *kv, uint32_t layer,
                                     ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
