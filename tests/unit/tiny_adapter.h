/*
 * Adapters for the tiny model, with one thing wrong on request; same bytes on every host.
 * SPDX-License-Identifier: MIT
 */
#ifndef TINY_ADAPTER_H
#define TINY_ADAPTER_H

#include "gguf_builder.h"

enum { TINY_RANK = 3 };

/* One tensor in place of, or beside, the right ones. */
typedef struct tiny_tensor {
    const char *name;
    uint32_t type;
    uint32_t n_dims;
    uint64_t ne[4];
} tiny_tensor;

typedef struct tiny_adapter {
    const char *architecture; /* instead of "llama"; "" = no key */
    const char *type;         /* of general.type; "" = no key */
    const char *kind;         /* of adapter.type; "" = no key */
    double alpha;             /* 0 = 6 */
    int alpha_text;           /* the key is a string */
    int invocation;           /* adapter.alora.invocation_tokens */
    const char *skip;         /* a tensor that is left out */
    tiny_tensor extra;        /* one more, or another of that name */
    int empty;                /* no tensors but the extra one */
} tiny_adapter;

/* A LoRA adapter for attn_q, attn_qkv's parts, ffn_down and token_embd of both layers; NULL = nothing wrong. */
void tiny_lora(gb *b, const tiny_adapter *options);

/* A control vector: direction.1, or the extra tensor in its place. */
void tiny_control(gb *b, const tiny_adapter *options);

#endif
