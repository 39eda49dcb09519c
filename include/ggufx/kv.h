/*
 * ggufx/kv.h: a KV cache usable without any model, and attention over it.
 *
 * A cache holds, per layer and sequence, keys and values of n_kv_heads heads, each stream in its
 * own KV type. The bits of a result are defined and depend on neither instruction set, threads nor
 * what other sequences hold. The sizes of the appends count only before ggufx_kv_commit, for older
 * queries and cuts: see there.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_KV_H
#define GGUFX_KV_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A cache of keys and values, per layer and sequence. */
typedef struct ggufx_kv ggufx_kv;

/* What the token at position i sees of others, at positions j, through a window of w. */
enum {
    GGUFX_KV_WINDOW_SLIDING = 0, /* i - w < j <= i */
    GGUFX_KV_WINDOW_CHUNKED = 1, /* w * floor(i / w) <= j <= i */
    /* |i - j| <= floor(w / 2), also tokens after it: of encoders. Queries see what is there, so
     * append all tokens before the first query. */
    GGUFX_KV_WINDOW_SYMMETRIC = 2
};

/* What differs from layer to layer. Pages that no later token can see are given back, but for
 * symmetric windows. */
typedef struct ggufx_kv_layer {
    uint32_t type_k; /* GGUFX_KV_*; GGUFX_KV_DEFAULT = that of the cache */
    uint32_t type_v; /* the same of its values */
    uint32_t window; /* positions that a token sees, as window_kind says; 0 = all until its own */
    uint32_t window_kind; /* GGUFX_KV_WINDOW_*; 0 without a window */
} ggufx_kv_layer;

#define GGUFX_KV_FIT_TQ3_0 1u   /* TQ3_0 searches its scales: less error, same bytes to read */
#define GGUFX_KV_CENTRE_ALL 2u  /* centre and equalise channels for every quantized type; */
#define GGUFX_KV_CENTRE_NONE 4u /* for none. Else for GX types. See ggufx_kv_calibrate. */
/* the value of a head is the first head_dim_v coordinates of its key (MLA): values take no memory
 * and are not appended. type_v is type_k, or 0. RoPE turns coordinates behind head_dim_v. */
#define GGUFX_KV_V_IN_K 8u
#define GGUFX_KV_NO_SINKS 0xffffffffu /* no first tokens kept apart */

/* How keys carry their positions, for ggufx_kv_shift. */
enum {
    GGUFX_KV_ROPE_UNKNOWN = 0, /* cannot be shifted */
    GGUFX_KV_ROPE_NONE = 1,    /* not at all */
    GGUFX_KV_ROPE_PAIRS = 2,   /* coordinates 2i and 2i+1 turn together */
    GGUFX_KV_ROPE_HALVES = 3   /* i and i + rope_dims / 2 */
};

typedef struct ggufx_kv_options {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_KV_FIT_TQ3_0, _CENTRE_*, _V_IN_K */
    const void *next;
    uint32_t n_layers;    /* >= 1; n_layers * n_sequences at most 4,194,304 */
    uint32_t n_kv_heads;  /* >= 1 */
    uint32_t n_q_heads;   /* a multiple of n_kv_heads */
    uint32_t head_dim_k;  /* >= 1 */
    uint32_t head_dim_v;  /* 0 = head_dim_k; not more than that with GGUFX_KV_V_IN_K */
    uint32_t type_k;      /* GGUFX_KV_* */
    uint32_t type_v;      /* GGUFX_KV_* */
    uint32_t n_sequences; /* 0 = 1 */
    uint64_t max_tokens;  /* per sequence; 0 = as memory allows */
    uint32_t n_sinks;     /* first tokens kept as F16 in streams of quantized types, as F32 in those
                             of BF16; 0 = 64, a page, GGUFX_KV_NO_SINKS = none, at most 64 */
    uint32_t rope_style;  /* GGUFX_KV_ROPE_* */
    uint32_t rope_dims;   /* coordinates that turn, from the first on; 0 = head_dim_k. With
                             GGUFX_KV_V_IN_K from head_dim_v on; 0 = all of those */
    float rope_base;      /* 0 = 10000 */
    float rope_scale;     /* of positions; 0 = 1 */
    uint32_t n_layer_options;     /* 0, or n_layers */
    const ggufx_kv_layer *layers; /* [n_layer_options], read by the call only; NULL when 0 */
    uint64_t model; /* a number of the caller's; snapshots of another one are refused */
    /* radians by which pair i turns from one position to the next, in place of rope_scale *
     * rope_base^(-2 i / rope_dims); read by the call only. NULL: those. */
    const double *rope_frequencies;
    size_t n_rope_frequencies; /* 0, or rope_dims / 2 */
    uint64_t reserved[2];
} ggufx_kv_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_kv_options_init(ggufx_kv_options *options);

/*
 * Create an empty cache. Pages of 64 tokens are taken from the runtime's allocator as they are
 * needed; ggufx_kv_reserve takes them before.
 *
 * Streams of quantized types hold the first n_sinks tokens of a sequence as F16, and the page of
 * its last token, up to 64; a page is encoded when tokens come after it, and never again. A query
 * sees the page it stands in (that of the last token it sees) as F16 and every earlier one encoded,
 * however the tokens came. So pages that fill within an append keep both forms until the next
 * append to that layer and sequence, or ggufx_kv_commit: ask the queries of its tokens before.
 * Those of older tokens see what is left.
 * Streams of BF16 hold the first n_sinks as F32, which takes a page of twice the size. The page of
 * first tokens has room for 64 whatever n_sinks is. Heads of quantized types have at most 1024
 * values, those of GX types a multiple of 16.
 * Errors: ARGUMENT, LIMIT, MEMORY, TYPE.   Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_create(ggufx_kv **out, const ggufx_runtime *rt,
                                       const ggufx_kv_options *options, ggufx_error *error);

/*
 * Bytes that such a cache takes from the allocator once n_tokens are reserved in every sequence
 * (appending them takes no more). The object of the handle itself is included.
 * Errors: ARGUMENT, LIMIT, MEMORY (more than can be counted), TYPE.
 * Threads: any number at once.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_estimate(uint64_t *out, const ggufx_runtime *rt,
                                         const ggufx_kv_options *options, uint64_t n_tokens,
                                         ggufx_error *error);

/* Free a cache.   Threads: exclusive on kv.   Since: 0.1. */
GGUFX_API void ggufx_kv_destroy(ggufx_kv *kv);

/*
 * Take all pages that n_tokens tokens of a sequence need, in every layer: until the sequence is
 * longer than that, no append can fail for want of memory, and none allocates. In layers with a
 * stream of a quantized type that holds for appends of at most 64 tokens (longer ones take a page
 * of F16 for each 64 more, until the next append; between ggufx_kv_begin and its end, where appends
 * do not end with pages, one more), in others with a window for at most 1024. A copy
 * or a removal made later can cost pages that were not reserved.
 * Errors: ARGUMENT, MEMORY (nothing was changed), CAPACITY.
 * Threads: exclusive on kv.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_reserve(ggufx_kv *kv, uint32_t sequence, uint64_t n_tokens,
                                        ggufx_error *error);

/*
 * Append n_tokens tokens to one layer of a sequence, all or nothing. An executor that fails costs
 * parallelism only: the work is done on this thread.
 *
 * positions  one per token, not negative, not descending, or NULL = the next ones (0, 1, ...
 * without gaps).
 *            Positions are compared by the causal mask; keys are stored as given (not rotated).
 * k          f32, [n_tokens][n_kv_heads][head_dim_k], n_k floats in all; copied (encoded).
 * v          f32, [n_tokens][n_kv_heads][head_dim_v], n_v floats in all; copied (encoded). NULL and
 *            0 with GGUFX_KV_V_IN_K.
 * Errors: ARGUMENT (lengths, positions), VALUE (NaN or infinity, or |x| > 65504 into F16; index
 * says which float), CAPACITY (max_tokens; nothing was appended), MEMORY.
 * Bits: queries of these tokens that are asked before the next append do not depend on the sizes of
 * the appends. Before a commit those of older tokens may: see ggufx_kv_commit.
 * Threads: exclusive on kv.   Allocates: only a new page, see ggufx_kv_reserve.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_append(ggufx_kv *kv, uint32_t layer, uint32_t sequence,
                                       size_t n_tokens, const int32_t *positions, const float *k,
                                       size_t n_k, const float *v, size_t n_v, ggufx_error *error);

enum { GGUFX_KV_HALF_F16 = 1, GGUFX_KV_HALF_BF16 = 2 };

/* ggufx_kv_append from values of 16 bits, `format` GGUFX_KV_HALF_*; n_k and n_v count values.
 * Errors, bits: as there.   Threads: exclusive on kv.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_kv_append_half(ggufx_kv *kv, uint32_t layer, uint32_t sequence,
                                            size_t n_tokens, const int32_t *positions,
                                            uint32_t format, const uint16_t *k, size_t n_k,
                                            const uint16_t *v, size_t n_v, ggufx_error *error);

/*
 * Append tokens of several sequences to one layer, all or nothing: token i goes to sequences[i] at
 * positions[i]; positions do not descend within a sequence. k and v as for ggufx_kv_append.
 * Errors, bits: as ggufx_kv_append.
 * Threads: exclusive on kv.   Allocates: only new pages.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_append_batch(ggufx_kv *kv, uint32_t layer, size_t n_tokens,
                                             const uint32_t *sequences, const int32_t *positions,
                                             const float *k, size_t n_k, const float *v, size_t n_v,
                                             ggufx_error *error);

/* every query sees every token; else what windows show, without one those not after it. Not over a
 * sequence of which a window has dropped tokens: STATE */
#define GGUFX_ATTEND_ALL 1u

typedef struct ggufx_attend_options {
    uint32_t struct_size;
    uint32_t flags; /* GGUFX_ATTEND_*; 0 = as windows say, without one causal */
    const void *next;
    float scale;          /* of the scores; 0 = 1 / sqrt(head_dim_k) */
    float softcap;        /* 0 = none; else scores become softcap * tanh(score / softcap) */
    uint32_t window;      /* positions that a query sees; 0 = as the layer. A query sees what both
                             its own window and that of the layer show. */
    uint32_t window_kind; /* GGUFX_KV_WINDOW_* of `window`; 0 without one */
    const float *alibi_slopes; /* one per query head, or NULL: slope * (key - query position) is
                                  added to a score */
    size_t n_alibi_slopes;     /* n_q_heads; 0 without slopes */
    const float *sink_logits;  /* one per query head, or NULL: a score without a value */
    size_t n_sink_logits;      /* n_q_heads; 0 without sinks */
    const ggufx_progress *progress; /* NULL: cannot be cancelled */
    uint64_t reserved[2];
} ggufx_attend_options;

/* Fill with defaults.   Threads: any.   Since: 0.1. */
GGUFX_API void ggufx_attend_options_init(ggufx_attend_options *options);

/*
 * Attention of n_queries queries over one layer of a sequence. Query head h reads KV head
 * h / (n_q_heads / n_kv_heads).
 *
 * out        f32, [n_queries][n_q_heads][head_dim_v], n_out floats in all.
 * lse        NULL, or f32 [n_queries][n_q_heads]: log of the sum of exp(score).
 * q          f32, [n_queries][n_q_heads][head_dim_k], n_q floats in all.
 * positions  one per query, not negative, or NULL = those of the last n_queries tokens.
 * options    NULL = defaults.
 * A query that sees no token gives 0 and lse = -infinity (with a sink, lse is its logit). A NaN or
 * infinity in a query head, or a score that overflows, gives NaN (0x7fc00000) in that head's output
 * and lse. A cancelled call leaves out and lse unspecified.
 * Errors: ARGUMENT, CANCELLED, MEMORY (only beside another call on this cache), STATE (a query
 * would see tokens that the window of the layer has dropped; those before the first of one append
 * are kept for the queries of its tokens).
 * Threads: any number at once (const); uses the runtime's executor.
 * Allocates: no, except while another call on this cache runs.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_attend(float *out, size_t n_out, float *lse, const ggufx_kv *kv,
                                       uint32_t layer, uint32_t sequence, const float *q,
                                       size_t n_q, size_t n_queries, const int32_t *positions,
                                       const ggufx_attend_options *options, ggufx_error *error);

/*
 * ggufx_kv_attend for one query of each of n sequences: query i is of sequences[i] (any, also one
 * several times), at positions[i], or NULL = the last token of its sequence.
 *
 * out  f32, [n][n_q_heads][head_dim_v].   lse  NULL, or f32 [n][n_q_heads].
 * q    f32, [n][n_q_heads][head_dim_k].
 * The bits of each query are those of ggufx_kv_attend. Errors, memory: as there.
 * Threads: any number at once (const); uses the runtime's executor.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_attend_batch(float *out, size_t n_out, float *lse,
                                             const ggufx_kv *kv, uint32_t layer,
                                             const uint32_t *sequences, const float *q, size_t n_q,
                                             size_t n, const int32_t *positions,
                                             const ggufx_attend_options *options,
                                             ggufx_error *error);

/*
 * Decode tokens first..first+n_tokens-1 of a layer back to f32, in the basis they were appended in,
 * shifted keys at their present positions; k and v may each be NULL. Layouts as for
 * ggufx_kv_append. Errors: ARGUMENT (range, or tokens that the window of the layer has dropped).
 * Threads: any number at once (const).   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_read(float *k, size_t n_k, float *v, size_t n_v, const ggufx_kv *kv,
                                     uint32_t layer, uint32_t sequence, uint64_t first,
                                     uint64_t n_tokens, ggufx_error *error);

/*
 * Scores of queries against every token of a layer, without masks and biases: q.k * scale over the
 * keys that ggufx_kv_read gives, in f32. Attention scores encoded keys in integers, so its own
 * differ in the last bits. Tokens that a window has dropped score -infinity.
 *
 * out    f32, [n_queries][n_q_heads][tokens of the layer], n_out floats in all.
 * q      f32, [n_queries][n_q_heads][head_dim_k], n_q floats in all.
 * scale  0 = 1 / sqrt(head_dim_k).
 * Errors: ARGUMENT.   Threads: any number at once (const).   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_scores(float *out, size_t n_out, const ggufx_kv *kv, uint32_t layer,
                                       uint32_t sequence, const float *q, size_t n_q,
                                       size_t n_queries, float scale, ggufx_error *error);

/* Tokens of a sequence: the minimum over its layers. Errors: ARGUMENT.
 * Threads: any number at once (const).   Since: 0.1. */
GGUFX_API ggufx_status ggufx_kv_length(uint64_t *out, const ggufx_kv *kv, uint32_t sequence,
                                       ggufx_error *error);

/* Positions of tokens first..first+n-1 of a sequence (first layer). Errors: ARGUMENT.
 * Threads: any number at once (const).   Since: 0.1. */
GGUFX_API ggufx_status ggufx_kv_positions(int32_t *out, const ggufx_kv *kv, uint32_t sequence,
                                          uint64_t first, uint64_t n, ggufx_error *error);

/*
 * Keep the first n_tokens tokens of a sequence in every layer; never re-encodes anything, keeps the
 * memory. Where the cut goes through a page that is encoded, the next tokens go on in its F16 form,
 * as if the others had never come, if that is left: after the last append (until the next one or
 * ggufx_kv_commit), and for the page in which the last call began (see ggufx_kv_begin). Else the
 * page stays encoded, cut; the next token begins a new one.
 * Errors: ARGUMENT (longer than the sequence), STATE (the window of a layer has dropped tokens that
 * the next one would see).   Threads: exclusive on kv.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_truncate(ggufx_kv *kv, uint32_t sequence, uint64_t n_tokens,
                                         ggufx_error *error);

/*
 * Begin a call on a sequence: whatever is appended to it from here on, ggufx_kv_rollback goes back
 * to what it holds now, to the bit: pages that were not encoded, and those that windows have
 * dropped since. ggufx_kv_commit, ggufx_kv_begin, ggufx_kv_truncate to fewer tokens, and calls that
 * remove, shift, requantize, compact or load end it.
 * Errors: ARGUMENT, MEMORY (a table; none where pages were reserved).
 * Threads: exclusive on kv.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_begin(ggufx_kv *kv, uint32_t sequence, ggufx_error *error);

/*
 * Keep what was appended to a sequence, with its queries answered: what was kept to go back, and the
 * F16 forms of pages that are encoded, are given up.
 *
 * Bits that depend on the sizes of the appends since the last commit, until this call, in layers with
 * a stream of a quantized type:
 *   - queries of tokens older than the last append: the page they stand in is seen as F16 where it
 *     still has that form, else encoded;
 *   - what is appended after a cut within such a page (ggufx_kv_truncate, ggufx_kv_remove of the last
 *     tokens, ggufx_kv_copy of the first ones): it goes on in F16, else the page stays encoded, cut.
 * Which pages have both forms depends on where the last append began.
 *
 * Bits that never depend on them: those of layers with float types alone; what ggufx_kv_read,
 * ggufx_kv_scores and ggufx_kv_save give; queries of the tokens of the last append. After this call
 * no bits do: every page is encoded but that of the last token and the sinks.
 * Errors: ARGUMENT.   Threads: exclusive on kv.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_commit(ggufx_kv *kv, uint32_t sequence, ggufx_error *error);

/* Go back to ggufx_kv_begin; without one, cut all layers of a sequence to ggufx_kv_length, after an
 * append failed half-way through the layers. Errors: ARGUMENT, STATE (as ggufx_kv_truncate: several
 * appends were made to a layer that others have not had).
 * Threads: exclusive on kv.   Allocates: no.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_kv_rollback(ggufx_kv *kv, uint32_t sequence, ggufx_error *error);

/*
 * Remove the tokens at positions p0 .. p1-1 of a sequence from every layer; the others keep their
 * positions. Memory of a page is given back when none of its tokens is left.
 * Errors: ARGUMENT, MEMORY (a table; nothing was changed), STATE (a part of what a window dropped).
 * Threads: exclusive on kv.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_remove(ggufx_kv *kv, uint32_t sequence, int32_t p0, int32_t p1,
                                       ggufx_error *error);

/*
 * Let an empty sequence begin with the tokens at positions p0 .. p1-1 of another one. Both share
 * the pages; an append to a shared page copies it first.
 * Errors: ARGUMENT, MEMORY (a table; nothing was changed), STATE (`to` is not empty, or `from`
 * itself; a part of what a window dropped; the token after the span would see what it dropped).
 * Threads: exclusive on kv.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_copy(ggufx_kv *kv, uint32_t from, uint32_t to, int32_t p0,
                                     int32_t p1, ggufx_error *error);

/*
 * Add delta to the positions p0 .. p1-1 of a sequence, without touching what is stored: queries are
 * rotated the other way instead, so shifting back restores every bit.
 * Errors: ARGUMENT (positions would descend, be negative or exceed INT32_MAX; keys would turn by
 * more than 2^31 radians), UNSUPPORTED (rope_style unknown), MEMORY (a table; nothing was changed),
 * STATE (a part of what a window dropped).
 * Threads: exclusive on kv.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_shift(ggufx_kv *kv, uint32_t sequence, int32_t p0, int32_t p1,
                                      int32_t delta, ggufx_error *error);

/* Drop all sequences but one and give their pages back. Errors: ARGUMENT.
 * Threads: exclusive on kv.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_kv_keep(ggufx_kv *kv, uint32_t sequence, ggufx_error *error);

/*
 * Set the means and equalisers of a layer, which each sequence else takes from the first page that
 * it encodes; what one sequence holds changes no bit of another. Stored
 * keys are (k - mu_k) / eq_k, stored values v - mu_v; results are as if nothing had been done. They
 * hold for all sequences, also after ggufx_kv_clear.
 *
 * mu_k, eq_k  f32, [n_kv_heads][head_dim_k], n_k floats each; NULL = 0 and 1. eq_k > 0.
 * mu_v        f32, [n_kv_heads][head_dim_v], n_v floats; NULL = 0.
 * Errors: ARGUMENT (lengths, values), UNSUPPORTED (the layer does not centre), STATE (frozen: pages
 * are encoded already).   Threads: exclusive on kv.   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_calibrate(ggufx_kv *kv, uint32_t layer, const float *mu_k,
                                          const float *eq_k, size_t n_k, const float *mu_v,
                                          size_t n_v, ggufx_error *error);

#define GGUFX_KV_ALL_SEQUENCES 0xffffffffu /* a snapshot of all */

/*
 * Write a snapshot of a sequence, or of all (GGUFX_KV_ALL_SEQUENCES): what is encoded stays as it
 * is, shared pages are written for each sequence that holds them.
 *
 * write  called with consecutive pieces of the snapshot; a status other than GGUFX_OK ends the
 *        call, which returns it.
 * Errors: ARGUMENT; what `write` returns.
 * Threads: any number at once (const).   Allocates: no.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_save(const ggufx_kv *kv, uint32_t sequence,
                                     ggufx_status (*write)(void *user, const void *data, size_t n),
                                     void *user, ggufx_error *error);

/*
 * Replace a sequence, or all, by a snapshot that ggufx_kv_save wrote of one sequence, or of all.
 * The cache must have the layers, heads, types, windows, sinks, RoPE and model of the one that was
 * saved. Loaded tokens give every bit that the saved ones gave. Memory that was reserved for a
 * replaced sequence is given back.
 *
 * read   fills all n bytes and returns GGUFX_OK, or another status (at the end of the data:
 *        GGUFX_E_TRUNCATED), which ends the call.
 * Errors: ARGUMENT, MAGIC, VERSION, MISMATCH (what differs), MALFORMED, CHECKSUM, CAPACITY, MEMORY;
 * what `read` returns. In all of them the cache is as it was.   Threads: exclusive on kv.   Since:
 * 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_load(ggufx_kv *kv, uint32_t sequence,
                                     ggufx_status (*read)(void *user, void *data, size_t n),
                                     void *user, ggufx_error *error);

/*
 * ggufx_kv_save to a file (UTF-8). It is written beside its name, as PATH.part, brought to the disk
 * and renamed: a file that is there is replaced by the whole snapshot or stays as it was, and a
 * call that failed leaves nothing behind. A new file is for its owner alone (mode 0600): it tells
 * what was said. One that is replaced hands on its mode; of a symbolic link the target is replaced.
 * Errors: ARGUMENT, MEMORY, IO (with system_error; also when `path` is there and no regular file),
 * STATE (another call is writing PATH.part).
 * Threads: any number at once (const), on different paths.   Allocates: a buffer.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_save_path(const ggufx_kv *kv, uint32_t sequence, const char *path,
                                          ggufx_error *error);

/* ggufx_kv_load from a file (UTF-8), which must end with the snapshot. Errors: as there, IO (with
 * system_error), TRUNCATED. In all of them the cache is as it was.
 * Threads: exclusive on kv.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_kv_load_path(ggufx_kv *kv, uint32_t sequence, const char *path,
                                          ggufx_error *error);

#define GGUFX_KV_KEEP_TYPE 0xffffffffu  /* the type that a layer has */
#define GGUFX_KV_ALL_LAYERS 0xffffffffu /* not one, but each */

/*
 * Give the streams of a layer, or of all (GGUFX_KV_ALL_LAYERS), other types, for want of memory or
 * to have it back: what they hold is decoded and encoded again. A step down loses what the new type
 * loses, a step up regains nothing. Positions, shifts and shared pages stay; sequences that share
 * pages share them afterwards. The last tokens of a sequence and, where a sequence still begins at
 * its first page, its first n_sinks stay F16 in streams of quantized types (F32 in those of BF16).
 * A stream that has its type already keeps every bit.
 *
 * type_k, type_v  GGUFX_KV_*; GGUFX_KV_DEFAULT = F16, GGUFX_KV_KEEP_TYPE = as it is.
 * progress        NULL: cannot be cancelled. Counts heads of pages.
 * The new pages of all layers of the call stand beside the old ones until it ends: layer after
 * layer takes least. Pages that were reserved and hold nothing are given back; reserve them again.
 * Means and equalisers stay in streams that were centred; others get theirs from the first page
 * that is encoded. Pages keep their tokens, so that ggufx_kv_estimate for the new types can be a
 * page per sequence and layer more or less.
 * Errors: ARGUMENT, TYPE, UNSUPPORTED (heads of more than 1024), VALUE (a float is too large for
 * its new type), MEMORY, CANCELLED. In all of them nothing was changed.
 * Threads: exclusive on kv; uses the runtime's executor.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_requantize(ggufx_kv *kv, uint32_t layer, uint32_t type_k,
                                           uint32_t type_v, const ggufx_progress *progress,
                                           ggufx_error *error);

/*
 * Make few pages of the parts of pages that cuts, removals and shifts left in a sequence, or in all
 * (GGUFX_KV_ALL_SEQUENCES), and give spare ones back that were not reserved. Parts beside each
 * other that were shifted alike become as few pages as they fill; full pages, pages that other
 * sequences hold too, sinks and the page that tokens are appended to are left alone.
 *
 * Lossy for streams of quantized types: the tokens of those parts are decoded and encoded once
 * more. Streams of floats keep their values.
 * progress  NULL: cannot be cancelled. Counts heads of pages.
 * Errors: ARGUMENT, UNSUPPORTED (heads of more than 1024), MEMORY, CANCELLED. In all of them
 * nothing was changed.   Threads: exclusive on kv; uses the runtime's executor.   Since: 0.1.
 */
GGUFX_API ggufx_status ggufx_kv_compact(ggufx_kv *kv, uint32_t sequence,
                                        const ggufx_progress *progress, ggufx_error *error);

/* Drop all tokens of all sequences and give the pages back. Errors: ARGUMENT.
 * Threads: exclusive on kv.   Since: 0.1. */
GGUFX_API ggufx_status ggufx_kv_clear(ggufx_kv *kv, ggufx_error *error);

typedef struct ggufx_kv_facts {
    uint32_t struct_size;     /* set by the caller */
    uint32_t flags;           /* 0 */
    uint32_t type_k;          /* of the layer; of the cache for GGUFX_KV_ALL_LAYERS */
    uint32_t type_v;          /* the same of its values */
    uint64_t n_tokens;        /* over all sequences; of the first layer for all */
    uint64_t n_pages;         /* taken, used or not; shared ones count once */
    uint64_t n_plain_pages;   /* of those: first and last tokens, not encoded */
    uint64_t n_shared_pages;  /* places in sequences that hold a page others hold too */
    uint64_t page_bytes;      /* bytes of the pages */
    uint64_t bytes_per_token; /* encoded K and V */
    double bits_per_value;    /* the same per value, as stored in full pages */
    double k_error;           /* mean squared error over mean square of what was encoded, in the */
    double v_error;           /* basis of the type; 0 when nothing was. Values in keys: k_error */
} ggufx_kv_facts;

/* Describe a layer, or the cache (GGUFX_KV_ALL_LAYERS); out->struct_size must be set.
 * Errors: ARGUMENT.   Threads: any number at once (const).   Since: 0.1. */
GGUFX_API ggufx_status ggufx_kv_stats(ggufx_kv_facts *out, const ggufx_kv *kv, uint32_t layer,
                                      ggufx_error *error);

#ifdef __cplusplus
}
#endif

#endif
