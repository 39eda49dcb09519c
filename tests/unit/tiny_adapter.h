/*
 * Adapters for the tiny model, with one fault on request; same bytes on every host.
 * SPDX-License-Identifier: MIT
 */
#ifndef TINY_ADAPTER_H
#define TINY_ADAPTER_H

#include "gguf_builder.h"

enum { TINY_RANK = 3 };

/* A tensor that replaces one of the right ones or is added. */
typedef struct tiny_tensor {
    const char *name;
    uint32_t type;
    uint32_t n_dims;
    uint64_t ne[4];
} tiny_tensor;

typedef struct tiny_adapter {
    const char *architecture; /* instead of "llama"; "" = no key */
    const char *type;         /* general.type; "" = no key */
    const char *kind;         /* adapter.type; "" = no key */
    double alpha;             /* 0 = 6 */
    int alpha_text;           /* the key is a string */
    int invocation;           /* adapter.alora.invocation_tokens */
    const char *skip;         /* omitted tensor */
    tiny_tensor extra;        /* one more, or a replacement by name */
    int empty;                /* no tensors but the extra one */
} tiny_adapter;

/* Writes a LoRA adapter for attn_q, attn_qkv's parts, ffn_down and token_embd of both layers; NULL
 * = no fault. */
void tiny_lora(gb *b, const tiny_adapter *options);

/* Writes a control vector: direction.1, or the extra tensor in its place. */
void tiny_control(gb *b, const tiny_adapter *options);

#endif
