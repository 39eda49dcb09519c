/*
 * Tensor data are collected in a separate buffer while the entries are written.
 * SPDX-License-Identifier: MIT
 */
#include "tiny_model.h"

#include "gguf_builder.h"
#include "tiny_weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct writer {
    gb file; /* header, keys, tensor entries */
    gb data; /* data after the entries */
    const tiny_options *options;
} writer;

static int skipped(const writer *w, const char *name) {
    return w->options->skip && strcmp(w->options->skip, name) == 0;
}

static void key_u32(writer *w, const char *key, uint32_t value) {
    if (w->options->change && strcmp(w->options->change, key) == 0) value = w->options->value;
    if (!skipped(w, key)) gb_key_u32(&w->file, key, value);
}

static void key_f32(writer *w, const char *key, float value) {
    if (skipped(w, key)) return;
    gb_key(&w->file, key, GGUFX_VALUE_F32);
    gb_f32(&w->file, value);
}

static void key_bool(writer *w, const char *key, unsigned value) {
    if (skipped(w, key)) return;
    gb_key(&w->file, key, GGUFX_VALUE_BOOL);
    gb_u8(&w->file, value);
}

static void key_string(writer *w, const char *key, const char *value) {
    if (!skipped(w, key)) gb_key_string(&w->file, key, value);
}

static int begin_array(writer *w, const char *key, uint32_t element, uint64_t n) {
    if (skipped(w, key)) return 0;
    gb_key_array(&w->file, key, element, n);
    return 1;
}

/* ---- vocabulary: 0 <unk> 1 <s> 2 </s>, 3..258 bytes, pieces, one user and one control token ----
 */

static const char *const pieces[TINY_USER - 259] = {
    "\xe2\x96\x81",
    "e",
    "t",
    "a",
    "o",
    "n",
    "h",
    "i",
    "s",
    "r",
    "d",
    "l",
    "u",
    "c",
    "w",
    ".",
    "\xe2\x96\x81t",
    "he",
    "\xe2\x96\x81the",
    "in",
    "an",
    "\xe2\x96\x81"
    "a",
    "ing",
    "er",
    "\xe2\x96\x81s",
    "\xe2\x96\x81h",
    "nd",
    "\xe2\x96\x81"
    "and",
    "re",
    "on",
    "ed",
    "or",
    "\xc3\xa9",
    "ee",
    "th",
    "ou",
    "\xe2\x96\x81i",
    "is",
    "at",
    "en",
    "it",
};

static const char *token_text(char *buffer, int id, int fault) {
    if (id < 3) return id == 0 ? "<unk>" : id == 1 ? "<s>" : "</s>";
    if (id == 40 && fault == TINY_VOCAB_BAD_BYTE) return "<0x-1>";
    if (id < 259) {
        sprintf(buffer, fault >= TINY_VOCAB_NO_BYTES ? "#%02X#" : "<0x%02X>", (unsigned)id - 3);
        return buffer;
    }
    if (id == TINY_USER) return "<|user|>";
    if (id == TINY_CONTROL) return "<|ctl|>";
    if (fault == TINY_VOCAB_DUPLICATES && id == TINY_USER - 1) return "he";
    return pieces[id - 259];
}

static int token_type(int id, int fault) {
    if (fault == TINY_VOCAB_BAD_TYPE && id == 270) return 9;
    if (id < 3) return id > 0 ? 3 : fault == TINY_VOCAB_NO_UNKNOWN ? 1 : 2;
    if (id < 259) return fault >= TINY_VOCAB_NO_BYTES ? 1 : 6;
    return id == TINY_USER ? 4 : id == TINY_CONTROL ? 3 : 1;
}

static float token_score(int id, int fault) {
    const uint32_t nan_bits = 0x7fc00000u;
    float nan_value;
    memcpy(&nan_value, &nan_bits, sizeof nan_value);
    if (fault == TINY_VOCAB_NAN_SCORE && id == 280) return nan_value;
    return id < 259 || id >= TINY_USER ? 0.0f : (float)(259 - id);
}

static void write_vocab(writer *w) {
    const int fault = w->options->vocab_fault;
    const int n_scores = fault == TINY_VOCAB_SHORT_SCORES ? 3 : TINY_VOCAB;
    const int n_types = fault == TINY_VOCAB_SHORT_TYPES ? 3 : TINY_VOCAB;
    const int narrow = fault == TINY_VOCAB_U8_TYPES;
    char buffer[16];
    key_string(w, "tokenizer.ggml.model", fault == TINY_VOCAB_OTHER_KIND ? "plamo2" : "llama");
    if (begin_array(w, "tokenizer.ggml.tokens", GGUFX_VALUE_STRING, TINY_VOCAB)) {
        for (int i = 0; i < TINY_VOCAB; i++) gb_string(&w->file, token_text(buffer, i, fault));
    }
    if (begin_array(w, "tokenizer.ggml.scores", GGUFX_VALUE_F32, (uint64_t)n_scores)) {
        for (int i = 0; i < n_scores; i++) gb_f32(&w->file, token_score(i, fault));
    }
    if (fault != TINY_VOCAB_NO_TYPES &&
        begin_array(w, "tokenizer.ggml.token_type", narrow ? GGUFX_VALUE_U8 : GGUFX_VALUE_I32,
                    (uint64_t)n_types)) {
        for (int i = 0; i < n_types; i++) {
            if (narrow)
                gb_u8(&w->file, (unsigned)token_type(i, fault));
            else
                gb_u32(&w->file, (uint32_t)token_type(i, fault));
        }
    }
    key_u32(w, "tokenizer.ggml.bos_token_id", TINY_BOS);
    key_u32(w, "tokenizer.ggml.eos_token_id", TINY_EOS);
    key_u32(w, "tokenizer.ggml.unknown_token_id", 0);
    if (fault == TINY_VOCAB_EOS) {
        key_bool(w, "tokenizer.ggml.add_eos_token", 1);
        key_bool(w, "tokenizer.ggml.add_space_prefix", 0);
    }
}

/* ---- weights ----------------------------------------------------------------------------------
 */

static void tensor_entry(writer *w, const char *name, uint64_t columns, uint64_t rows,
                         uint32_t type) {
    uint64_t ne[2] = {columns, rows};
    if (w->options->misshape && strcmp(w->options->misshape, name) == 0) ne[0] += 32;
    while (w->data.n % 32) gb_u8(&w->data, 0);
    gb_tensor_at(&w->file, name, type, rows == 1 ? 1 : 2, ne, w->data.n);
}

static size_t pad_of(const writer *w, const char *name) {
    return w->options->misshape && strcmp(w->options->misshape, name) == 0 ? 32 : 0;
}

static void f32_tensor(writer *w, const char *name, uint32_t columns, uint32_t rows, uint32_t seed,
                       float scale, int norm) {
    const int retype = w->options->retype && strcmp(w->options->retype, name) == 0;
    const int nan = w->options->nan_tensor && strcmp(w->options->nan_tensor, name) == 0;
    const uint32_t wide = columns + (uint32_t)pad_of(w, name);
    if (skipped(w, name)) return;
    tensor_entry(w, name, columns, rows, retype ? GGUFX_TYPE_I32 : GGUFX_TYPE_F32);
    for (uint32_t i = 0; i < wide * rows; i++) {
        if (nan && i == 0)
            gb_u32(&w->data, 0x7fc00000u);
        else
            gb_f32(&w->data, norm ? norm_weight(seed, i) : weight(seed, i, scale));
    }
}

static void matrix(writer *w, const char *name, uint32_t columns, uint32_t rows, uint32_t seed,
                   float scale) {
    if (w->options->weight_type == GGUFX_TYPE_F32) {
        f32_tensor(w, name, columns, rows, seed, scale, 0);
        return;
    }
    if (skipped(w, name)) return;
    tensor_entry(w, name, columns, rows, GGUFX_TYPE_Q8_0);
    for (uint32_t block = 0; block < columns * rows / 32; block++) {
        gb_u16(&w->data, 0x2000); /* f16 2^-7 */
        for (uint32_t i = 0; i < 32; i++) {
            gb_u8(&w->data, (unsigned)weight_q8_0(seed, 32 * block + i, scale) & 0xffu);
        }
    }
}

static void write_layer(writer *w, uint32_t layer) {
    static const struct {
        const char *name;
        uint32_t columns, rows;
        float scale; /* a power of two */
    } parts[] = {
        {"attn_norm", TINY_EMBD, 1, 0},
        {"attn_q", TINY_EMBD, TINY_HEADS * TINY_HEAD_DIM, 0.5f},
        {"attn_k", TINY_EMBD, TINY_KV_HEADS * TINY_HEAD_DIM, 0.5f},
        {"attn_v", TINY_EMBD, TINY_KV_HEADS * TINY_HEAD_DIM, 0.5f},
        {"attn_output", TINY_HEADS * TINY_HEAD_DIM, TINY_EMBD, 0.5f},
        {"ffn_norm", TINY_EMBD, 1, 0},
        {"ffn_gate", TINY_EMBD, TINY_FF, 0.5f},
        {"ffn_up", TINY_EMBD, TINY_FF, 0.5f},
        {"ffn_down", TINY_FF, TINY_EMBD, 0.25f},
    };
    for (uint32_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const uint32_t seed = layer_seed(layer, i);
        char name[64];
        sprintf(name, "blk.%u.%s.weight", (unsigned)layer, parts[i].name);
        if (parts[i].rows == 1)
            f32_tensor(w, name, TINY_EMBD, 1, seed, 0, 1);
        else
            matrix(w, name, parts[i].columns, parts[i].rows, seed, parts[i].scale);
    }
}

static void write_keys(writer *w) {
    const tiny_options *o = w->options;
    key_string(w, "general.architecture", o->architecture ? o->architecture : "llama");
    key_u32(w, "llama.block_count", TINY_LAYERS);
    key_u32(w, "llama.context_length", TINY_CONTEXT);
    key_u32(w, "llama.embedding_length", TINY_EMBD);
    key_u32(w, "llama.feed_forward_length", TINY_FF);
    key_u32(w, "llama.attention.head_count", TINY_HEADS);
    key_u32(w, "llama.attention.head_count_kv", TINY_KV_HEADS);
    key_f32(w, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    key_u32(w, "llama.rope.dimension_count", TINY_HEAD_DIM);
    key_f32(w, "llama.rope.freq_base", 10000.0f);
    key_u32(w, "llama.expert_count", 0);
    if (o->rope_factor != 0.0f) {
        key_string(w, "llama.rope.scaling.type", "linear");
        key_f32(w, "llama.rope.scaling.factor", o->rope_factor);
    } else if (o->scaling) {
        key_string(w, "llama.rope.scaling.type", o->scaling);
    }
    if (o->extra_string) key_string(w, o->extra_string, "x");
    if (!o->no_vocab) write_vocab(w);
}

static void write_tensors(writer *w) {
    const tiny_options *o = w->options;
    matrix(w, "token_embd.weight", TINY_EMBD, TINY_VOCAB, SEED_EMBD, 1.0f);
    f32_tensor(w, "output_norm.weight", TINY_EMBD, 1, SEED_NORM, 0, 1);
    if (o->untied) matrix(w, "output.weight", TINY_EMBD, TINY_VOCAB, SEED_OUTPUT, 1.0f);
    if (o->rope_freqs) {
        tensor_entry(w, "rope_freqs.weight", TINY_HEAD_DIM / 2, 1, GGUFX_TYPE_F32);
        for (int i = 0; i < TINY_HEAD_DIM / 2; i++) gb_f32(&w->data, (float)(i + 1));
    }
    for (uint32_t layer = 0; layer < TINY_LAYERS; layer++) write_layer(w, layer);
    if (o->extra_tensor) {
        tensor_entry(w, o->extra_tensor, 1, 1, GGUFX_TYPE_F32);
        gb_f32(&w->data, 1.0f);
    }
}

unsigned char *tiny_model(size_t *size, const tiny_options *options) {
    static const tiny_options plain;
    writer w;
    memset(&w, 0, sizeof w);
    w.options = options ? options : &plain;
    gb_begin(&w.file, 3, 0);
    write_keys(&w);
    write_tensors(&w);
    gb_data(&w.file);
    gb_bytes(&w.file, w.data.data, w.data.n);
    gb_free(&w.data);
    *size = w.file.n;
    return w.file.data;
}
