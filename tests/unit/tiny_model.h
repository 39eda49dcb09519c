/*
 * A random llama-shaped model of a few KB with a small sentencepiece vocabulary, written as a GGUF
 * into memory, and an independent evaluation of it in double precision. Same bytes on every host.
 * SPDX-License-Identifier: MIT
 */
#ifndef TINY_MODEL_H
#define TINY_MODEL_H

#include <ggufx/ggufx.h>

enum {
    TINY_EMBD = 32,
    TINY_HEADS = 4,
    TINY_KV_HEADS = 2,
    TINY_HEAD_DIM = 8,
    TINY_FF = 64,
    TINY_LAYERS = 2,
    TINY_CONTEXT = 96,
    TINY_BOS = 1,
    TINY_EOS = 2,
    TINY_USER = 300,    /* "<|user|>", user-defined */
    TINY_CONTROL = 301, /* "<|ctl|>", control */
    TINY_VOCAB = 302
};

/* Differences from the plain model; all zero = F32, tied output, no fault. */
typedef struct tiny_options {
    uint32_t weight_type; /* 0 = F32 or GGUFX_TYPE_Q8_0 for all matrices */
    int untied;           /* separate output matrix */
    int rope_freqs;       /* rope_freqs.weight with values 1 .. 4 */
    float rope_factor;    /* linear rope scaling; 0 = none */
    const char *skip;     /* omitted key or tensor */
    const char *change;   /* u32 key that gets `value` instead */
    uint32_t value;
    const char *misshape;     /* tensor with an additional column */
    const char *retype;       /* tensor written as I32 */
    const char *architecture; /* instead of "llama" */
    const char *scaling;      /* llama.rope.scaling.type */
    const char *extra_tensor; /* a stray tensor of one value */
    const char *nan_tensor;   /* its first value is NaN */
    const char *extra_string; /* a key with the value "x" */
    int no_vocab;             /* no tokenizer keys */
    int vocab_fault;          /* TINY_VOCAB_* */
} tiny_options;

enum {
    TINY_VOCAB_SHORT_SCORES = 1,
    TINY_VOCAB_SHORT_TYPES,
    TINY_VOCAB_BAD_BYTE,
    TINY_VOCAB_DUPLICATES, /* not a fault */
    TINY_VOCAB_NAN_SCORE,
    TINY_VOCAB_U8_TYPES, /* not a fault */
    TINY_VOCAB_BAD_TYPE,
    TINY_VOCAB_OTHER_KIND,
    TINY_VOCAB_NO_TYPES,  /* not a fault */
    TINY_VOCAB_EOS,       /* not a fault: add_eos_token, no space prefix */
    TINY_VOCAB_NO_BYTES,  /* not a fault: <unk> for other characters */
    TINY_VOCAB_NO_UNKNOWN /* the same, and token 0 is a normal one */
};

/* Returns a malloc'ed GGUF; options may be NULL. */
unsigned char *tiny_model(size_t *size, const tiny_options *options);

/* A sequence on the plain model (F32) with these options. Tokens are added one by one, each an
 * embedding at a position after the previous ones. The logits [TINY_VOCAB] and the hidden state
 * [TINY_EMBD] after the last norm may be NULL. Results of a token stay when others are removed or
 * shifted. */
typedef struct tiny_text tiny_text;
tiny_text *tiny_text_new(const tiny_options *options);
void tiny_text_free(tiny_text *text);
void tiny_embedding(double *out, int32_t token, const tiny_options *options);
void tiny_text_add(tiny_text *text, const double *embedding, int64_t position, double *logits,
                   double *hidden);
void tiny_text_remove(tiny_text *text, size_t first, size_t n);
void tiny_text_shift(tiny_text *text, size_t first, size_t n, int64_t delta);

/* Computes the logits [n][TINY_VOCAB] of the plain (F32) model with these options, after each
 * token. */
void tiny_reference(double *logits, const int32_t *tokens, size_t n, const tiny_options *options);

#endif
