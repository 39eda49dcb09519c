/*
 * Implementation of tiny_adapter.h.
 * SPDX-License-Identifier: MIT
 */
#include "tiny_adapter.h"

#include "tiny_model.h"
#include "tiny_weights.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 32 };

typedef struct list {
    tiny_tensor tensors[MOST];
    char names[MOST][64];
    size_t n;
} list;

static const tiny_adapter plain;

static uint64_t n_values(const tiny_tensor *t) {
    uint64_t n = 1;
    for (uint32_t d = 0; d < t->n_dims; d++) n *= t->ne[d];
    return n;
}

static uint64_t n_bytes(const tiny_tensor *t) {
    const uint64_t n = n_values(t);
    return t->type == GGUFX_TYPE_Q8_0 ? n / 32 * 34 : t->type == GGUFX_TYPE_F16 ? 2 * n : 4 * n;
}

static void add(list *l, const tiny_adapter *o, const char *name, uint64_t ne0, uint64_t ne1) {
    const int replaced = o->extra.name && !strcmp(o->extra.name, name);
    if (replaced || o->empty || (o->skip && !strcmp(o->skip, name))) return;
    snprintf(l->names[l->n], sizeof l->names[0], "%s", name);
    l->tensors[l->n] = (tiny_tensor){l->names[l->n], GGUFX_TYPE_F32, 2, {ne0, ne1, 1, 1}};
    l->n++;
}

static void add_pair(list *l, const tiny_adapter *o, const char *name, uint64_t n, uint64_t m) {
    char half[64];
    snprintf(half, sizeof half, "%.48s.lora_a", name);
    add(l, o, half, n, TINY_RANK);
    snprintf(half, sizeof half, "%.48s.lora_b", name);
    add(l, o, half, TINY_RANK, m);
}

static void text(gb *b, const char *key, const char *given, const char *usual) {
    const char *const value = given ? given : usual;
    if (*value) gb_key_string(b, key, value);
}

static void write_tensors(gb *b, list *l, const tiny_adapter *o) {
    if (o->extra.name) l->tensors[l->n++] = o->extra;
    for (size_t i = 0; i < l->n; i++)
        gb_tensor(b, l->tensors[i].name, l->tensors[i].type, l->tensors[i].n_dims, l->tensors[i].ne,
                  n_bytes(&l->tensors[i]));
    gb_data(b);
    for (size_t i = 0; i < l->n; i++) {
        const size_t n = n_bytes(&l->tensors[i]);
        if (l->tensors[i].type == GGUFX_TYPE_F32) {
            for (size_t k = 0; k < n / 4; k++)
                gb_f32(b, weight((uint32_t)(900 + i), (uint32_t)k, 0.5f));
        } else {
            for (size_t k = 0; k < n; k++) gb_u8(b, 0);
        }
        gb_pad(b);
    }
}

void tiny_lora(gb *b, const tiny_adapter *options) {
    const tiny_adapter *const o = options ? options : &plain;
    list l = {.n = 0};
    char name[64];
    gb_begin(b, 3, 0);
    text(b, "general.architecture", o->architecture, "llama");
    text(b, "general.type", o->type, "adapter");
    text(b, "adapter.type", o->kind, "lora");
    if (o->alpha_text) {
        gb_key_string(b, "adapter.lora.alpha", "6");
    } else {
        gb_key(b, "adapter.lora.alpha", GGUFX_VALUE_F32);
        gb_f32(b, o->alpha != 0 ? (float)o->alpha : 6.0f);
    }
    if (o->invocation) {
        gb_key_array(b, "adapter.alora.invocation_tokens", GGUFX_VALUE_U32, 1);
        gb_u32(b, 5);
    }
    for (int layer = 0; layer < TINY_LAYERS; layer++) {
        snprintf(name, sizeof name, "blk.%d.attn_q.weight", layer);
        add_pair(&l, o, name, TINY_EMBD, TINY_HEADS * TINY_HEAD_DIM);
        snprintf(name, sizeof name, "blk.%d.attn_v.weight", layer);
        add_pair(&l, o, name, TINY_EMBD, TINY_KV_HEADS * TINY_HEAD_DIM);
        snprintf(name, sizeof name, "blk.%d.ffn_down.weight", layer);
        add_pair(&l, o, name, TINY_FF, TINY_EMBD);
    }
    /* A has the rows of the embedding, as in usual files. */
    add(&l, o, "token_embd.weight.lora_a", TINY_RANK, TINY_VOCAB);
    add(&l, o, "token_embd.weight.lora_b", TINY_RANK, TINY_EMBD);
    write_tensors(b, &l, o);
}

void tiny_control(gb *b, const tiny_adapter *options) {
    const tiny_adapter *const o = options ? options : &plain;
    list l = {.n = 0};
    gb_begin(b, 3, 0);
    text(b, "general.architecture", o->architecture, "controlvector");
    gb_key_string(b, "controlvector.model_hint", "llama");
    if (!o->extra.name)
        l.tensors[l.n++] = (tiny_tensor){"direction.1", GGUFX_TYPE_F32, 1, {TINY_EMBD, 1, 1, 1}};
    write_tensors(b, &l, o);
}
